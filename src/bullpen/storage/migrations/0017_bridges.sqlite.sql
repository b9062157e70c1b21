CREATE TABLE bridges (
    id TEXT NOT NULL,
    owner TEXT,
    until BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE outbox (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    bridge TEXT NOT NULL,
    chat TEXT NOT NULL,
    space_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    member_id TEXT,
    emoji TEXT,
    status TEXT NOT NULL,
    part BIGINT DEFAULT 0 NOT NULL,
    attempts BIGINT DEFAULT 0 NOT NULL,
    failures BIGINT DEFAULT 0 NOT NULL,
    next_at BIGINT DEFAULT 0 NOT NULL,
    repeated_part BIGINT,
    error TEXT,
    created_at TEXT NOT NULL,
    finished_at TEXT
);

CREATE INDEX outbox_change ON outbox (message_id, kind) WHERE kind <> 'message';

CREATE INDEX outbox_dead ON outbox (bridge, number) WHERE status = 'dead';

CREATE INDEX outbox_finished ON outbox (finished_at) WHERE finished_at IS NOT NULL;

CREATE UNIQUE INDEX outbox_message ON outbox (message_id) WHERE kind = 'message';

CREATE INDEX outbox_space ON outbox (space_id);

CREATE INDEX outbox_unsent ON outbox (bridge, chat, number) WHERE status IN ('queued', 'sending', 'unknown');

CREATE TABLE bridge_messages (
    chat TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    part BIGINT DEFAULT 0 NOT NULL,
    incoming BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (chat, remote_id)
);

CREATE INDEX bridge_messages_message ON bridge_messages (message_id);

CREATE INDEX bridge_messages_space ON bridge_messages (space_id);

CREATE TABLE bridge_updates (
    bridge TEXT NOT NULL,
    update_id TEXT NOT NULL,
    received_at TEXT NOT NULL,
    PRIMARY KEY (bridge, update_id)
);

CREATE INDEX bridge_updates_received ON bridge_updates (received_at);

CREATE TABLE bridge_accounts (
    bridge TEXT NOT NULL,
    account TEXT NOT NULL,
    person_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (bridge, account)
);

CREATE INDEX bridge_accounts_person ON bridge_accounts (person_id);
