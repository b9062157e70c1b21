ALTER TABLE runs ADD COLUMN outside TEXT;

ALTER TABLE run_messages ADD COLUMN outside TEXT;

ALTER TABLE pending_calls ADD COLUMN outside TEXT;

ALTER TABLE runs ADD COLUMN paused_reason TEXT;

ALTER TABLE run_messages ADD COLUMN usage TEXT;

CREATE TABLE budgets (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    period TEXT NOT NULL,
    unit TEXT NOT NULL,
    origin TEXT NOT NULL,
    amount BIGINT NOT NULL,
    since TEXT NOT NULL,
    extra BIGINT DEFAULT 0 NOT NULL,
    warned_at TEXT,
    reached_at TEXT,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT budgets_key UNIQUE (kind, subject_id, period, unit, origin)
);

CREATE TABLE spending (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    steps BIGINT DEFAULT 0 NOT NULL,
    runs BIGINT DEFAULT 0 NOT NULL,
    input_tokens BIGINT DEFAULT 0 NOT NULL,
    output_tokens BIGINT DEFAULT 0 NOT NULL,
    cached_tokens BIGINT DEFAULT 0 NOT NULL,
    written_tokens BIGINT DEFAULT 0 NOT NULL,
    unpriced BIGINT DEFAULT 0 NOT NULL,
    nanodollars BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (kind, id, day, model)
);

CREATE INDEX spending_day ON spending (kind, day);

CREATE TABLE holds (
    thread_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    budget_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    until BIGINT NOT NULL,
    reason TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (thread_id)
);

CREATE INDEX holds_agent ON holds (agent_id);

CREATE INDEX holds_budget ON holds (budget_id);

INSERT INTO budgets (id, kind, subject_id, period, unit, origin, amount, since, created_by, created_at, updated_at)
SELECT 'lim_' || id || '_usd', 'agent', id, 'day', 'USD', 'limits', CAST(round(min(json_extract(definition, '$.limits.max_cost_per_day'), 1000000000) * 1000000000) AS BIGINT), '', 'system',
    created_at, updated_at
FROM agents
WHERE deleted_at IS NULL AND json_extract(definition, '$.limits.max_cost_per_day') IS NOT NULL;

INSERT INTO spending (kind, id, day, model, steps, runs, input_tokens, output_tokens, cached_tokens, nanodollars)
SELECT 'agent', agent_id, substr(started_at, 1, 10), '', sum(step), count(*), sum(input_tokens), sum(output_tokens),
    sum(cached_tokens), CAST(round(sum(cost) * 1000000000) AS BIGINT)
FROM runs
WHERE step > 0
GROUP BY agent_id, substr(started_at, 1, 10);

INSERT INTO spending (kind, id, day, model, steps, runs, input_tokens, output_tokens, cached_tokens, nanodollars)
SELECT 'space', COALESCE(space_id, ''), substr(started_at, 1, 10), '', sum(step), count(*), sum(input_tokens), sum(output_tokens),
    sum(cached_tokens), CAST(round(sum(cost) * 1000000000) AS BIGINT)
FROM runs
WHERE step > 0
GROUP BY COALESCE(space_id, ''), substr(started_at, 1, 10);

INSERT INTO spending (kind, id, day, model, steps, runs, input_tokens, output_tokens, cached_tokens, nanodollars)
SELECT 'person', CASE WHEN cause_kind = 'person' THEN cause_id ELSE '' END, substr(started_at, 1, 10), '', sum(step), count(*), sum(input_tokens), sum(output_tokens),
    sum(cached_tokens), CAST(round(sum(cost) * 1000000000) AS BIGINT)
FROM runs
WHERE step > 0
GROUP BY CASE WHEN cause_kind = 'person' THEN cause_id ELSE '' END, substr(started_at, 1, 10);

ALTER TABLE runs ADD COLUMN retry_at BIGINT;

ALTER TABLE runs ADD COLUMN retries BIGINT DEFAULT 0 NOT NULL;

CREATE INDEX runs_retry ON runs (retry_at) WHERE retry_at IS NOT NULL;

ALTER TABLE agents ADD COLUMN interrupts BIGINT DEFAULT 0 NOT NULL;
