CREATE TABLE vectors (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    item_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    CONSTRAINT vectors_item UNIQUE (kind, item_id)
);

CREATE INDEX vectors_scope ON vectors (kind, model, scope, number);

CREATE TABLE unembedded (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    item_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    failures BIGINT DEFAULT 0 NOT NULL,
    next_at BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT unembedded_item UNIQUE (kind, item_id)
);

CREATE INDEX unembedded_scope ON unembedded (kind, scope);

CREATE INDEX unembedded_next ON unembedded (kind, number);

CREATE TABLE vectors_wanted (
    model TEXT NOT NULL,
    complete BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (model)
);

-- Whoever stores a text queues it, in the same transaction, while vectors are wanted.
CREATE TRIGGER passages_embed AFTER INSERT ON passages WHEN EXISTS (SELECT 1 FROM vectors_wanted)
BEGIN
    INSERT OR REPLACE INTO unembedded (kind, item_id, scope) VALUES ('passage', new.id, new.scope);
END;

-- Whoever changes a text, or takes it away, takes its vector away.
CREATE TRIGGER passages_embed_anew AFTER UPDATE OF content, scope ON passages
WHEN new.content <> old.content OR new.scope <> old.scope
BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND item_id = new.id;
    INSERT OR REPLACE INTO unembedded (kind, item_id, scope)
    SELECT 'passage', new.id, new.scope FROM vectors_wanted LIMIT 1;
END;

CREATE TRIGGER passages_unembed AFTER DELETE ON passages
BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND item_id = old.id;
    DELETE FROM unembedded WHERE kind = 'passage' AND item_id = old.id;
END;

CREATE TRIGGER messages_embed AFTER INSERT ON messages
WHEN new.type = 'text' AND new.text <> '' AND EXISTS (SELECT 1 FROM vectors_wanted)
BEGIN
    INSERT OR REPLACE INTO unembedded (kind, item_id, scope) VALUES ('message', new.id, new.space_id);
END;

CREATE TRIGGER messages_embed_anew AFTER UPDATE OF text, deleted_at ON messages
WHEN new.text <> old.text OR new.deleted_at IS NOT NULL
BEGIN
    DELETE FROM vectors WHERE kind = 'message' AND item_id = new.id;
    DELETE FROM unembedded WHERE kind = 'message' AND item_id = new.id;
    INSERT INTO unembedded (kind, item_id, scope)
    SELECT 'message', new.id, new.space_id FROM vectors_wanted
    WHERE new.type = 'text' AND new.text <> '' AND new.deleted_at IS NULL LIMIT 1;
END;

CREATE TRIGGER messages_unembed AFTER DELETE ON messages
BEGIN
    DELETE FROM vectors WHERE kind = 'message' AND item_id = old.id;
    DELETE FROM unembedded WHERE kind = 'message' AND item_id = old.id;
END;
