"""The reference says what the code does: it is written from it, and every name has its line."""

from __future__ import annotations

import pytest

from bullpen.api.errors import STATUS
from bullpen.errors import BullpenError
from bullpen.wire.events import LIVE_EVENTS, RESET, STORED_EVENTS
from tests.docs.documents import ROOT
from tools import reference

CLASSES = list(reference.error_classes())


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference.PAGES[name](), "run `make reference`"


def test_no_page_of_the_reference_is_written_by_hand() -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").glob("*.md")} == set(reference.PAGES)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_a_status_and_an_entry(kind: type[BullpenError]) -> None:
    assert "code" in vars(kind), "give the class a code of its own"
    assert 400 <= STATUS[kind] < 600
    assert f"| `{kind.code}` | {STATUS[kind]} | {kind.__name__} |" in (ROOT / "docs/reference/errors.md").read_text()


def test_no_two_errors_share_a_code() -> None:
    codes = [kind.code for kind in CLASSES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("name", sorted(STORED_EVENTS | LIVE_EVENTS | {RESET}))
def test_every_event_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs/reference/events.md").read_text()
