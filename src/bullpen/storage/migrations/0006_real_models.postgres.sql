ALTER TABLE runs ADD COLUMN outside TEXT COLLATE "C";

ALTER TABLE run_messages ADD COLUMN outside TEXT COLLATE "C";

ALTER TABLE pending_calls ADD COLUMN outside TEXT COLLATE "C";

ALTER TABLE runs ADD COLUMN paused_reason TEXT COLLATE "C";

ALTER TABLE run_messages ADD COLUMN usage TEXT COLLATE "C";

CREATE TABLE budgets (
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    subject_id TEXT COLLATE "C" NOT NULL,
    period TEXT COLLATE "C" NOT NULL,
    unit TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL,
    since TEXT COLLATE "C" NOT NULL,
    extra BIGINT DEFAULT 0 NOT NULL,
    warned_at TEXT COLLATE "C",
    reached_at TEXT COLLATE "C",
    created_by TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT budgets_key UNIQUE (kind, subject_id, period, unit, origin)
);

CREATE TABLE spending (
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    day TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
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
    thread_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    budget_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    subject_id TEXT COLLATE "C" NOT NULL,
    until BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id)
);

CREATE INDEX holds_agent ON holds (agent_id);

CREATE INDEX holds_budget ON holds (budget_id);

INSERT INTO budgets (id, kind, subject_id, period, unit, origin, amount, since, created_by, created_at, updated_at)
SELECT 'lim_' || id || '_usd', 'agent', id, 'day', 'USD', 'limits', CAST(round(least(CAST(CAST(definition AS JSON) -> 'limits' ->> 'max_cost_per_day' AS DOUBLE PRECISION), 1000000000) * 1000000000) AS BIGINT), '', 'system',
    created_at, updated_at
FROM agents
WHERE deleted_at IS NULL AND CAST(CAST(definition AS JSON) -> 'limits' ->> 'max_cost_per_day' AS DOUBLE PRECISION) IS NOT NULL;

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
