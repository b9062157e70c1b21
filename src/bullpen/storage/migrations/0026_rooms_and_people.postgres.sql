ALTER TABLE spaces ADD COLUMN archived_at TEXT COLLATE "C";

ALTER TABLE sessions ADD COLUMN device TEXT COLLATE "C";

ALTER TABLE invites ADD COLUMN space_ids TEXT COLLATE "C";

CREATE TABLE portraits (
    holder_id TEXT COLLATE "C" NOT NULL,
    file_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (holder_id)
);

CREATE INDEX portraits_file ON portraits (file_id);

CREATE TABLE instructions (
    agent_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    by_id TEXT COLLATE "C",
    at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, version)
);
