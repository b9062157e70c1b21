CREATE TABLE bridges (
    id TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C",
    until BIGINT DEFAULT 0 NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE outbox (
    number BIGSERIAL NOT NULL,
    bridge TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    member_id TEXT COLLATE "C",
    emoji TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    part BIGINT DEFAULT 0 NOT NULL,
    attempts BIGINT DEFAULT 0 NOT NULL,
    failures BIGINT DEFAULT 0 NOT NULL,
    next_at BIGINT DEFAULT 0 NOT NULL,
    repeated_part BIGINT,
    error TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT COLLATE "C",
    PRIMARY KEY (number)
);

CREATE INDEX outbox_change ON outbox (message_id, kind) WHERE kind <> 'message';

CREATE INDEX outbox_dead ON outbox (bridge, number) WHERE status = 'dead';

CREATE INDEX outbox_finished ON outbox (finished_at) WHERE finished_at IS NOT NULL;

CREATE UNIQUE INDEX outbox_message ON outbox (message_id) WHERE kind = 'message';

CREATE INDEX outbox_space ON outbox (space_id);

CREATE INDEX outbox_unsent ON outbox (bridge, chat, number) WHERE status IN ('queued', 'sending', 'unknown');

CREATE TABLE bridge_messages (
    chat TEXT COLLATE "C" NOT NULL,
    remote_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    part BIGINT DEFAULT 0 NOT NULL,
    incoming BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (chat, remote_id)
);

CREATE INDEX bridge_messages_message ON bridge_messages (message_id);

CREATE INDEX bridge_messages_space ON bridge_messages (space_id);

CREATE TABLE bridge_updates (
    bridge TEXT COLLATE "C" NOT NULL,
    update_id TEXT COLLATE "C" NOT NULL,
    received_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (bridge, update_id)
);

CREATE INDEX bridge_updates_received ON bridge_updates (received_at);

CREATE TABLE bridge_accounts (
    bridge TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    person_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (bridge, account)
);

CREATE INDEX bridge_accounts_person ON bridge_accounts (person_id);
