"""The programs in tools/ do what the Makefile says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import changelog, check, shape


def test_shape_measures_files_functions_classes_and_inner_imports(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class A:\n    def f(self):\n        import os\n        return os\n")
    (tmp_path / "two.py").write_text("def g():\n    return 1\n" * 3)
    (tmp_path / "empty.py").write_text("")
    found = shape.measure(tmp_path, tmp_path)
    assert shape.spread(found.files) == "5 / 4 / 6"
    assert sorted(one.lines for one in found.functions) == [2, 2, 2, 3]
    assert [(sized.name, sized.lines, methods) for sized, methods in found.classes] == [("A", 4, 1)]
    assert found.inner_imports == ["one.py:3"]


def test_a_release_gathers_the_fragments_by_kind(tmp_path: Path) -> None:
    (tmp_path / "b.fixed.md").write_text("A bug is gone.\n")
    (tmp_path / "a.added.md").write_text("There is more\nof it.\n")
    written = changelog.section("1.0", "2026-11-15", changelog.fragments(tmp_path))
    assert written == "## 1.0 (2026-11-15)\n\n### Added\n\n- There is more of it.\n\n### Fixed\n\n- A bug is gone.\n"


def test_a_fragment_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a kind is one of"):
        changelog.kind_of(tmp_path / "a.improved.md")


def test_our_own_fragments_can_be_gathered() -> None:
    assert changelog.section("0", "", changelog.fragments(changelog.ROOT / "changelog.d"))


def test_one_failed_check_fails_but_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "CHECKS", {"bad": ("no_such_module",), "good": ("this",)})
    assert check.main() == 1
    printed = capsys.readouterr().out
    assert "Beautiful is better than ugly." in printed
    assert printed.endswith("Failed: bad.\n")
