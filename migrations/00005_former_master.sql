-- +goose Up
-- The flights that once had a given MAID: who rebuilds an earlier state of a master looks for the
-- children that have left it. A change of MAID away from a value is rare, so the index is small.
CREATE INDEX flight_change_former_master ON flight_change (substring(changed::text from '"path":"MAID","before":"([0-9]+)"'))
    WHERE strpos(changed::text, '"path":"MAID","before":"') > 0;
