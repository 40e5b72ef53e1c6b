-- +goose Up
-- The oldest schema whose binaries work on this one, too. A migration that they could not work on raises it to its own number;
-- one that only adds leaves it alone: the binary of before goes on working, and may be started again.
CREATE TABLE schema_compatible (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    oldest   bigint  NOT NULL
);
INSERT INTO schema_compatible (oldest) VALUES (9);
