CREATE TABLE tasks (
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    prompt TEXT NOT NULL,
    schedule_type TEXT NOT NULL,
    schedule_value TEXT NOT NULL,
    timezone TEXT NOT NULL,
    context_mode TEXT NOT NULL,
    missed TEXT NOT NULL,
    precheck TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    anchor_at BIGINT NOT NULL,
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
    PRIMARY KEY (id)
);

CREATE INDEX tasks_agent ON tasks (agent_id);

CREATE INDEX tasks_cause ON tasks (cause_id);

CREATE INDEX tasks_due ON tasks (next_at, id) WHERE next_at IS NOT NULL;

CREATE INDEX tasks_space ON tasks (space_id, id);

CREATE TABLE task_firings (
    task_id TEXT NOT NULL,
    nominal_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    missed BIGINT DEFAULT 0 NOT NULL,
    manual BIGINT DEFAULT 0 NOT NULL,
    item_id TEXT,
    run_id TEXT,
    fired_at TEXT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (task_id, nominal_at)
);

CREATE INDEX task_firings_old ON task_firings (fired_at);

CREATE INDEX task_firings_unended ON task_firings (task_id, nominal_at) WHERE status = 'fired' AND ended_at IS NULL;

ALTER TABLE passages ADD COLUMN space_id TEXT;

CREATE TABLE group_blocks (
    agent_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    label TEXT NOT NULL,
    content TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, space_id, label)
);

CREATE TABLE chats (
    jid TEXT NOT NULL,
    name TEXT NOT NULL,
    space_id TEXT,
    seen_at TEXT,
    PRIMARY KEY (jid)
);

CREATE INDEX chats_space ON chats (space_id);
