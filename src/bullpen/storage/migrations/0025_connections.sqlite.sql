CREATE TABLE connections (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    provider TEXT NOT NULL,
    base_url TEXT,
    api_key_variable TEXT,
    own_key BIGINT DEFAULT 0 NOT NULL,
    confirmed TEXT,
    default_model TEXT,
    models TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT connections_folded UNIQUE (folded)
);
