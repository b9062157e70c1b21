CREATE TABLE skills (
    id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    active TEXT COLLATE "C",
    proposed TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT skills_name UNIQUE (space_id, name)
);

CREATE INDEX skills_space ON skills (space_id, id);

CREATE INDEX messages_new ON messages (space_id, seq) WHERE wake = 'command:new';
