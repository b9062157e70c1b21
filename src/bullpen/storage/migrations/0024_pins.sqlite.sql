ALTER TABLE runs ADD COLUMN unpriced BIGINT DEFAULT 0 NOT NULL;

CREATE TABLE pins (
    message_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (message_id)
);

CREATE INDEX pins_space ON pins (space_id, created_at);
