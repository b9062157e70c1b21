"""Documents say what is true."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.docs import documents
from tests.docs.documents import ROOT, Mention

MENTIONS = list(dict.fromkeys(documents.mentions()))
# Written in two parts, so that this file may be committed itself.
HOSTS = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "yarn" + "pkg.com",
    "crates" + ".io",
]


@pytest.mark.parametrize("document", documents.documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_only_files_that_exist(document: Path) -> None:
    faults = [fault for mention in MENTIONS if mention.document == document and (fault := find_fault(mention))]
    assert not faults, "\n".join(faults)


def test_docstrings_and_comments_name_only_files_that_exist() -> None:
    mentioned = list(documents.source_mentions())
    assert len(mentioned) > 60
    faults = [fault for mention in mentioned if (fault := find_fault(mention))]
    assert not faults, "\n".join(faults)


def find_fault(mention: Mention) -> str | None:
    file = mention.file()
    if file is None:
        return f"{mention}: there is no such file"
    if mention.name is not None and mention.name not in names_in(file):
        return f"{mention}: there is no such name in it"
    return None


@cache
def names_in(file: Path) -> frozenset[str]:
    """What a Python file defines or mentions."""
    nodes = ast.walk(ast.parse(file.read_text()))
    return frozenset(str(getattr(node, "name", None) or getattr(node, "id", None)) for node in nodes)


def test_there_are_documents_to_check() -> None:
    assert len(documents.documents()) > 20
    assert len(MENTIONS) > 60


def test_no_committed_file_names_a_registry_host() -> None:
    found = []
    for path in documents.committed():
        content = path.read_bytes()
        found += [f"{path.relative_to(ROOT)} names {host}" for host in HOSTS if host.encode() in content]
    assert not found, "\n".join(found)


def test_every_page_can_be_reached_from_the_index() -> None:
    start = ROOT / "docs" / "index.md"
    seen, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        linked = {file.resolve() for mention in MENTIONS if mention.document == page and (file := mention.file())}
        found = {file for file in linked if file.suffix == ".md"} - seen
        seen |= found
        waiting += found
    missing = [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md")) if page not in seen]
    assert not missing, "no page links to: " + ", ".join(missing)


def test_every_package_has_a_page_of_its_name() -> None:
    packages = {path.parent.name for path in documents.SOURCE.glob("*/__init__.py")}
    pages = {path.stem for path in (ROOT / "docs" / "internals").glob("*.md")}
    assert packages - pages == set(), "docs/internals/ lacks a page for these"
    # Besides: the life of a message, and of a call that waits.
    assert pages - packages == {"path", "pending"}, "docs/internals/ has a page for what does not exist"


def test_the_notes_for_machine_contributors_stay_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text().splitlines()) < 60


def test_decisions_are_numbered_listed_and_one_screen_long() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    index = (ROOT / "docs" / "decisions" / "index.md").read_text()
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text()
        assert f"({page.name})" in index, f"{page.name} is not in the index"
        assert len(text.splitlines()) <= 45, f"{page.name} is longer than a screen"
        for heading in ("Question", "Choice", "Why", "Given up", "Would change"):
            assert f"**{heading}.**" in text, f"{page.name} does not say: {heading}"
