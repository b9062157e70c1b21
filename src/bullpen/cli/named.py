"""Names in place of ids, and beside them: `bullpen send "launch week" hi`, and lists that say who and where.

An id always means itself. A name is looked for only among what whoever asks may see: something hidden is answered like
something that is not there, and a name that several have is refused with their ids.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from bullpen.cli import show
from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen, Page

Kind: TypeAlias = Literal["space", "agent", "person", "member"]
Names: TypeAlias = Mapping[str, str]  # by id

REFUSED = frozenset({403, 404})
PAGES = 50  # of 200 each: nobody chooses from more by name
SHOWN = 5


async def use_ids(bp: Bullpen, args: Namespace, **fields: Kind) -> None:
    """Put ids in the place of names: `use_ids(bp, args, space="space", author="member")`."""
    for field, kind in fields.items():
        written = getattr(args, field, None)
        if written:
            setattr(args, field, await find_id(bp, kind, written))


async def find_id(bp: Bullpen, kind: Kind, written: str) -> str:
    """The id of what is meant. What nobody has heard of stays as it is: the server says so in its own words."""
    if await _is_id(bp, kind, written):
        return written
    names = await names_of(bp, kind)
    wanted = _folded(written.removeprefix("#" if kind == "space" else "@"))
    found = sorted(id for id, name in names.items() if wanted and _folded(name) == wanted)
    if len(found) > 1:
        told = ", ".join(found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
        which = "several members are" if kind in ("person", "member") else f"several {kind}s are"
        raise CommandFailed(f"{which.capitalize()} named {show.one_line(written, 60)!r}. Say which one: {told}.")
    return found[0] if found else written


async def _is_id(bp: Bullpen, kind: Kind, written: str) -> bool:
    """Asked first: a script that says ids pays one small question, and no name can take the place of an id."""
    if kind == "space":
        return await _is_there(lambda: bp.spaces(written).get())
    if kind in ("agent", "member") and await _is_there(lambda: bp.agents.get(written)):
        return True
    return kind in ("person", "member") and written.startswith("psn_")


async def _is_there(ask: Callable[[], Awaitable[Any]]) -> bool:
    try:
        await ask()
    except ApiError as error:
        if error.status not in (400, 403, 404, 422):
            raise
        return error.status == 403  # it is there, and what is wanted of it is refused in its own words
    return True


async def names_of(bp: Bullpen, *kinds: Kind) -> Names:
    """Everything of these kinds that whoever asks may see. Whoever may list nothing is told no names."""
    found: dict[str, str] = {}
    if "space" in kinds:
        await _add(found, lambda cursor: bp.spaces.list(limit=200, cursor=cursor))
    if "agent" in kinds or "member" in kinds:
        await _add(found, lambda cursor: bp.agents.list(limit=200, cursor=cursor))
    if "person" in kinds or "member" in kinds:
        await _add(found, lambda cursor: bp.people.list(limit=200, cursor=cursor))
    return found


async def _add(found: dict[str, str], list_page: Callable[[str | None], Awaitable[Page[Any]]]) -> None:
    cursor: str | None = None
    for _ in range(PAGES):
        try:
            page = await list_page(cursor)
        except ApiError as error:
            if error.status not in REFUSED:
                raise
            return
        found |= {each.id: each.name for each in page}
        cursor = page.next
        if cursor is None:
            return


def beside(id: str | None, names: Names) -> str:
    """An id with its name, if that says more: `spc_06gu… (Launch week)`. The id comes first, for whoever copies it."""
    if id is None:
        return "-"
    name = show.one_line(names.get(id, ""), 30)
    return id if not name or _folded(name) == _folded(id) else f"{id} ({name})"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
