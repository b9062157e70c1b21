"""`make test ARGS=noun` and `make test CHANGED=1` run the tests that matter, and miss none."""

from __future__ import annotations

import pytest

from tools import choose_tests, run_tests


def test_a_noun_stands_for_its_tests() -> None:
    found = choose_tests.tests_of("tasks")
    assert "tests/rules/test_spaces.py" in choose_tests.tests_of("spaces")
    assert any(path.startswith("tests/tasks/") for path in found)
    assert "tests/cli/test_tasks.py" in found
    assert "tests/net/test_urls.py" not in found


def test_a_value_of_an_option_is_not_a_noun() -> None:
    assert run_tests.chosen(["-k", "spaces", "-x"]) == ["-k", "spaces", "-x"]
    assert run_tests.chosen(["tests/net"]) == ["tests/net"]
    assert len(run_tests.chosen(["net", "-x"])) > 5


@pytest.mark.parametrize(
    "changed, run, left_out",
    [
        # through other modules, and through a fixture
        ("src/bullpen/net/urls.py", "tests/net/test_urls.py", "tests/rules/test_ids.py"),
        ("src/bullpen/spaces/actions.py", "tests/path/test_waking.py", "tests/rules/test_ids.py"),
        # commands are loaded by their name, in a process or through main()
        ("src/bullpen/cli/tasks.py", "tests/cli/test_tasks.py", "tests/path/test_waking.py"),
        ("tests/driver.py", "tests/path/test_waking.py", "tests/rules/test_ids.py"),
        ("tests/feed/conftest.py", "tests/feed/test_order.py", "tests/rules/test_ids.py"),
        ("ui/src/main.tsx", "tests/page/test_rooms.py", "tests/path/test_waking.py"),
        ("README.md", "tests/docs/test_documents.py", "tests/path/test_waking.py"),
        ("tests/promises.txt", "tests/architecture/test_promises.py", "tests/path/test_waking.py"),
        ("src/bullpen/storage/migrations/0002_people.sql", "tests/rules/test_ids.py", "tests/none"),
    ],
)
def test_a_change_runs_the_tests_that_can_notice_it(changed: str, run: str, left_out: str) -> None:
    found = choose_tests.tests_affected_by([changed])
    assert run in found
    assert left_out not in found


def test_a_change_of_the_build_runs_everything() -> None:
    assert choose_tests.tests_affected_by(["src/bullpen/ids.py", "pyproject.toml"]) == ["tests"]
