ALTER TABLE pending_calls ADD COLUMN reason TEXT;

ALTER TABLE runs ADD COLUMN seen_in TEXT;
