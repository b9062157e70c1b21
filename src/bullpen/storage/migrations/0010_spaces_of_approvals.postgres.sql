ALTER TABLE pending_calls ADD COLUMN spaces TEXT COLLATE "C";
