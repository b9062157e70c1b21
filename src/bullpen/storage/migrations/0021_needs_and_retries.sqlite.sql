ALTER TABLE pending_calls ADD COLUMN needs TEXT;

ALTER TABLE pending_calls ADD COLUMN allowed TEXT;

ALTER TABLE runs ADD COLUMN retry_of TEXT;

ALTER TABLE runs ADD COLUMN stopped_by TEXT;
