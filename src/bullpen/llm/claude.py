"""What each family of Claude takes and wants, by its name. Pure.

How a model is told to think, whether it thinks unasked and what its thoughts are bound to has changed from family to
family, and a request that says it in the words of another is refused. A test holds this against what a library knows.
"""

from __future__ import annotations

import re
from typing import Any, Final

# They think for as many tokens as they are given, and only if they are asked to.
_OLD: Final = re.compile(r"claude-(?:[1-4](?!\d)|instant|(?:opus|sonnet|haiku)-4(?!-[678]))")
# They may decide how much they think, or be given tokens.
_BETWEEN: Final = re.compile(r"claude-(?:opus|sonnet)-4-6")
# They think only if they are asked to.
_UNASKED_QUIET: Final = re.compile(r"claude-(?:opus|sonnet)-4-[678]")
_CAN_BE_OFF: Final = re.compile(r"claude-(?:(?:opus|sonnet)-5(?!-5)|haiku-5-5)")
_OFF_BETWEEN_TOOLS: Final = re.compile(r"claude-sonnet-5-5")
_BINDS: Final = re.compile(r"claude-(?:fable-5-1|(?:opus|sonnet|haiku)-5-5)")


def takes_budget(name: str) -> bool:
    """May it be told for how many tokens to think? Such a model takes a temperature as well."""
    return not is_claude(name) or bool(_OLD.search(name) or _BETWEEN.search(name))


def decides(name: str) -> bool:
    """May it be left to it how much it thinks?"""
    return not _OLD.search(name)


def thinks_unasked(name: str) -> bool:
    return not _OLD.search(name) and not _UNASKED_QUIET.search(name)


def off(name: str) -> dict[str, Any] | None:
    """How it is told not to think. None: there is nothing to say, since it does not or since it cannot be told."""
    if _OFF_BETWEEN_TOOLS.search(name):
        return {"type": "between_tools"}
    return {"type": "disabled"} if _CAN_BE_OFF.search(name) else None


def binds(name: str) -> bool:
    """Does it refuse a thought of its own behind words that are not those it was thought behind?"""
    return bool(_BINDS.search(name))


def is_claude(name: str) -> bool:
    return "claude-" in name
