"""Ids: a prefix that names the noun, then 26 characters that sort by creation.

The 26 characters are a version-7 style value (48 bits of milliseconds, 16 bits that count up within one, 64 random
bits) in base32hex, whose alphabet keeps byte order. Within a process ids strictly rise, also when the clock is put
back; a server that starts goes on above the newest ids it finds (`rise_above`). Across processes they rise to the
millisecond. Also owns the rule for ids that callers choose.
"""

from __future__ import annotations

import os
import re
import threading
from base64 import b32hexdecode
from time import time_ns
from typing import Final, NamedTuple

CHOSEN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
OF_TASK = "@"  # in the id of a chain: what follows is the task that began it
FARTHEST_MS: Final = 100 * 366 * 86_400_000  # no id from further ahead is believed: numbers end, and ids must not


class Whose(NamedTuple):
    """Something belongs to a member, to a space, or to neither of both. People and agents share their ids; a space may
    have the id of one of them. So whoever looks for what is theirs says which is meant. '' is nobody's id."""

    member: str = ""
    space: str = ""


class _Rising:
    """Numbers that strictly rise: milliseconds, and within one a count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def take(self) -> int:
        with self._lock:
            self._last = max((time_ns() // 1_000_000) << 16, self._last + 1)
            return self._last

    def skip(self, number: int) -> None:
        with self._lock:
            if number < (time_ns() // 1_000_000 + FARTHEST_MS) << 16:
                self._last = max(self._last, number)


_rising = _Rising()


_SIGNS: Final = "0123456789abcdefghijklmnopqrstuv"
_PAIRS: Final = [first + second for first in _SIGNS for second in _SIGNS]


def _stem() -> str:
    return _written(_rising.take(), os.urandom(8))


def _written(number: int, random: bytes) -> str:
    """26 characters, two at a time: the base64 module takes six times as long, and a run makes dozens of ids."""
    bits = (number << 64 | int.from_bytes(random, "big")) << 2
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


def rise_above(id: str) -> None:
    """Let ids go on after this one, which may have been made while the clock was ahead."""
    stem = id.rpartition("_")[2]
    try:
        number = int.from_bytes(b32hexdecode(f"{stem.upper()}======")[:8], "big") if len(stem) == 26 else 0
    except ValueError:
        return
    _rising.skip(number)


def message() -> str:
    return "msg_" + _stem()


def message_for(call_id: str) -> str:
    """The message a tool call makes: the same call names the same message, however often it is tried."""
    return "msg_" + call_id.removeprefix("call_")


def run() -> str:
    return "run_" + _stem()


def runs_since(millis: int) -> str:
    """Sorts before every run made from then on, and after those made earlier: time as a place in an index of ids."""
    return "run_" + _written(millis << 16, bytes(8))


def run_message() -> str:
    return "rmg_" + _stem()


def call() -> str:
    return "call_" + _stem()


def space() -> str:
    return "spc_" + _stem()


def agent() -> str:
    return "agt_" + _stem()


def person() -> str:
    return "psn_" + _stem()


def thread() -> str:
    return "thr_" + _stem()


def thread_for(message_id: str) -> str:
    """The thread of a skill that a message starts: the same message names the same thread."""
    return "thr_" + message_id.removeprefix("msg_")


def inbox_item() -> str:
    return "itm_" + _stem()


def item_for(run_id: str) -> str:
    """The first item of a run that was promised before it begins: whoever knows the run finds it."""
    return "itm_" + run_id.removeprefix("run_")


def passage() -> str:
    return "psg_" + _stem()


def token() -> str:
    return "tok_" + _stem()


def session() -> str:
    return "ses_" + _stem()


def invite() -> str:
    return "inv_" + _stem()


def file() -> str:
    return "fil_" + _stem()


def passage_for(call_id: str) -> str:
    """The passage a tool call makes: what was sent elsewhere before a crash has its id already."""
    return "psg_" + call_id.removeprefix("call_")


def file_for(call_id: str) -> str:
    """The file a tool call makes: tried again after a crash, it keeps its bytes in the same place."""
    return "fil_" + call_id.removeprefix("call_")


def policy() -> str:
    return "pol_" + _stem()


def budget() -> str:
    return "bud_" + _stem()


def hook() -> str:
    return "hok_" + _stem()


def connection() -> str:
    return "con_" + _stem()


def webhook() -> str:
    return "whk_" + _stem()


def delivery() -> str:
    return "dlv_" + _stem()


def task() -> str:
    return "tsk_" + _stem()


def task_for(call_id: str) -> str:
    """The task a tool call makes: the same call names the same task, however often it is tried."""
    return "tsk_" + call_id.removeprefix("call_")


def goal() -> str:
    return "gol_" + _stem()


def plan() -> str:
    return "pln_" + _stem()


def skill() -> str:
    return "skl_" + _stem()


def chain(task_id: str = "") -> str:
    """The id of a chain. One that a task begins names it, so that all that comes of it can be counted for the task."""
    return f"chn_{_stem()}{OF_TASK}{task_id}" if task_id else "chn_" + _stem()


def task_of(chain_id: str) -> str:
    """The task that began this chain; '': none did."""
    return chain_id.partition(OF_TASK)[2]


def dm(first: str, second: str) -> str:
    """The id of the DM of two members, in either order; two hyphens join them when an id holds one itself."""
    a, b = sorted((first, second))
    joint = "--" if "-" in a or "-" in b else "-"
    return f"dm-{a}{joint}{b}"


def canonical_space(id: str) -> str:
    """A space's id as it is stored: a DM is understood with its two members in either order."""
    if not id.startswith("dm-"):
        return id
    rest = id.removeprefix("dm-")
    # An id may end with a hyphen but not begin with one: of three in a row, the last two join.
    pair = re.split(r"--(?!-)", rest) if "--" in rest else rest.split("-")
    return dm(*pair) if len(pair) == 2 and all(pair) else id


def choosable(value: str) -> bool:
    """May a caller name a space or an agent so? DM ids are made of member ids, so those must stay unambiguous."""
    return CHOSEN.match(value) is not None and "--" not in value and not value.startswith("dm-")
