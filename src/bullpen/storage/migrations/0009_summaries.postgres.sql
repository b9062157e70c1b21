CREATE INDEX runs_summary ON runs (thread_id, ordinal) WHERE summary IS NOT NULL;

CREATE INDEX runs_summary_window ON runs (thread_id, window_seq, ordinal) WHERE summary IS NOT NULL;
