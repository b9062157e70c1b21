-- A passage may belong to a space instead of an agent, and says where it was learned.
ALTER TABLE passages RENAME TO passages_of_agents;

CREATE TABLE passages (
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    agent_id TEXT,
    space_id TEXT,
    content TEXT NOT NULL,
    folded TEXT NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    outside TEXT,
    learned_in TEXT,
    run_id TEXT,
    message_id TEXT,
    person_id TEXT,
    supersedes TEXT,
    superseded_by TEXT,
    expires_at BIGINT,
    updated_at TEXT,
    updated_by TEXT,
    PRIMARY KEY (id),
    CONSTRAINT passages_hash UNIQUE (scope, hash)
);

INSERT INTO passages (id, scope, agent_id, space_id, content, folded, tags, metadata, hash, created_at, outside, learned_in)
SELECT id,
       'agent:' || agent_id || CASE WHEN space_id IS NULL THEN '' ELSE '/group:' || space_id END,
       agent_id, space_id, content, folded, tags, metadata, hash, created_at, outside, space_id
FROM passages_of_agents;

DROP TABLE passages_of_agents;

CREATE INDEX passages_agent ON passages (agent_id, id);

CREATE INDEX passages_expiring ON passages (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX passages_learned ON passages (learned_in, id) WHERE learned_in IS NOT NULL;

CREATE INDEX passages_person ON passages (person_id, id) WHERE person_id IS NOT NULL;

CREATE INDEX passages_scope ON passages (scope, id);

CREATE INDEX passages_space ON passages (space_id, id) WHERE space_id IS NOT NULL;

CREATE TABLE passage_scopes (
    scope TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (scope)
);

INSERT INTO passage_scopes (scope, count) SELECT scope, count(*) FROM passages GROUP BY scope;

CREATE TABLE passage_words (
    number INTEGER NOT NULL,
    passage_id TEXT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT passage_words_passage_id UNIQUE (passage_id)
);

-- Fragments come with the key of their scope (storage/fragments.py): this tokenizer splits nothing else.
CREATE VIRTUAL TABLE passage_fts USING fts5 (
    words, content='passage_words', content_rowid='number', tokenize="ascii", detail=none, columnsize=0
);

CREATE TRIGGER passage_words_added AFTER INSERT ON passage_words
BEGIN
    INSERT INTO passage_fts (rowid, words) VALUES (new.number, new.words);
END;

CREATE TRIGGER passage_words_removed AFTER DELETE ON passage_words
BEGIN
    INSERT INTO passage_fts (passage_fts, rowid, words) VALUES ('delete', old.number, old.words);
END;

-- Whoever takes a passage away takes it out of the index.
CREATE TRIGGER passages_removed AFTER DELETE ON passages
BEGIN
    DELETE FROM passage_words WHERE passage_id = old.id;
END;
