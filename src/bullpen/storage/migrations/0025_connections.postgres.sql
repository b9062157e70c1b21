CREATE TABLE connections (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    base_url TEXT COLLATE "C",
    api_key_variable TEXT COLLATE "C",
    own_key BIGINT DEFAULT 0 NOT NULL,
    confirmed TEXT COLLATE "C",
    default_model TEXT COLLATE "C",
    models TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT connections_folded UNIQUE (folded)
);
