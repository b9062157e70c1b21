CREATE TABLE passage_copies (
    passage_id TEXT NOT NULL,
    container TEXT NOT NULL,
    wanted TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    error TEXT,
    PRIMARY KEY (passage_id)
);

CREATE INDEX passage_copies_due ON passage_copies (container, due_at) WHERE due_at IS NOT NULL;
