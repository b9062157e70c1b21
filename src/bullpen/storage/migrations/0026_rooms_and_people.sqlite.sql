ALTER TABLE spaces ADD COLUMN archived_at TEXT;

ALTER TABLE sessions ADD COLUMN device TEXT;

ALTER TABLE invites ADD COLUMN space_ids TEXT;

CREATE TABLE portraits (
    holder_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    PRIMARY KEY (holder_id)
);

CREATE INDEX portraits_file ON portraits (file_id);

CREATE TABLE instructions (
    agent_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    content TEXT NOT NULL,
    by_id TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (agent_id, version)
);
