"""bullpen run ID: one run, what each of its steps took and cost, and its journal, as a story that can be read."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections.abc import Callable, Mapping

from bullpen.cli import door, prompt, show
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire import Run, RunMessage
from bullpen.wire.nouns import Span, Trace

INDENT = " " * 6


def run(args: Namespace) -> int:
    if args.step is not None:
        return prompt.run_step(args)
    found, journal, trace = asyncio.run(_fetch(args))
    if args.json:
        messages = [entry.model_dump(by_alias=True, mode="json") for entry in journal]
        spans = [span.model_dump(by_alias=True, mode="json") for span in trace.spans]
        print(show.as_json({"run": found.model_dump(by_alias=True, mode="json"), "messages": messages, "spans": spans}))
    else:
        print("\n".join([_heading(found), *_details(found), "", *_tree(trace), "", *map(_entry, journal)]))
    return 0


async def _fetch(args: Namespace) -> tuple[Run, list[RunMessage], Trace]:
    async with door.to_server(load_settings(data=args.data)) as bp:
        return await bp.runs.get(args.id), await _journal(bp, args.id), await bp.runs.trace(args.id)


async def _journal(bp: Bullpen, id: str) -> list[RunMessage]:
    journal: list[RunMessage] = []
    cursor: str | None = None
    while True:
        page = await bp.runs.messages(id, limit=200, cursor=cursor)
        journal.extend(page)
        if page.next is None:
            return journal
        cursor = page.next


def _heading(run: Run) -> str:
    where = f" in {run.space_id}" if run.space_id else ""
    outcome = f", {run.outcome}" if run.outcome else ""
    status = "paused" if run.paused_reason else run.status
    return show.one_line(f"{run.id}  {run.agent_id}{where}  {status}{outcome}", 200)


def _details(run: Run) -> list[str]:
    details = {
        "woken by": _woken_by(run),
        "started": f"{show.date(run.started_at)}, took {show.seconds(run.started_at, run.finished_at)}",
        "stopped": run.stop_reason,
        "silent": run.silence_reason,
        "error": run.error,
        "retry": None if run.retry_at is None else f"its model is asked again at {show.date(run.retry_at)}",
        "paused": run.paused_reason,
        "tokens": f"{run.usage.input_tokens} in, {run.usage.cached_tokens} of them cached, "
        f"{run.usage.output_tokens} out",
        "cost": show.dollars(run.usage.cost),
    }
    return [f"  {name:<9} {show.one_line(text, 200)}" for name, text in details.items() if text]


def _woken_by(run: Run) -> str:
    trigger = run.trigger
    words = [trigger.kind, trigger.message_id or "", f"from {trigger.author_id}" if trigger.author_id else ""]
    more = f", and {trigger.items - 1} more" if trigger.items > 1 else ""
    return " ".join(filter(None, words)) + f"{more}, depth {run.depth}"


def _tree(trace: Trace) -> list[str]:
    """Steps and, below each, its calls: how long each took, and what the answer was paid for."""
    steps = [span for span in trace.spans if span.name == "chat"]
    lines = []
    for step in steps:
        last = step is steps[-1]
        calls = [span for span in trace.spans if span.parent_id == step.span_id]
        lines.append(f"  {'└─' if last else '├─'} {_step(step)}")
        lines += [f"  {' ' if last else '│'}  {'└─' if call is calls[-1] else '├─'} {_tool(call)}" for call in calls]
    return lines


def _step(span: Span) -> str:
    about = span.attributes
    words = [f"step {about['bullpen.step']}", show.seconds(span.started_at, span.finished_at)]
    if "gen_ai.response.model" in about:
        cached = about["gen_ai.usage.cache_read.input_tokens"]
        taken = f"{about['gen_ai.usage.input_tokens']} in{f' ({cached} cached)' if cached else ''}"
        tokens = f"{taken}, {about['gen_ai.usage.output_tokens']} out"
        cost = show.dollars(about["bullpen.cost"]) if about["bullpen.priced"] else "no price"
        model = f"{about['gen_ai.response.model']} {about['bullpen.model_ms'] / 1000:.1f} s"
        words += [model, tokens, cost]
        if about["bullpen.tries"] > 1:
            words.append(f"asked {about['bullpen.tries']} times")
        if about["bullpen.fallback"]:
            words.append(f"instead of {about['gen_ai.request.model']}")
    return show.one_line(", ".join(words), 200)


def _tool(span: Span) -> str:
    failed = ", failed" if span.attributes.get("error") else ""
    name = span.attributes.get("gen_ai.tool.name", "")
    return show.one_line(f"{name}, {show.seconds(span.started_at, span.finished_at)}{failed}", 200)


def _entry(entry: RunMessage) -> str:
    return f"{entry.step:>3}   {show.plain(ENTRIES[entry.type](entry), indent=INDENT)}"


def _call(entry: RunMessage) -> str:
    return f"calls {entry.tool_name} {_written(entry.args)}"


def _return(entry: RunMessage) -> str:
    return f"{'failed' if entry.is_error else 'gets'}  {_written(entry.result)}"


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


ENTRIES: Mapping[str, Callable[[RunMessage], str]] = {
    "user_message": lambda entry: f"reads {entry.content or ''}",
    "assistant_message": lambda entry: f"thinks {entry.content}" if entry.content else "thinks in silence",
    "tool_call_message": _call,
    "tool_return_message": _return,
}
