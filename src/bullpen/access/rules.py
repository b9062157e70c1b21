"""The closed list of grants, and what each kind of principal holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, get_args

from bullpen.access.types import Grant, Principal
from bullpen.errors import Forbidden

GRANTS: Final[frozenset[Grant]] = frozenset(get_args(Grant))

OWNER: Final = GRANTS
PERSON: Final[frozenset[Grant]] = frozenset({"read_space", "post", "manage_space", "schedule"})
AGENT: Final[frozenset[Grant]] = frozenset({"read_space", "post"})

SYSTEM: Final = Principal(kind="system", id="system", name="Bullpen", grants=GRANTS)


def written(grants: Iterable[Grant]) -> str:
    """Grants as a column holds them: sorted, so that equal sets are equal text."""
    return ",".join(sorted(grants))


def parsed(text: str) -> frozenset[Grant]:
    """What a column held. A name we do not know grants nothing."""
    return frozenset(grant for grant in GRANTS if grant in text.split(","))


def authorize(principal: Principal, grant: Grant) -> None:
    if grant not in principal.grants:
        raise Forbidden(f"This needs the grant {grant!r}, which {principal.name} does not hold. Ask the owner for it.")


def may_read(principal: Principal, *, member: bool, kind: str, private: bool, people: int) -> bool:
    """Reading needs membership. An owner also sees public spaces, and those in which there are only agents."""
    if member:
        return True
    if principal.kind != "person" or not principal.is_owner:
        return False
    return people == 0 or (not private and kind != "dm")


def may_see(principal: Principal, *, member: bool, kind: str, private: bool, people: int) -> bool:
    """That a space exists: whoever may read it, and any person if it is public."""
    if may_read(principal, member=member, kind=kind, private=private, people=people):
        return True
    return principal.kind == "person" and not private and kind != "dm"
