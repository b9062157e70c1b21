"""A run that has just begun. Tests replace the fields they need."""

from __future__ import annotations

from bullpen.runs.types import Run

RUN = Run(
    id="run_1",
    thread_id="thr_1",
    agent_id="ada",
    space_id="general",
    status="thinking",
    outcome=None,
    stop_reason=None,
    silence_reason=None,
    error=None,
    cause_kind="person",
    cause_id="psn_1",
    grants="",
    trigger={},
    payload={},
    chain_id="chn_1",
    depth=0,
    addressed=True,
    corrected=False,
    cancel_requested=False,
    ordinal=1,
    step=0,
    position=0,
    message_ids=(),
    acts=frozenset(),
    active_ms=0,
    window_seq=0,
    prompt_hash=None,
    summary=None,
    input_tokens=0,
    output_tokens=0,
    cached_tokens=0,
    cost=0.0,
    started_at="2026-11-15T10:00:00.000000Z",
    finished_at=None,
)
