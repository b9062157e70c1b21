"""Every figure that this process keeps, in one place: what may be counted, under which labels.

Whoever does a thing counts it here. Counts of changes are made after the commit, so that what is counted did happen.
What is looked up at the moment of asking (queue, files, memory) is not kept: see api/health.py.
"""

from __future__ import annotations

from bullpen.observe.metrics import Counter, Histogram

LONG_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

REQUESTS = Counter(
    "bullpen_http_requests_total",
    "Requests answered, by route template and class of status.",
    "method",
    "route",
    "status",
)
REQUEST_SECONDS = Histogram(
    "bullpen_http_request_seconds", "From a request's first byte to the headers of its answer.", "route"
)
TRANSACTION_SECONDS = Histogram(
    "bullpen_transaction_seconds", "From asking for a transaction to its durable commit, waiting and retries included."
)
RETRIES = Counter("bullpen_transaction_retries_total", "Bodies run again because the database asked for it.")
RUNS = Counter("bullpen_runs_total", "Runs finished, by outcome and stop reason.", "outcome", "reason")
RUN_SECONDS = Histogram(
    "bullpen_run_active_seconds", "How long runs were active: models and tools, without waiting.", buckets=LONG_SECONDS
)
STEPS = Counter("bullpen_steps_total", "Steps of runs kept: one model answer each.")
TOOL_CALLS = Counter("bullpen_tool_calls_total", "Tool calls settled, by tool and ending.", "tool", "ending")
MODEL_CALLS = Counter("bullpen_model_calls_total", "Requests to models, by provider and ending.", "provider", "ending")
MODEL_SECONDS = Histogram("bullpen_model_seconds", "How long models took to answer.", "provider", buckets=LONG_SECONDS)
TOKENS = Counter("bullpen_model_tokens_total", "Tokens that models counted; cached ones are input, too.", "direction")
EVENTS = Counter("bullpen_events_delivered_total", "Events handed to followers, counted once for each follower.")
DROPPED = Counter("bullpen_followers_dropped_total", "Followers dropped because they did not read.")
FENCED = Counter("bullpen_fenced_total", "Drives that ended because another worker had taken the thread.")
DELIVERIES = Counter("bullpen_webhook_attempts_total", "Attempts to tell a webhook something, by ending.", "ending")
OUTBOX = Counter("bullpen_outbox_total", "Attempts to send to a chat elsewhere, by ending.", "bridge", "ending")
FIRINGS = Counter("bullpen_task_firings_total", "Times at which tasks were due, by what became of them.", "status")
FIRING_LAG = Histogram("bullpen_task_lag_seconds", "From the time at which a task was due to its firing.")
EMBEDDED = Counter(
    "bullpen_embeddings_total", "Texts and questions that a model turned into vectors, by ending.", "what", "ending"
)
LOOP_LAG = Histogram("bullpen_loop_lag_seconds", "How late the event loop woke somebody who asked for a time.")

COUNTED: tuple[Counter | Histogram, ...] = (
    REQUESTS,
    REQUEST_SECONDS,
    TRANSACTION_SECONDS,
    RETRIES,
    RUNS,
    RUN_SECONDS,
    STEPS,
    TOOL_CALLS,
    MODEL_CALLS,
    MODEL_SECONDS,
    TOKENS,
    EVENTS,
    DROPPED,
    FENCED,
    DELIVERIES,
    OUTBOX,
    FIRINGS,
    FIRING_LAG,
    EMBEDDED,
    LOOP_LAG,
)
