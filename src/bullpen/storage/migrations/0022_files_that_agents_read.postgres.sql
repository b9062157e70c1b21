ALTER TABLE files ADD COLUMN outside TEXT COLLATE "C";
ALTER TABLE run_messages ADD COLUMN shows TEXT COLLATE "C";
CREATE TABLE folder_sources (
    folder_id TEXT COLLATE "C" NOT NULL,
    path_hash TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    outside TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (folder_id, path_hash)
);
