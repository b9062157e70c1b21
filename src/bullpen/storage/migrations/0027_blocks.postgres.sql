-- A block of one space stands in the table of all blocks: '' is no space, and is for wherever the agent is.
ALTER TABLE blocks ADD COLUMN space_id TEXT COLLATE "C" DEFAULT '' NOT NULL;

ALTER TABLE blocks ADD COLUMN description TEXT COLLATE "C" DEFAULT '' NOT NULL;

ALTER TABLE blocks ADD COLUMN size_limit BIGINT DEFAULT 4000 NOT NULL;

ALTER TABLE blocks ADD COLUMN deleted BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE blocks DROP CONSTRAINT blocks_pkey;

ALTER TABLE blocks ADD PRIMARY KEY (agent_id, label, space_id);

INSERT INTO blocks (agent_id, label, content, version, updated_at, outside, space_id)
SELECT agent_id, label, content, 1, updated_at, outside, space_id FROM group_blocks;

DROP TABLE group_blocks;

-- What is longer than a block may be today keeps its length.
UPDATE blocks SET size_limit = length(content) WHERE length(content) > 4000;

CREATE INDEX blocks_space ON blocks (space_id);

CREATE TABLE block_versions (
    agent_id TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    deleted BIGINT NOT NULL,
    outside TEXT COLLATE "C",
    at TEXT COLLATE "C" NOT NULL,
    by_kind TEXT COLLATE "C",
    by_id TEXT COLLATE "C",
    token_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    PRIMARY KEY (agent_id, label, space_id, version)
);

CREATE INDEX block_versions_space ON block_versions (space_id);

-- Nobody knows who wrote what is there already.
INSERT INTO block_versions (agent_id, label, space_id, version, content, description, deleted, outside, at)
SELECT agent_id, label, space_id, version, content, '', 0, outside, updated_at FROM blocks;

CREATE TABLE block_shares (
    reader_id TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    may_write BIGINT NOT NULL,
    PRIMARY KEY (reader_id, label)
);

CREATE INDEX block_shares_owner ON block_shares (owner_id, label);
