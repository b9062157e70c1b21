ALTER TABLE people ADD COLUMN login TEXT;

ALTER TABLE people ADD COLUMN password TEXT;

ALTER TABLE people ADD COLUMN disabled_at TEXT;

ALTER TABLE people ADD COLUMN erased_at TEXT;

ALTER TABLE tokens ADD COLUMN scopes TEXT;

ALTER TABLE tokens ADD COLUMN expires_at BIGINT;

ALTER TABLE tokens ADD COLUMN created_by TEXT;

ALTER TABLE agents ADD COLUMN paused_at TEXT;

ALTER TABLE spaces ADD COLUMN agents_free_at BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE messages ADD COLUMN wake TEXT;

ALTER TABLE threads ADD COLUMN cause_kind TEXT;

ALTER TABLE threads ADD COLUMN cause_id TEXT;

ALTER TABLE threads ADD COLUMN grants TEXT;

UPDATE people SET login = lower(name)
WHERE id = (SELECT min(other.id) FROM people AS other WHERE lower(other.name) = lower(people.name));

CREATE UNIQUE INDEX people_login ON people (login);

CREATE TABLE sessions (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    person_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT sessions_hash UNIQUE (hash)
);

CREATE INDEX sessions_person ON sessions (person_id);

CREATE TABLE invites (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    role TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_by TEXT,
    revoked_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT invites_hash UNIQUE (hash)
);

CREATE TABLE audit (
    number BIGINT NOT NULL,
    at TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (number)
);

INSERT INTO meta (key, value) SELECT 'claimed', created_at FROM people WHERE role = 'owner' ORDER BY id LIMIT 1;
