ALTER TABLE files ADD COLUMN outside TEXT;
ALTER TABLE run_messages ADD COLUMN shows TEXT;
CREATE TABLE folder_sources (
    folder_id TEXT NOT NULL,
    path_hash TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    outside TEXT NOT NULL,
    PRIMARY KEY (folder_id, path_hash)
);
