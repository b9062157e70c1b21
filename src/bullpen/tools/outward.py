"""What leaves: arguments in a request to a server, and words for people who could not read what they come from.

A run that has read text from outside may have been told what to do by it. If it has also been shown text of this
office, a call that carries words out asks somebody first. What counts as leaving: docs/decisions/0026-what-leaves.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Audience
from bullpen.storage import Transaction
from bullpen.tools import quotes
from bullpen.tools.types import RunView, Tool

if TYPE_CHECKING:
    from bullpen.tools.door import Door

# Where text was shown that belongs to no space. An id cannot begin with a star.
MEMORY: Final = "*memory"  # what an agent remembers; it may say that wherever it is a member
MORE: Final = "*more"  # more spaces than are kept
MOST_PLACES: Final = 50
LATEST: Final = 100  # among so many messages is looked for what people have written

NOBODY: Final = Audience(members=frozenset(), public=False, bridged=False)


def merge_places(*several: Iterable[str]) -> tuple[str, ...]:
    """Each place once, and not without end."""
    found = sorted({place for places in several for place in places})
    return tuple(found) if len(found) <= MOST_PLACES else (*found[: MOST_PLACES - 1], MORE)


def is_suspect(run: RunView) -> bool:
    """It has read text from outside, and text of this office."""
    return bool(run.outside and run.seen_in)


async def sends_arguments(tx: Transaction, door: Door, tool: Tool, args: Mapping[str, Any]) -> bool:
    """A fixed request tells nobody anything; one with arguments may tell everything that its run has read.

    Nor does one that only reads, if others wrote what leaves: people, or, of an address, what was read in this run.
    """
    given = quotes.leaving(args, tool.carries) if tool.goes_out else {}
    if not given or tool.carries is None:
        return bool(given)
    said = await _said(tx, door.run)
    if quotes.are_quoted(given, tool.carries, said, ()):
        return False
    readers = [each.name for each in door.tools.values() if each.goes_out and each.carries is not None]
    read = quotes.read_by(door.journal.read_calls(readers), said)
    return not quotes.are_quoted(given, tool.carries, said, read)


async def _said(tx: Transaction, run: RunView) -> list[str]:
    """What people have written: the message that woke the run, and the latest ones where it was woken."""
    asked = [] if run.asker is None else [run.asker.said]
    return asked if run.home is None else [*asked, *await space_rows.select_peoples_words(tx, run.home.id, LATEST)]


async def select_wider(tx: Transaction, run: RunView, targets: Iterable[str]) -> set[str]:
    """Those of the spaces that somebody reads who could not read all that the run was shown.

    The space that woke it is never one of them: whoever asks there gets an answer there.
    """
    home = None if run.home is None else run.home.id
    others = {target for target in targets if target != home}
    read = [place for place in run.seen_in if place != MEMORY]
    if not others or not read:
        return set()
    audiences = await space_rows.select_audiences(tx, sorted({*others, *read}))
    return {target for target in others if _is_wider(target, read, audiences)}


def _is_wider(target: str, read: Iterable[str], audiences: Mapping[str, Audience]) -> bool:
    there = audiences.get(target)
    if there is None:
        return False  # nobody is there, and the tool says so
    return any(not there.is_within(audiences.get(place, NOBODY)) for place in read if place != target)
