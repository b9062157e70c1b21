ALTER TABLE runs ADD COLUMN unpriced BIGINT DEFAULT 0 NOT NULL;

CREATE TABLE pins (
    message_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    member_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (message_id)
);

CREATE INDEX pins_space ON pins (space_id, created_at);
