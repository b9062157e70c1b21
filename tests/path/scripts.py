"""Short words for scripts: a step is a list of calls, and most steps are one."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SILENT: list[Json] = [{"calls": [{"tool": "do_nothing", "args": {}}]}]


def call(tool: str, **args: Any) -> Json:
    return {"tool": tool, "args": args}


def raw(tool: str, arguments: str) -> Json:
    """A call whose arguments go out as they stand, JSON or not."""
    return {"tool": tool, "args": arguments}


def step(*calls: Json, text: str = "") -> Json:
    return {"text": text, "calls": list(calls)}


def say(text: str, **more: Any) -> Json:
    """A step that sends one message."""
    return step(call("send_message", text=text, **more))


def turn(when: str, *steps: Json) -> Json:
    return {"when": when, "steps": list(steps)}
