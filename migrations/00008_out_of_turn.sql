-- +goose Up
-- Which messages do not come in the order of the mailbox: those that were sent through again, and all that something
-- other than the inbox enqueued. Only they can be unfinished below the message that was decided last, so that
-- nobody has to look for others there. While a long reader (a dump, a report, a replication slot) holds back vacuum,
-- everything that was finished since stays in proc_state_unfinished, and finding the smallest would mean passing all of it.
-- What says nothing is out of turn: that is slower and never wrong.
ALTER TABLE proc_state ADD COLUMN out_of_turn boolean NOT NULL DEFAULT true;
ALTER TABLE proc_state_hst ADD COLUMN out_of_turn boolean NOT NULL DEFAULT true;
CREATE INDEX proc_state_out_of_turn ON proc_state (msg_id) WHERE state IN ('PENDING', 'FAILED') AND out_of_turn;
CREATE TRIGGER proc_state_again BEFORE UPDATE OF state ON proc_state FOR EACH ROW
    WHEN (OLD.state = 'DEAD' AND NEW.state IN ('PENDING', 'FAILED') AND NOT NEW.out_of_turn)
    EXECUTE FUNCTION refuse('a dead message comes back out of turn');
