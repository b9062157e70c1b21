"""Patterns that others write: refused if they could take long, and matched by an engine that is linear.

Python's own engine backtracks, and a match under way cannot be stopped. So it only reads such patterns here, to see how
large they are and what they repeat; what matches them is the engine of pydantic's core, which takes time in proportion
to the text. It knows no look-around and no back-references. `tests/architecture/test_patterns.py` keeps it so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

# How the standard library reads a pattern. It is not typed, and has no public name.
_parser: Final[Any] = import_module("re._parser")
_constants: Final[Any] = import_module("re._constants")

MANY: Final = 10  # a repeat that often may as well be without bound, for what is inside
WIDE: Final = 10  # a class that reaches beyond ASCII takes about as much as ten letters
ENDLESS: Final = 1 << 40

_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class BadPattern(ValueError):
    """The message is a predicate: what is wrong with the pattern."""


def compile_linear(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found somewhere in a text."""
    try:
        found = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        reason = str(error).strip().splitlines()[-1].strip().removeprefix("error: ")
        raise BadPattern(f"is not a regular expression that can be searched for in linear time: {reason}") from None
    return found.isinstance_python


def measure(pattern: str) -> int:
    """How much it takes to compile it, in letters. Raises BadPattern if it cannot be read."""
    try:
        return min(_letters(_parser.parse(pattern)), ENDLESS)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"is not a regular expression: {error}") from None


def _letters(parsed: Any) -> int:
    total = 0
    for operator, argument in parsed:
        name = str(operator)
        if name in _REPEATS:
            least, most, repeated = argument
            times = max(least, 1) if most == _constants.MAXREPEAT else most
            total += times * _letters(repeated)
        else:
            total += (WIDE if _is_wide(name, argument) else 1) + sum(_letters(part) for part in _parts(name, argument))
    return total


def _is_wide(name: str, argument: Any) -> bool:
    if name == "IN":
        return any(str(operator) in ("NEGATE", "CATEGORY") for operator, _ in argument)
    return name in ("ANY", "NOT_LITERAL")


def is_explosive(pattern: str) -> bool:
    """Does it repeat, often, something that itself repeats without bound? Unreadable counts as yes.

    Alternatives that begin alike, as in (a|aa)*, are not seen: that is no simple question, and our engine is linear.
    """
    try:
        return _nests(_parser.parse(pattern), inside=False)
    except (re.error, RecursionError, OverflowError):
        return True


def _nests(parsed: Any, *, inside: bool) -> bool:
    for operator, argument in parsed:
        name = str(operator)
        if name in _REPEATS:
            _, most, repeated = argument
            unbounded = most == _constants.MAXREPEAT
            if (unbounded and inside) or _nests(repeated, inside=inside or most >= MANY):
                return True
        elif any(_nests(part, inside=inside) for part in _parts(name, argument)):
            return True
    return False


def _parts(name: str, argument: Any) -> list[Any]:
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    return []
