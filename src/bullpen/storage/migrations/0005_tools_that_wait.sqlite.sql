CREATE TABLE tools (
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE pending_calls (
    call_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    space_id TEXT,
    tool_name TEXT NOT NULL,
    args TEXT NOT NULL,
    result TEXT,
    answered_by TEXT,
    delivered_via TEXT,
    visible BIGINT DEFAULT 0 NOT NULL,
    deadline_at BIGINT,
    expires_at BIGINT,
    progress TEXT,
    cause_kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    grants TEXT NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    resolved_at TEXT,
    tool_hash TEXT,
    hash TEXT,
    asks BIGINT DEFAULT 0 NOT NULL,
    execution TEXT,
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
    id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    space_id TEXT,
    tool_name TEXT NOT NULL,
    decision TEXT NOT NULL,
    condition TEXT,
    tool_hash TEXT,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT policies_key UNIQUE ("key")
);

CREATE INDEX policies_agent ON policies (agent_id, tool_name);

CREATE INDEX policies_space ON policies (space_id);

CREATE TABLE hooks (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    grants TEXT NOT NULL,
    created_at TEXT NOT NULL,
    used_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT hooks_hash UNIQUE (hash)
);

CREATE INDEX hooks_agent ON hooks (agent_id);

CREATE INDEX hooks_person ON hooks (person_id);

CREATE TABLE hook_uses (
    hook_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    digest TEXT NOT NULL,
    item_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (hook_id, "key")
);

CREATE INDEX hook_uses_created ON hook_uses (created_at);

CREATE TABLE webhooks (
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    members TEXT NOT NULL,
    grants TEXT NOT NULL,
    secret TEXT NOT NULL,
    key_id TEXT NOT NULL,
    enabled BIGINT DEFAULT 1 NOT NULL,
    reason TEXT,
    failures BIGINT DEFAULT 0 NOT NULL,
    last_error TEXT,
    created_at TEXT NOT NULL,
    delivered_at TEXT,
    PRIMARY KEY (id)
);

CREATE INDEX webhooks_enabled ON webhooks (person_id) WHERE enabled = 1;

CREATE INDEX webhooks_key ON webhooks (key_id);

CREATE INDEX webhooks_person ON webhooks (person_id, id);

CREATE TABLE webhook_deliveries (
    id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    type TEXT NOT NULL,
    "key" TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    space_id TEXT,
    status TEXT NOT NULL,
    attempts BIGINT DEFAULT 0 NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    last_status BIGINT,
    last_error TEXT,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT webhook_deliveries_key UNIQUE (webhook_id, "key")
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'queued';

CREATE INDEX webhook_deliveries_over ON webhook_deliveries (finished_at) WHERE status <> 'queued';

CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'queued';

CREATE INDEX webhook_deliveries_space ON webhook_deliveries (space_id);

CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
