CREATE TABLE agents (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    max_chain_depth BIGINT,
    definition TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    deleted_at TEXT COLLATE "C",
    PRIMARY KEY (id)
);

CREATE TABLE blocks (
    agent_id TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    version BIGINT DEFAULT 1 NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, label)
);

CREATE TABLE chain_stops (
    chain_id TEXT COLLATE "C" NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (chain_id)
);

CREATE TABLE events (
    id BIGSERIAL NOT NULL,
    xid BIGINT DEFAULT 0 NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    agent_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    audience TEXT COLLATE "C" NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX events_order ON events (xid, id);

CREATE TABLE inbox_items (
    id TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    batch TEXT COLLATE "C",
    rank BIGINT DEFAULT 0 NOT NULL,
    due_at BIGINT DEFAULT 0 NOT NULL,
    space_id TEXT COLLATE "C",
    payload TEXT COLLATE "C" NOT NULL,
    cause_kind TEXT COLLATE "C" NOT NULL,
    cause_id TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    chain_id TEXT COLLATE "C" NOT NULL,
    addressed BIGINT DEFAULT 0 NOT NULL,
    claimed_by TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT inbox_items_key UNIQUE (thread_id, key)
);

CREATE INDEX inbox_items_batch ON inbox_items (batch, rank) WHERE batch IS NOT NULL;

CREATE INDEX inbox_items_claimed ON inbox_items (claimed_by);

CREATE INDEX inbox_items_unclaimed ON inbox_items (thread_id, id) WHERE claimed_by IS NULL;

CREATE TABLE leases (
    thread_id TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C",
    epoch BIGINT DEFAULT 0 NOT NULL,
    token BIGINT DEFAULT 0 NOT NULL,
    until BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (thread_id)
);

CREATE TABLE members (
    space_id TEXT COLLATE "C" NOT NULL,
    member_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    read_seq BIGINT DEFAULT 0 NOT NULL,
    joined_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (space_id, member_id)
);

CREATE INDEX members_member ON members (member_id);

CREATE TABLE messages (
    id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    author_id TEXT COLLATE "C" NOT NULL,
    author_kind TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    reply_to TEXT COLLATE "C",
    metadata TEXT COLLATE "C" NOT NULL,
    client_message_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    chain_id TEXT COLLATE "C",
    depth BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    edited_at TEXT COLLATE "C",
    deleted_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT messages_seq UNIQUE (space_id, seq),
    CONSTRAINT messages_client_message_id UNIQUE (author_id, client_message_id)
);

CREATE TABLE meta (
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (key)
);

CREATE TABLE passages (
    id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    tags TEXT COLLATE "C" NOT NULL,
    metadata TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT passages_hash UNIQUE (agent_id, hash)
);

CREATE TABLE people (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE prompts (
    hash TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (hash)
);

CREATE TABLE reactions (
    message_id TEXT COLLATE "C" NOT NULL,
    member_id TEXT COLLATE "C" NOT NULL,
    emoji TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (message_id, member_id, emoji)
);

CREATE TABLE run_messages (
    id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    step BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    call_id TEXT COLLATE "C",
    provider_call_id TEXT COLLATE "C",
    tool_name TEXT COLLATE "C",
    args TEXT COLLATE "C",
    result TEXT COLLATE "C",
    is_error BIGINT,
    content TEXT COLLATE "C",
    token BIGINT DEFAULT 0 NOT NULL,
    started BIGINT DEFAULT 0 NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT run_messages_position UNIQUE (run_id, position)
);

CREATE UNIQUE INDEX run_messages_result ON run_messages (call_id) WHERE type = 'tool_return_message';

CREATE TABLE runs (
    id TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C",
    stop_reason TEXT COLLATE "C",
    silence_reason TEXT COLLATE "C",
    error TEXT COLLATE "C",
    cause_kind TEXT COLLATE "C" NOT NULL,
    cause_id TEXT COLLATE "C" NOT NULL,
    grants TEXT COLLATE "C" NOT NULL,
    trigger TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    chain_id TEXT COLLATE "C" NOT NULL,
    depth BIGINT DEFAULT 0 NOT NULL,
    addressed BIGINT DEFAULT 0 NOT NULL,
    corrected BIGINT DEFAULT 0 NOT NULL,
    cancel_requested BIGINT DEFAULT 0 NOT NULL,
    ordinal BIGINT DEFAULT 0 NOT NULL,
    step BIGINT DEFAULT 0 NOT NULL,
    position BIGINT DEFAULT 0 NOT NULL,
    message_ids TEXT COLLATE "C" NOT NULL,
    acts TEXT COLLATE "C" NOT NULL,
    active_ms BIGINT DEFAULT 0 NOT NULL,
    window_seq BIGINT DEFAULT 0 NOT NULL,
    prompt_hash TEXT COLLATE "C",
    summary TEXT COLLATE "C",
    input_tokens BIGINT DEFAULT 0 NOT NULL,
    output_tokens BIGINT DEFAULT 0 NOT NULL,
    cached_tokens BIGINT DEFAULT 0 NOT NULL,
    cost DOUBLE PRECISION DEFAULT 0 NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT COLLATE "C",
    PRIMARY KEY (id)
);

CREATE INDEX runs_agent ON runs (agent_id, id);

CREATE INDEX runs_space ON runs (space_id, id);

CREATE INDEX runs_thread ON runs (thread_id, ordinal);

CREATE UNIQUE INDEX runs_under_way ON runs (thread_id) WHERE finished_at IS NULL;

CREATE TABLE schema_migrations (
    number BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    applied_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number)
);

CREATE TABLE spaces (
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    private BIGINT DEFAULT 0 NOT NULL,
    main BIGINT DEFAULT 0 NOT NULL,
    wake_people TEXT COLLATE "C" NOT NULL,
    wake_agents TEXT COLLATE "C" NOT NULL,
    trigger TEXT COLLATE "C",
    options TEXT COLLATE "C" NOT NULL,
    last_seq BIGINT DEFAULT 0 NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE threads (
    id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    anchor TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C",
    active_space_id TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL,
    epoch BIGINT DEFAULT 0 NOT NULL,
    run_count BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT threads_anchor UNIQUE (agent_id, scope, anchor)
);

CREATE INDEX threads_queued ON threads (state) WHERE state <> 'idle';

CREATE TABLE tokens (
    id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    person_id TEXT COLLATE "C",
    agent_id TEXT COLLATE "C",
    tools TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    revoked_at TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash)
);
