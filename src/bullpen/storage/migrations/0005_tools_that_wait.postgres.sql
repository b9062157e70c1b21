CREATE TABLE tools (
    name TEXT COLLATE "C" NOT NULL,
    definition TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE pending_calls (
    call_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    tool_name TEXT COLLATE "C" NOT NULL,
    args TEXT COLLATE "C" NOT NULL,
    result TEXT COLLATE "C",
    answered_by TEXT COLLATE "C",
    delivered_via TEXT COLLATE "C",
    visible BIGINT DEFAULT 0 NOT NULL,
    deadline_at BIGINT,
    expires_at BIGINT,
    progress TEXT COLLATE "C",
    cause_kind TEXT COLLATE "C" NOT NULL,
    cause_id TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    resolved_at TEXT COLLATE "C",
    tool_hash TEXT COLLATE "C",
    hash TEXT COLLATE "C",
    asks BIGINT DEFAULT 0 NOT NULL,
    execution TEXT COLLATE "C",
    PRIMARY KEY (call_id)
);

CREATE INDEX pending_calls_agent ON pending_calls (agent_id, call_id);

CREATE INDEX pending_calls_deadline ON pending_calls (deadline_at) WHERE status = 'waiting';

CREATE INDEX pending_calls_expiry ON pending_calls (expires_at) WHERE resolved_at IS NULL;

CREATE INDEX pending_calls_open ON pending_calls (status, call_id) WHERE status IN ('waiting', 'pending');

CREATE INDEX pending_calls_run ON pending_calls (run_id);

CREATE INDEX pending_calls_undelivered ON pending_calls (thread_id) WHERE status = 'resolved' AND delivered_via IS NULL;

CREATE INDEX pending_calls_waited_for ON pending_calls (agent_id) WHERE resolved_at IS NULL;

CREATE TABLE policies (
    id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    tool_name TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    condition TEXT COLLATE "C",
    tool_hash TEXT COLLATE "C",
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT policies_key UNIQUE (key)
);

CREATE INDEX policies_agent ON policies (agent_id, tool_name);

CREATE INDEX policies_space ON policies (space_id);

CREATE TABLE hooks (
    id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    person_id TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    used_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT hooks_hash UNIQUE (hash)
);

CREATE INDEX hooks_agent ON hooks (agent_id);

CREATE INDEX hooks_person ON hooks (person_id);

CREATE TABLE hook_uses (
    hook_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    item_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (hook_id, key)
);

CREATE INDEX hook_uses_created ON hook_uses (created_at);

CREATE TABLE webhooks (
    id TEXT COLLATE "C" NOT NULL,
    person_id TEXT COLLATE "C" NOT NULL,
    url TEXT COLLATE "C" NOT NULL,
    events TEXT COLLATE "C" NOT NULL,
    members TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    secret TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    enabled BIGINT DEFAULT 1 NOT NULL,
    reason TEXT COLLATE "C",
    failures BIGINT DEFAULT 0 NOT NULL,
    last_error TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    delivered_at TEXT COLLATE "C",
    PRIMARY KEY (id)
);

CREATE INDEX webhooks_enabled ON webhooks (person_id) WHERE enabled = 1;

CREATE INDEX webhooks_key ON webhooks (key_id);

CREATE INDEX webhooks_person ON webhooks (person_id, id);

CREATE TABLE webhook_deliveries (
    id TEXT COLLATE "C" NOT NULL,
    webhook_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    subject_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    attempts BIGINT DEFAULT 0 NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    last_status BIGINT,
    last_error TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT webhook_deliveries_key UNIQUE (webhook_id, key)
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'queued';

CREATE INDEX webhook_deliveries_over ON webhook_deliveries (finished_at) WHERE status <> 'queued';

CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'queued';

CREATE INDEX webhook_deliveries_space ON webhook_deliveries (space_id);

CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
