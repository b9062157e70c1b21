CREATE TABLE message_words (
    number INTEGER NOT NULL PRIMARY KEY,
    message_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    words TEXT NOT NULL,
    CONSTRAINT message_words_message_id UNIQUE (message_id)
);

-- Words come split and folded (storage/words.py), with spaces between them: this tokenizer splits nothing else.
CREATE VIRTUAL TABLE message_fts USING fts5 (
    words, content='message_words', content_rowid='number', tokenize="ascii tokenchars '-_'",
    detail=none, columnsize=0, prefix='2 3'
);

CREATE TABLE message_fts_mark (upto INTEGER NOT NULL);

INSERT INTO message_fts_mark VALUES (0);

-- Putting one row at a time into the index costs three times what it costs together with others. The newest rows are
-- read by every search anyway, so they can wait for company. `upto` says how far the index goes.
CREATE TRIGGER message_words_added AFTER INSERT ON message_words
WHEN new.number % 256 = 0 OR new.number <= (SELECT upto FROM message_fts_mark)
BEGIN
    INSERT INTO message_fts (rowid, words) SELECT number, words FROM message_words
    WHERE number > (SELECT upto FROM message_fts_mark) AND number < new.number;
    INSERT INTO message_fts (rowid, words) VALUES (new.number, new.words);
    UPDATE message_fts_mark SET upto = max(upto, new.number);
END;

CREATE TRIGGER message_words_changed AFTER UPDATE OF words ON message_words
WHEN old.number <= (SELECT upto FROM message_fts_mark)
BEGIN
    INSERT INTO message_fts (message_fts, rowid, words) VALUES ('delete', old.number, old.words);
    INSERT INTO message_fts (rowid, words) VALUES (new.number, new.words);
END;

CREATE TRIGGER message_words_removed AFTER DELETE ON message_words
WHEN old.number <= (SELECT upto FROM message_fts_mark)
BEGIN
    INSERT INTO message_fts (message_fts, rowid, words) VALUES ('delete', old.number, old.words);
END;

-- Whoever takes a message or its text away takes it out of the index.
CREATE TRIGGER messages_emptied AFTER UPDATE OF text, deleted_at ON messages
WHEN new.text = '' OR new.deleted_at IS NOT NULL
BEGIN
    DELETE FROM message_words WHERE message_id = new.id;
END;

CREATE TRIGGER messages_removed AFTER DELETE ON messages
BEGIN
    DELETE FROM message_words WHERE message_id = old.id;
END;

-- What is unread is counted by subtraction: these are the messages that do not count, and those that may mention.
CREATE INDEX messages_uncounted ON messages (space_id, seq) WHERE type = 'system' OR deleted_at IS NOT NULL;

CREATE INDEX messages_addressing ON messages (space_id, seq) WHERE instr(text, '@') > 0 OR reply_to IS NOT NULL;

-- Agents, too, have read up to their own messages.
UPDATE members SET read_seq = max(
    read_seq,
    coalesce((SELECT max(seq) FROM messages WHERE messages.space_id = members.space_id
              AND messages.author_id = members.member_id), 0)
);
