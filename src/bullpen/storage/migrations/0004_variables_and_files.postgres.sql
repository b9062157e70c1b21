ALTER TABLE threads ADD COLUMN parent_id TEXT COLLATE "C";

ALTER TABLE threads ADD COLUMN scoped_names TEXT COLLATE "C";

ALTER TABLE messages ADD COLUMN files BIGINT DEFAULT 0 NOT NULL;

CREATE TABLE variables (
    scope_kind TEXT COLLATE "C" NOT NULL,
    scope_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C",
    scoped BIGINT DEFAULT 0 NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_kind, scope_id, name)
);

CREATE INDEX variables_key ON variables (key_id) WHERE key_id IS NOT NULL;

CREATE TABLE files (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    owner_kind TEXT COLLATE "C" NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    attached BIGINT DEFAULT 0 NOT NULL,
    thumbnail TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX files_owner ON files (owner_id, id);

CREATE INDEX files_space ON files (space_id, id);

CREATE INDEX files_unattached ON files (created_at) WHERE attached = 0;

CREATE TABLE message_files (
    message_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    file_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (message_id, file_id)
);

CREATE INDEX message_files_file ON message_files (file_id);

CREATE TABLE file_usage (
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    bytes BIGINT DEFAULT 0 NOT NULL,
    files BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE TABLE dropped_files (
    id TEXT COLLATE "C" NOT NULL,
    dropped_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);
