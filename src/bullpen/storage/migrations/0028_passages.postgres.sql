-- A passage may belong to a space instead of an agent, and says where it was learned.
CREATE TEMPORARY TABLE passages_of_agents ON COMMIT DROP AS SELECT * FROM passages;

DROP TABLE passages;

CREATE TABLE passages (
    id TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C",
    space_id TEXT COLLATE "C",
    content TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    tags TEXT COLLATE "C" NOT NULL,
    metadata TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    outside TEXT COLLATE "C",
    learned_in TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    message_id TEXT COLLATE "C",
    person_id TEXT COLLATE "C",
    supersedes TEXT COLLATE "C",
    superseded_by TEXT COLLATE "C",
    expires_at BIGINT,
    updated_at TEXT COLLATE "C",
    updated_by TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT passages_hash UNIQUE (scope, hash)
);

INSERT INTO passages (id, scope, agent_id, space_id, content, folded, tags, metadata, hash, created_at, outside, learned_in)
SELECT id,
       'agent:' || agent_id || CASE WHEN space_id IS NULL THEN '' ELSE '/group:' || space_id END,
       agent_id, space_id, content, folded, tags, metadata, hash, created_at, outside, space_id
FROM passages_of_agents;

CREATE INDEX passages_agent ON passages (agent_id, id);

CREATE INDEX passages_expiring ON passages (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX passages_learned ON passages (learned_in, id) WHERE learned_in IS NOT NULL;

CREATE INDEX passages_person ON passages (person_id, id) WHERE person_id IS NOT NULL;

CREATE INDEX passages_scope ON passages (scope, id);

CREATE INDEX passages_space ON passages (space_id, id) WHERE space_id IS NOT NULL;

CREATE TABLE passage_scopes (
    scope TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (scope)
);

INSERT INTO passage_scopes (scope, count) SELECT scope, count(*) FROM passages GROUP BY scope;

CREATE TABLE passage_words (
    number BIGSERIAL NOT NULL,
    passage_id TEXT COLLATE "C" NOT NULL,
    words TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT passage_words_passage_id UNIQUE (passage_id)
);

-- Fragments come with the key of their scope (storage/fragments.py). A search reads what waits to be put into the index
-- as well, so little may wait.
CREATE INDEX passage_words_lookup ON passage_words
USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (gin_pending_list_limit = 128);

-- Whoever takes a passage away takes it out of the index.
CREATE FUNCTION forget_passage_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM passage_words WHERE passage_id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER passages_removed AFTER DELETE ON passages FOR EACH ROW EXECUTE FUNCTION forget_passage_words();
