"""Gateway tools: one HTTP request to the URL that the definition names, through the one way out.

Arguments fill the `{places}` of the URL, percent-encoded, each in its place; the others go into the query of a GET,
HEAD or DELETE, and as a JSON body with everything else. Every request carries the call's id as its `Idempotency-Key`.
Only what may be repeated is tried again: by its method, or because its definition says so. An answer over 2xx is the
result; any other is an error the agent reads.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from bullpen.errors import EgressDenied, EgressError, Invalid, ToolFailed
from bullpen.net.types import Limits
from bullpen.observe.redact import here
from bullpen.tools.quotes import Carries
from bullpen.tools.types import Effect, ToolContext
from bullpen.variables.rules import references
from bullpen.wire.nouns import ToolConfig

if TYPE_CHECKING:
    from bullpen.net.response import Answer

MAX_ANSWER = 1_048_576
MAX_SHOWN = 65_536  # of an answer that is text
MAX_ERROR = 2_000
TRIES = 3
IN_QUERY = frozenset({"GET", "HEAD", "DELETE"})
EFFECTS: Mapping[str, Effect] = {"GET": "pure", "HEAD": "pure", "PUT": "idempotent", "DELETE": "idempotent"}
BUSY = frozenset({429, 502, 503, 504})
_PLACE = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
_URL = re.compile(r"https?://[^/?#{}\s@\\]+(?:[/?].*)?")
_SERVER = re.compile(r"https?://[^/?]+")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "idempotency-key"})


def check(config: ToolConfig) -> None:
    """What can be said before anybody calls it; where its URL leads is judged then."""
    assert config.execution is not None
    url, headers = config.execution.url, config.execution.headers
    if not _URL.fullmatch(url):
        raise _refused("execution.url", "must begin with http:// or https:// and a host that is written out")
    known = config.input_schema.get("properties", {})
    for name in _PLACE.findall(url):
        if name not in known:
            raise _refused("execution.url", f"has a place {{{name}}}, which is no argument of the tool")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or any(ord(letter) < 32 for letter in value):
            raise _refused("execution.headers", f"{name[:60]!r} cannot be a header, or holds a line's end")
        if name.lower() in _OURS:
            raise _refused("execution.headers", f"{name} is set by Bullpen; leave it out")


def _refused(field: str, problem: str) -> Invalid:
    return Invalid(f"The tool's {field} {problem}.", fields={field: problem})


def sent_to(config: ToolConfig) -> dict[str, str]:
    """The server that the values of its variables are sent to: one that is written out, as `check` makes sure."""
    assert config.execution is not None
    found = _SERVER.match(config.execution.url)
    return {} if found is None else dict.fromkeys(references(config.execution.model_dump()), found[0])


def carries(config: ToolConfig) -> Carries:
    """What HTTP calls safe only reads, so arguments that others wrote tell nobody anything."""
    assert config.execution is not None
    return "read" if EFFECTS.get(config.execution.method.upper()) == "pure" else None


def make_function(config: ToolConfig) -> tuple[Any, Effect]:
    execution = config.execution
    assert execution is not None
    method = execution.method.upper()
    effect = config.effect or EFFECTS.get(method, "once")
    filled = frozenset(_PLACE.findall(execution.url))

    async def ask(context: ToolContext, /, **args: Any) -> Any:
        rest = {name: value for name, value in args.items() if name not in filled}
        url, body = _written(execution.url, method, rest)
        headers = {"Idempotency-Key": context.call_id, "Accept": "application/json, */*;q=0.5", **execution.headers}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        places = {name: _text(args[name]) for name in filled if name in args}
        return _result(await _asked(context, method, url, headers, places, body, again=effect != "once"))

    return ask, effect


def _written(url: str, method: str, rest: Mapping[str, Any]) -> tuple[str, bytes | None]:
    if method not in IN_QUERY:
        return url, orjson.dumps(rest)
    if not rest:
        return url, None
    # A brace of the model's is no place of the template: quote() writes it as %7B.
    pairs = "&".join(f"{quote(name, safe='')}={quote(_text(value), safe='')}" for name, value in rest.items())
    return f"{url}{'&' if '?' in url else '?'}{pairs}", None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


async def _asked(
    context: ToolContext,
    method: str,
    url: str,
    headers: Mapping[str, str],
    places: Mapping[str, str],
    body: bytes | None,
    *,
    again: bool,
) -> Answer:
    limits = Limits(total=None, body_bytes=MAX_ANSWER)  # the call as a whole is bounded by the tool's timeout
    for left in reversed(range(TRIES)):
        try:
            answer = await context.outside.request(
                method, url, headers=headers, places=places, body=body, limits=limits
            )
            if answer.status not in BUSY or not again or not left:
                return answer
        except EgressDenied:
            raise
        except EgressError as error:
            # What nobody has seen may be sent again, whatever it is.
            if not left or (not again and error.sent):
                raise
        await asyncio.sleep(random.uniform(0.1, 0.3) * 2 ** (TRIES - left - 1))
    raise AssertionError("unreachable")


def _result(answer: Answer) -> Any:
    found = _read(answer)
    if 200 <= answer.status < 300:
        return found
    shown = found if isinstance(found, str) else orjson.dumps(found).decode()
    # Before it is cut: half of a secret looks like nothing.
    raise ToolFailed(f"The tool's server answered with status {answer.status}: {here().clean(shown)[:MAX_ERROR]}")


def _read(answer: Answer) -> Any:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.endswith("json") and answer.body:
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            pass
    text = answer.body.decode("utf-8", "replace").replace("\x00", "\ufffd")
    text = here().clean(text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text) - MAX_SHOWN} more characters)"
