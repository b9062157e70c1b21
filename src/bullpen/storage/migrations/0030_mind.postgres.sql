CREATE TABLE goals (
    agent_id TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    priority BIGINT DEFAULT 0 NOT NULL,
    outside TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, place, id)
);

CREATE INDEX goals_place ON goals (place, agent_id);

CREATE TABLE memories (
    agent_id TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    outside TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, place, key)
);

CREATE INDEX memories_place ON memories (place, agent_id);

CREATE TABLE plans (
    id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    instruction TEXT COLLATE "C" NOT NULL,
    schedule_type TEXT COLLATE "C" NOT NULL,
    schedule_value TEXT COLLATE "C" NOT NULL,
    timezone TEXT COLLATE "C" NOT NULL,
    anchor_at BIGINT NOT NULL,
    shown_zone TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    next_at BIGINT,
    last_run TEXT COLLATE "C",
    failures BIGINT DEFAULT 0 NOT NULL,
    cause_kind TEXT COLLATE "C" NOT NULL,
    cause_id TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    member BIGINT DEFAULT 0 NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT COLLATE "C",
    made_at BIGINT NOT NULL,
    outside TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT plans_ref UNIQUE (agent_id, place, ref)
);

CREATE INDEX plans_cause ON plans (cause_id);

CREATE INDEX plans_due ON plans (next_at, id) WHERE next_at IS NOT NULL;

CREATE INDEX plans_space ON plans (space_id);
