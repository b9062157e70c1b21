ALTER TABLE tokens ADD COLUMN parent TEXT COLLATE "C";

CREATE INDEX tokens_parent ON tokens (parent) WHERE parent IS NOT NULL;
