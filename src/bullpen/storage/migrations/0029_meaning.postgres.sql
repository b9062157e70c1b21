CREATE TABLE vectors (
    number BIGSERIAL NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    item_id TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT vectors_item UNIQUE (kind, item_id)
);

CREATE INDEX vectors_scope ON vectors (kind, model, scope, number);

-- It does not get smaller, and trying costs time.
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

CREATE TABLE unembedded (
    number BIGSERIAL NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    item_id TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    failures BIGINT DEFAULT 0 NOT NULL,
    next_at BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT unembedded_item UNIQUE (kind, item_id)
);

CREATE INDEX unembedded_scope ON unembedded (kind, scope);

CREATE INDEX unembedded_next ON unembedded (kind, number);

CREATE TABLE vectors_wanted (
    model TEXT COLLATE "C" NOT NULL,
    complete BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (model)
);

-- Whoever stores a text queues it, in the same transaction, while vectors are wanted.
CREATE FUNCTION queue_text(which TEXT, id TEXT, whose TEXT) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO unembedded (kind, item_id, scope) SELECT which, id, whose FROM vectors_wanted LIMIT 1
    ON CONFLICT (kind, item_id) DO UPDATE
    SET number = nextval('unembedded_number_seq'), scope = excluded.scope, failures = 0, next_at = 0;
END $$;

-- Whoever changes a text, or takes it away, takes its vector away.
CREATE FUNCTION forget_vector(which TEXT, id TEXT) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM vectors WHERE kind = which AND item_id = id;
    DELETE FROM unembedded WHERE kind = which AND item_id = id;
END $$;

CREATE FUNCTION follow_passage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM forget_vector('passage', OLD.id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM queue_text('passage', NEW.id, NEW.scope);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION follow_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM forget_vector('message', OLD.id);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.type = 'text' AND NEW.text <> '' AND NEW.deleted_at IS NULL THEN
        PERFORM queue_text('message', NEW.id, NEW.space_id);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER passages_embed AFTER INSERT OR DELETE ON passages FOR EACH ROW EXECUTE FUNCTION follow_passage();

CREATE TRIGGER passages_embed_anew AFTER UPDATE OF content, scope ON passages FOR EACH ROW
WHEN (NEW.content <> OLD.content OR NEW.scope <> OLD.scope) EXECUTE FUNCTION follow_passage();

CREATE TRIGGER messages_embed AFTER INSERT OR DELETE ON messages FOR EACH ROW EXECUTE FUNCTION follow_message();

CREATE TRIGGER messages_embed_anew AFTER UPDATE OF text, deleted_at ON messages FOR EACH ROW
WHEN (NEW.text <> OLD.text OR NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION follow_message();
