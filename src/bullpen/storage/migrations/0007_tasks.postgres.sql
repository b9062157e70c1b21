CREATE TABLE tasks (
    id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    prompt TEXT COLLATE "C" NOT NULL,
    schedule_type TEXT COLLATE "C" NOT NULL,
    schedule_value TEXT COLLATE "C" NOT NULL,
    timezone TEXT COLLATE "C" NOT NULL,
    context_mode TEXT COLLATE "C" NOT NULL,
    missed TEXT COLLATE "C" NOT NULL,
    precheck TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    anchor_at BIGINT NOT NULL,
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
    PRIMARY KEY (id)
);

CREATE INDEX tasks_agent ON tasks (agent_id);

CREATE INDEX tasks_cause ON tasks (cause_id);

CREATE INDEX tasks_due ON tasks (next_at, id) WHERE next_at IS NOT NULL;

CREATE INDEX tasks_space ON tasks (space_id, id);

CREATE TABLE task_firings (
    task_id TEXT COLLATE "C" NOT NULL,
    nominal_at BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    missed BIGINT DEFAULT 0 NOT NULL,
    manual BIGINT DEFAULT 0 NOT NULL,
    item_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    fired_at TEXT COLLATE "C" NOT NULL,
    ended_at TEXT COLLATE "C",
    PRIMARY KEY (task_id, nominal_at)
);

CREATE INDEX task_firings_old ON task_firings (fired_at);

CREATE INDEX task_firings_unended ON task_firings (task_id, nominal_at) WHERE status = 'fired' AND ended_at IS NULL;

ALTER TABLE passages ADD COLUMN space_id TEXT COLLATE "C";

CREATE TABLE group_blocks (
    agent_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, space_id, label)
);

CREATE TABLE chats (
    jid TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    seen_at TEXT COLLATE "C",
    PRIMARY KEY (jid)
);

CREATE INDEX chats_space ON chats (space_id);
