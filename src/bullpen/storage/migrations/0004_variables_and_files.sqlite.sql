ALTER TABLE threads ADD COLUMN parent_id TEXT;

ALTER TABLE threads ADD COLUMN scoped_names TEXT;

ALTER TABLE messages ADD COLUMN files BIGINT DEFAULT 0 NOT NULL;

CREATE TABLE variables (
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    value TEXT NOT NULL,
    key_id TEXT,
    scoped BIGINT DEFAULT 0 NOT NULL,
    description TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (scope_kind, scope_id, name)
);

CREATE INDEX variables_key ON variables (key_id) WHERE key_id IS NOT NULL;

CREATE TABLE files (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    size BIGINT NOT NULL,
    type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    space_id TEXT,
    owner_kind TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    attached BIGINT DEFAULT 0 NOT NULL,
    thumbnail TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX files_owner ON files (owner_id, id);

CREATE INDEX files_space ON files (space_id, id);

CREATE INDEX files_unattached ON files (created_at) WHERE attached = 0;

CREATE TABLE message_files (
    message_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    file_id TEXT NOT NULL,
    PRIMARY KEY (message_id, file_id)
);

CREATE INDEX message_files_file ON message_files (file_id);

CREATE TABLE file_usage (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    bytes BIGINT DEFAULT 0 NOT NULL,
    files BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE TABLE dropped_files (
    id TEXT NOT NULL,
    dropped_at TEXT NOT NULL,
    PRIMARY KEY (id)
);
