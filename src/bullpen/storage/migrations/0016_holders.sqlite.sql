CREATE TABLE holders (
    name TEXT NOT NULL,
    owner TEXT,
    token BIGINT DEFAULT 0 NOT NULL,
    until BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (name)
);
