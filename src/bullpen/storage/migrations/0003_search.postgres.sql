CREATE TABLE message_words (
    number BIGSERIAL NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    words TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT message_words_message_id UNIQUE (message_id)
);

-- Words come split and folded (storage/words.py), with spaces between them; to_tsvector would split them its own way.
CREATE INDEX message_words_lookup ON message_words
USING gin (array_to_tsvector(string_to_array(btrim(words), ' ')));

-- The words of one space, newest first, since the index above knows no order. SQLite's does, and needs no more.
CREATE INDEX message_words_lookup_space ON message_words (space_id, number);

-- Whoever takes a message or its text away takes it out of the index.
CREATE FUNCTION forget_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM message_words WHERE message_id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER messages_emptied AFTER UPDATE OF text, deleted_at ON messages FOR EACH ROW
WHEN (NEW.text = '' OR NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION forget_words();

CREATE TRIGGER messages_removed AFTER DELETE ON messages FOR EACH ROW EXECUTE FUNCTION forget_words();

-- What is unread is counted by subtraction: these are the messages that do not count, and those that may mention.
CREATE INDEX messages_uncounted ON messages (space_id, seq) WHERE type = 'system' OR deleted_at IS NOT NULL;

CREATE INDEX messages_addressing ON messages (space_id, seq) WHERE strpos(text, '@') > 0 OR reply_to IS NOT NULL;

-- Agents, too, have read up to their own messages.
UPDATE members SET read_seq = greatest(
    read_seq,
    coalesce((SELECT max(seq) FROM messages WHERE messages.space_id = members.space_id
              AND messages.author_id = members.member_id), 0)
);
