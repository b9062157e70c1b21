ALTER TABLE files ADD COLUMN client_file_id TEXT COLLATE "C";

CREATE UNIQUE INDEX files_client_file_id ON files (owner_id, client_file_id) WHERE client_file_id IS NOT NULL;
