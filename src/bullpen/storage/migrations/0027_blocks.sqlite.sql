-- A block of one space stands in the table of all blocks: '' is no space, and is for wherever the agent is.
CREATE TABLE blocks_now (
    agent_id TEXT NOT NULL,
    label TEXT NOT NULL,
    content TEXT NOT NULL,
    version BIGINT DEFAULT 1 NOT NULL,
    updated_at TEXT NOT NULL,
    outside TEXT,
    space_id TEXT DEFAULT '' NOT NULL,
    description TEXT DEFAULT '' NOT NULL,
    size_limit BIGINT DEFAULT 4000 NOT NULL,
    deleted BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (agent_id, label, space_id)
);

-- What is longer than a block may be today keeps its length.
INSERT INTO blocks_now (agent_id, label, content, version, updated_at, outside, space_id, size_limit)
SELECT agent_id, label, content, 1, updated_at, outside, '', max(4000, length(content)) FROM blocks;

INSERT INTO blocks_now (agent_id, label, content, version, updated_at, outside, space_id, size_limit)
SELECT agent_id, label, content, 1, updated_at, outside, space_id, max(4000, length(content)) FROM group_blocks;

DROP TABLE blocks;

DROP TABLE group_blocks;

ALTER TABLE blocks_now RENAME TO blocks;

CREATE INDEX blocks_space ON blocks (space_id);

CREATE TABLE block_versions (
    agent_id TEXT NOT NULL,
    label TEXT NOT NULL,
    space_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    content TEXT NOT NULL,
    description TEXT NOT NULL,
    deleted BIGINT NOT NULL,
    outside TEXT,
    at TEXT NOT NULL,
    by_kind TEXT,
    by_id TEXT,
    token_id TEXT,
    run_id TEXT,
    reason TEXT,
    PRIMARY KEY (agent_id, label, space_id, version)
);

CREATE INDEX block_versions_space ON block_versions (space_id);

-- Nobody knows who wrote what is there already.
INSERT INTO block_versions (agent_id, label, space_id, version, content, description, deleted, outside, at)
SELECT agent_id, label, space_id, version, content, '', 0, outside, updated_at FROM blocks;

CREATE TABLE block_shares (
    reader_id TEXT NOT NULL,
    label TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    may_write BIGINT NOT NULL,
    PRIMARY KEY (reader_id, label)
);

CREATE INDEX block_shares_owner ON block_shares (owner_id, label);
