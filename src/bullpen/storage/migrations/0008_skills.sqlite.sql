CREATE TABLE skills (
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    name TEXT NOT NULL,
    active TEXT,
    proposed TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT skills_name UNIQUE (space_id, name)
);

CREATE INDEX skills_space ON skills (space_id, id);

CREATE INDEX messages_new ON messages (space_id, seq) WHERE wake = 'command:new';
