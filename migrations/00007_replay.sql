-- +goose Up
-- Since when a message has been failing: what an operator asks first about a head that holds the line. It is
-- set with the first failure, stays over later ones, and a replay begins anew.
ALTER TABLE proc_state ADD COLUMN first_failed_at timestamptz;
ALTER TABLE proc_state_hst ADD COLUMN first_failed_at timestamptz;

-- What was done to one message or stage, the newest first.
CREATE INDEX operator_log_subject ON operator_log (subject, log_id);
