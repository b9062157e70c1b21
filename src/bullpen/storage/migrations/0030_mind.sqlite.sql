CREATE TABLE goals (
    agent_id TEXT NOT NULL,
    place TEXT NOT NULL,
    id TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    priority BIGINT DEFAULT 0 NOT NULL,
    outside TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, place, id)
);

CREATE INDEX goals_place ON goals (place, agent_id);

CREATE TABLE memories (
    agent_id TEXT NOT NULL,
    place TEXT NOT NULL,
    "key" TEXT NOT NULL,
    value TEXT NOT NULL,
    outside TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, place, "key")
);

CREATE INDEX memories_place ON memories (place, agent_id);

CREATE TABLE plans (
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    place TEXT NOT NULL,
    ref TEXT NOT NULL,
    name TEXT NOT NULL,
    instruction TEXT NOT NULL,
    schedule_type TEXT NOT NULL,
    schedule_value TEXT NOT NULL,
    timezone TEXT NOT NULL,
    anchor_at BIGINT NOT NULL,
    shown_zone TEXT NOT NULL,
    space_id TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    next_at BIGINT,
    last_run TEXT,
    failures BIGINT DEFAULT 0 NOT NULL,
    cause_kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    grants TEXT NOT NULL,
    member BIGINT DEFAULT 0 NOT NULL,
    created_by TEXT NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT,
    made_at BIGINT NOT NULL,
    outside TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT plans_ref UNIQUE (agent_id, place, ref)
);

CREATE INDEX plans_cause ON plans (cause_id);

CREATE INDEX plans_due ON plans (next_at, id) WHERE next_at IS NOT NULL;

CREATE INDEX plans_space ON plans (space_id);
