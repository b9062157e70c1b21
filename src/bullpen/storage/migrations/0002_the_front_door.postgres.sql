ALTER TABLE people ADD COLUMN login TEXT COLLATE "C";

ALTER TABLE people ADD COLUMN password TEXT COLLATE "C";

ALTER TABLE people ADD COLUMN disabled_at TEXT COLLATE "C";

ALTER TABLE people ADD COLUMN erased_at TEXT COLLATE "C";

ALTER TABLE tokens ADD COLUMN scopes TEXT COLLATE "C";

ALTER TABLE tokens ADD COLUMN expires_at BIGINT;

ALTER TABLE tokens ADD COLUMN created_by TEXT COLLATE "C";

ALTER TABLE agents ADD COLUMN paused_at TEXT COLLATE "C";

ALTER TABLE spaces ADD COLUMN agents_free_at BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE messages ADD COLUMN wake TEXT COLLATE "C";

ALTER TABLE threads ADD COLUMN cause_kind TEXT COLLATE "C";

ALTER TABLE threads ADD COLUMN cause_id TEXT COLLATE "C";

ALTER TABLE threads ADD COLUMN grants TEXT COLLATE "C";

UPDATE people SET login = lower(name)
WHERE id = (SELECT min(other.id) FROM people AS other WHERE lower(other.name) = lower(people.name));

CREATE UNIQUE INDEX people_login ON people (login);

CREATE TABLE sessions (
    id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    person_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT sessions_hash UNIQUE (hash)
);

CREATE INDEX sessions_person ON sessions (person_id);

CREATE TABLE invites (
    id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_by TEXT COLLATE "C",
    revoked_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT invites_hash UNIQUE (hash)
);

CREATE TABLE audit (
    number BIGINT NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    object_kind TEXT COLLATE "C" NOT NULL,
    object_id TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number)
);

INSERT INTO meta (key, value) SELECT 'claimed', created_at FROM people WHERE role = 'owner' ORDER BY id LIMIT 1;
