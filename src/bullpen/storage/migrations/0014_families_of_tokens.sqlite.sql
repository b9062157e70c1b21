ALTER TABLE tokens ADD COLUMN parent TEXT;

CREATE INDEX tokens_parent ON tokens (parent) WHERE parent IS NOT NULL;
