CREATE TABLE passage_copies (
    passage_id TEXT COLLATE "C" NOT NULL,
    container TEXT COLLATE "C" NOT NULL,
    wanted TEXT COLLATE "C" NOT NULL,
    attempts BIGINT DEFAULT 0 NOT NULL,
    due_at BIGINT,
    error TEXT COLLATE "C",
    PRIMARY KEY (passage_id)
);

CREATE INDEX passage_copies_due ON passage_copies (container, due_at) WHERE due_at IS NOT NULL;
