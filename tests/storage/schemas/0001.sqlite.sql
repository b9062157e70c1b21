CREATE TABLE agents (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    max_chain_depth BIGINT,
    definition TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at TEXT,
    PRIMARY KEY (id)
);

CREATE TABLE blocks (
    agent_id TEXT NOT NULL,
    label TEXT NOT NULL,
    content TEXT NOT NULL,
    version BIGINT DEFAULT 1 NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, label)
);

CREATE TABLE chain_stops (
    chain_id TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (chain_id)
);

CREATE TABLE events (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    xid BIGINT DEFAULT 0 NOT NULL,
    type TEXT NOT NULL,
    space_id TEXT,
    agent_id TEXT,
    run_id TEXT,
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    body TEXT NOT NULL
);

CREATE INDEX events_order ON events (xid, id);

CREATE TABLE inbox_items (
    id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    "key" TEXT NOT NULL,
    batch TEXT,
    rank BIGINT DEFAULT 0 NOT NULL,
    due_at BIGINT DEFAULT 0 NOT NULL,
    space_id TEXT,
    payload TEXT NOT NULL,
    cause_kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    grants TEXT NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT NOT NULL,
    addressed BIGINT DEFAULT 0 NOT NULL,
    claimed_by TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT inbox_items_key UNIQUE (thread_id, "key")
);

CREATE INDEX inbox_items_batch ON inbox_items (batch, rank) WHERE batch IS NOT NULL;

CREATE INDEX inbox_items_claimed ON inbox_items (claimed_by);

CREATE INDEX inbox_items_unclaimed ON inbox_items (thread_id, id) WHERE claimed_by IS NULL;

CREATE TABLE leases (
    thread_id TEXT NOT NULL,
    owner TEXT,
    epoch BIGINT DEFAULT 0 NOT NULL,
    token BIGINT DEFAULT 0 NOT NULL,
    until BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (thread_id)
);

CREATE TABLE members (
    space_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    position BIGINT NOT NULL,
    read_seq BIGINT DEFAULT 0 NOT NULL,
    joined_at TEXT NOT NULL,
    PRIMARY KEY (space_id, member_id)
);

CREATE INDEX members_member ON members (member_id);

CREATE TABLE messages (
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    author_id TEXT NOT NULL,
    author_kind TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    folded TEXT,
    status TEXT NOT NULL,
    reply_to TEXT,
    metadata TEXT NOT NULL,
    client_message_id TEXT,
    run_id TEXT,
    chain_id TEXT,
    depth BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT NOT NULL,
    edited_at TEXT,
    deleted_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT messages_seq UNIQUE (space_id, seq),
    CONSTRAINT messages_client_message_id UNIQUE (author_id, client_message_id)
);

CREATE TABLE meta (
    "key" TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY ("key")
);

CREATE TABLE passages (
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    content TEXT NOT NULL,
    folded TEXT NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT passages_hash UNIQUE (agent_id, hash)
);

CREATE TABLE people (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE prompts (
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (hash)
);

CREATE TABLE reactions (
    message_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    emoji TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (message_id, member_id, emoji)
);

CREATE TABLE run_messages (
    id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    step BIGINT NOT NULL,
    type TEXT NOT NULL,
    call_id TEXT,
    provider_call_id TEXT,
    tool_name TEXT,
    args TEXT,
    result TEXT,
    is_error BIGINT,
    content TEXT,
    token BIGINT DEFAULT 0 NOT NULL,
    started BIGINT DEFAULT 0 NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT run_messages_position UNIQUE (run_id, position)
);

CREATE UNIQUE INDEX run_messages_result ON run_messages (call_id) WHERE type = 'tool_return_message';

CREATE TABLE runs (
    id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    space_id TEXT,
    status TEXT NOT NULL,
    outcome TEXT,
    stop_reason TEXT,
    silence_reason TEXT,
    error TEXT,
    cause_kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    grants TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    payload TEXT NOT NULL,
    chain_id TEXT NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    addressed BIGINT DEFAULT 0 NOT NULL,
    corrected BIGINT DEFAULT 0 NOT NULL,
    cancel_requested BIGINT DEFAULT 0 NOT NULL,
    ordinal BIGINT DEFAULT 0 NOT NULL,
    step BIGINT DEFAULT 0 NOT NULL,
    position BIGINT DEFAULT 0 NOT NULL,
    message_ids TEXT NOT NULL,
    acts TEXT NOT NULL,
    active_ms BIGINT DEFAULT 0 NOT NULL,
    window_seq BIGINT DEFAULT 0 NOT NULL,
    prompt_hash TEXT,
    summary TEXT,
    input_tokens BIGINT DEFAULT 0 NOT NULL,
    output_tokens BIGINT DEFAULT 0 NOT NULL,
    cached_tokens BIGINT DEFAULT 0 NOT NULL,
    cost REAL DEFAULT 0 NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    PRIMARY KEY (id)
);

CREATE INDEX runs_agent ON runs (agent_id, id);

CREATE INDEX runs_space ON runs (space_id, id);

CREATE INDEX runs_thread ON runs (thread_id, ordinal);

CREATE UNIQUE INDEX runs_under_way ON runs (thread_id) WHERE finished_at IS NULL;

CREATE TABLE schema_migrations (
    number BIGINT NOT NULL,
    name TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    PRIMARY KEY (number)
);

CREATE TABLE spaces (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    private BIGINT DEFAULT 0 NOT NULL,
    main BIGINT DEFAULT 0 NOT NULL,
    wake_people TEXT NOT NULL,
    wake_agents TEXT NOT NULL,
    "trigger" TEXT,
    options TEXT NOT NULL,
    last_seq BIGINT DEFAULT 0 NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE threads (
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    anchor TEXT NOT NULL,
    space_id TEXT,
    active_space_id TEXT,
    state TEXT NOT NULL,
    epoch BIGINT DEFAULT 0 NOT NULL,
    run_count BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT threads_anchor UNIQUE (agent_id, scope, anchor)
);

CREATE INDEX threads_queued ON threads (state) WHERE state <> 'idle';

CREATE TABLE tokens (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    person_id TEXT,
    agent_id TEXT,
    tools TEXT,
    created_at TEXT NOT NULL,
    revoked_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash)
);
