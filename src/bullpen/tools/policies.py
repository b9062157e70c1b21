"""What may be done with a tool: allow, ask or deny, and for which arguments. Pure.

A policy comes from several places. The most specific one that says something counts, but a `deny` of any of them wins:
nobody further in can give more than somebody further out has refused. A call that touches several spaces is judged for
each of them, and the strictest decision counts. Conditions are data in a small closed
language, checked when they are set; there is no code in them and no pattern, so judging one cannot take long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from bullpen.errors import Invalid
from bullpen.tools import outside
from bullpen.tools.json_equality import equal_json
from bullpen.wire.nouns import Decision

MAX_BYTES: Final = 4096
MAX_DEPTH: Final = 8
MAX_NODES: Final = 64

_STRICTEST: Final[Sequence[Decision]] = ("deny", "ask", "allow")
_ABSENT: Final = object()
_ODD: Final = object()


# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check(when: Any) -> None:
    """Return, or raise Invalid with a sentence that says what to write instead."""
    try:
        size = len(orjson.dumps(when))
    except orjson.JSONEncodeError:
        raise _refused("has numbers that are too large") from None
    if size > MAX_BYTES:
        raise _refused(f"is larger than {MAX_BYTES} bytes")
    if _checked(when, 1) > MAX_NODES:
        raise _refused(f"has more than {MAX_NODES} parts")


def check_source(source: str) -> None:
    """A source as runs are marked with it. What is not kept one by one can be allowed by nobody."""
    if source == outside.MORE:
        raise Invalid(
            "`more` stands for sources that are not kept one by one, so no policy can name it. Name the others.",
            fields={"source": "names no source"},
        )
    if (plain := outside.plain(source)) != source:
        message = f"No text comes from {source[:100]!r}. Sources are written as in metadata.outside: {plain!r}?"
        raise Invalid(message, fields={"source": message})


def _checked(when: Any, depth: int) -> int:
    """How many parts it has."""
    if depth > MAX_DEPTH:
        raise _refused(f"nests deeper than {MAX_DEPTH} levels")
    if not isinstance(when, Mapping):
        raise _refused('must be an object, as in {"path": "amount", "op": "gt", "value": 100}')
    names = set(when)
    if names in ({"all"}, {"any"}):
        (parts,) = when.values()
        if not isinstance(parts, list) or not parts:
            raise _refused("needs a list of conditions after `all` and `any`, with at least one in it")
        return 1 + sum(_checked(part, depth + 1) for part in parts)
    if names == {"not"}:
        return 1 + _checked(when["not"], depth + 1)
    if names != {"path", "op", "value"}:
        raise _refused("has `path`, `op` and `value`, or one of `all`, `any` and `not`, and nothing else")
    _check_predicate(when["path"], when["op"], when["value"])
    return 1


def _check_predicate(path: Any, op: Any, value: Any) -> None:
    if not isinstance(path, str) or not path or not all(path.split(".")):
        raise _refused('needs a path with dots between its names, as in "payment.amount"')
    if not isinstance(op, str) or op not in _OPERATORS:
        raise _refused(f"does not know the op {str(op)[:40]!r}; there are: {', '.join(_OPERATORS)}")
    if op in _ORDERS and not (_is_number(value) or isinstance(value, str)):
        raise _refused(f"compares with a number or a text after `{op}`")
    if op == "in" and not isinstance(value, list):
        raise _refused("needs a list after `in`")
    if op in ("startsWith", "endsWith") and not (isinstance(value, str) and value):
        raise _refused(f"needs a text after `{op}`")


def _refused(problem: str) -> Invalid:
    return Invalid(f"The policy's condition {problem}.", fields={"when": problem})


def holds(when: Any, args: Any, absent: bool | None = None) -> bool | None:
    """Whether the condition holds for these arguments. None: it cannot be known, since something it asks about is of
    another type. `absent` is what counts for a predicate about something that is not there."""
    if "all" in when:
        return _all([holds(part, args, absent) for part in when["all"]])
    if "any" in when:
        found = _all([_not(holds(part, args, absent)) for part in when["any"]])
        return _not(found)
    if "not" in when:
        return _not(holds(when["not"], args, absent))
    given = _at(args, when["path"])
    if given is _ABSENT:
        return absent
    return None if given is _ODD else _OPERATORS[when["op"]](given, when["value"])


def _not(known: bool | None) -> bool | None:
    return None if known is None else not known


def _all(parts: Sequence[bool | None]) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def _at(args: Any, path: str) -> Any:
    """What is there; _ABSENT, or _ODD if the path leads into something that has no parts."""
    for name in path.split("."):
        if isinstance(args, Mapping) and name in args:
            args = args[name]
        elif isinstance(args, list) and len(name) < 10 and name.isdecimal() and int(name) < len(args):
            args = args[int(name)]
        else:
            return _ABSENT if isinstance(args, Mapping | list) else _ODD
    return args


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    def judge(given: Any, value: Any) -> bool | None:
        alike = (_is_number(given) and _is_number(value)) or (isinstance(given, str) and isinstance(value, str))
        return compare(given, value) if alike else None

    return judge


def _contains(given: Any, value: Any) -> bool | None:
    if isinstance(given, str) and isinstance(value, str):
        return value in given
    return any(equal_json(item, value) for item in given) if isinstance(given, list) else None


def _text(judge: Callable[[str, str], bool]) -> Callable[[Any, Any], bool | None]:
    return lambda given, value: judge(given, value) if isinstance(given, str) else None


_ORDERS: Final = ("gt", "gte", "lt", "lte")
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool | None]]] = {
    "eq": equal_json,
    "ne": lambda given, value: not equal_json(given, value),
    "gt": _order(operator.gt),
    "gte": _order(operator.ge),
    "lt": _order(operator.lt),
    "lte": _order(operator.le),
    "in": lambda given, value: any(equal_json(given, item) for item in value),
    "contains": _contains,
    "startsWith": _text(str.startswith),
    "endsWith": _text(str.endswith),
}
OPERATORS: Final = tuple(_OPERATORS)


# ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of `policies`, as far as it is about one agent and one tool."""

    decision: Decision
    space_id: str | None = None  # only in this space: more specific than one for everywhere
    when: Any = None
    source: str | None = None  # only for what text from there may cause

    @property
    def in_space(self) -> bool:
        return self.space_id is not None

    def applies(self, args: Any) -> bool:
        if self.when is None:
            return True
        # Whoever allows something under a condition has not allowed what the condition cannot be judged for; whoever
        # refuses something has refused that as well. What is not there at all is nothing to refuse.
        if self.decision == "allow":
            return holds(self.when, args) is True
        return holds(self.when, args, absent=False) is not False


def decide_for_all(
    spaces: Sequence[str], rules: Sequence[Rule], args: Any, *, of_agent: Decision | None, of_tool: Decision | None
) -> Decision:
    """What counts for a call that touches all of these spaces; none at all if they are empty.

    Rules with a source are not among those that are looked at here: see `about_sources`.
    """
    judged: Sequence[str | None] = spaces or [None]
    rules = [rule for rule in rules if rule.source is None]
    decisions = [
        decide([rule for rule in rules if rule.space_id in (None, space)], args, of_agent=of_agent, of_tool=of_tool)
        for space in judged
    ]
    return strictest(decisions)


def about_sources(spaces: Sequence[str], rules: Sequence[Rule], args: Any, sources: Collection[str]) -> Decision | None:
    """What the rules with a source say of a call whose run was shown text from all of these.

    `allow`: every source is allowed, in every space that the call touches. None: they leave it to the other rules. An
    `ask` or a `deny` for one source is enough. Nothing here allows what those others refuse or ask about.
    """
    judged: Sequence[str | None] = spaces or [None]
    known = [rule for rule in rules if rule.source in sources and rule.space_id in (None, *judged)]
    found = [rule for rule in known if rule.applies(args)]
    if strict := [rule.decision for rule in found if rule.decision != "allow"]:
        return strictest(strict)

    def is_allowed(source: str, space: str | None) -> bool:
        return any(rule.source == source and rule.space_id in (None, space) for rule in found)

    covered = sources and all(is_allowed(source, space) for source in sources for space in judged)
    return "allow" if covered else None


def strictest(decisions: Sequence[Decision]) -> Decision:
    return min(decisions, key=_STRICTEST.index)


def decide(rules: Sequence[Rule], args: Any, *, of_agent: Decision | None, of_tool: Decision | None) -> Decision:
    """What counts: the rules for the agent in this space, those for the agent, what its definition says, what the
    tool's says; else it is allowed. A `deny` of any of them wins."""
    applying = [rule for rule in rules if rule.applies(args)]
    levels = [
        _of_level([rule for rule in applying if rule.in_space]),
        _of_level([rule for rule in applying if not rule.in_space]),
        of_agent,
        of_tool,
    ]
    if "deny" in levels or any(rule.decision == "deny" for rule in applying):
        return "deny"
    return next((decision for decision in levels if decision is not None), "allow")


def _of_level(rules: Sequence[Rule]) -> Decision | None:
    """A rule with a condition is more specific than one without; of several, the strictest counts."""
    said = {rule.decision for rule in rules if rule.when is not None} or {rule.decision for rule in rules}
    return next((decision for decision in _STRICTEST if decision in said), None)
