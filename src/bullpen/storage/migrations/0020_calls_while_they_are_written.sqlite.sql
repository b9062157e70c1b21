ALTER TABLE runs ADD COLUMN streamed TEXT;
ALTER TABLE run_messages ADD COLUMN streamed TEXT;
