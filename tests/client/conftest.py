"""`door`: a real server for all tests of the SDK, and its owner's token. Each test uses its own agents and spaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.processes import output, serving


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    data = tmp_path_factory.mktemp("sdk") / "data"
    token = output(data, "token", "create", "--name", "Ruth", "--owner")
    with serving(data) as server:
        yield server.url, token
