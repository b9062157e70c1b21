"""Which paths lead into a thread's folder, and which are refused before anything is touched."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bullpen.errors import PathOutside
from bullpen.files.paths import DEEPEST, names_of, safe_name, shown
from tests.folders.hostile_paths import OUTSIDE


@pytest.mark.proves("E1")
@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: ascii(path)[:40])
def test_a_path_that_may_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(PathOutside) as refused:
        names_of(path)
    assert refused.value.code == "path_outside_workspace"
    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 400


@pytest.mark.parametrize(
    "path, names",
    [
        ("report.pdf", ("report.pdf",)),
        ("/workspace/report.pdf", ("report.pdf",)),
        ("workspace/report.pdf", ("workspace", "report.pdf")),
        ("./a//b/", ("a", "b")),
        ("/workspace", ()),
        ("/workspace/", ()),
        ("", ()),
        (".", ()),
        (".env", (".env",)),
        ("..a", ("..a",)),
        ("a..b", ("a..b",)),
        ("100%.txt", ("100%.txt",)),
        ("50%25.txt", ("50%25.txt",)),
        ("10:30 Zürich 👩‍🎨.txt", ("10:30 Zürich 👩‍🎨.txt",)),
        ("~/x", ("~", "x")),
        ("x" * 255, ("x" * 255,)),
        ("/".join(["d"] * DEEPEST), ("d",) * DEEPEST),
    ],
)
def test_a_safe_path_becomes_names_below_the_folder(path: str, names: tuple[str, ...]) -> None:
    assert names_of(path) == names
    assert names_of(shown(names)) == names


@given(st.text())
@example("..")
@example("/workspace/a/../..")
def test_no_text_becomes_a_name_that_leaves_the_folder(text: str) -> None:
    try:
        names = names_of(text)
    except PathOutside:
        return
    for name in names:
        assert name not in ("", ".", "..")
        assert "/" not in name
        assert "\0" not in name
        assert 0 < len(name.encode()) < 256


@given(st.text() | st.sampled_from(OUTSIDE))
@example("C:")
@example("a/b\\c")
@example("%2e%2e")
@example("x" * 254 + ". ")
def test_any_name_becomes_a_safe_path_name(text: str) -> None:
    made = safe_name(text)
    assert names_of(made) == (made,)


@pytest.mark.parametrize("name", ["report.pdf", "Zürich 👩‍🎨.txt", ".env", "a.tar.gz"])
def test_a_harmless_name_stays_as_it_is(name: str) -> None:
    assert safe_name(name) == name
