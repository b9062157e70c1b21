"""Cheap password hashes for the whole test run. A real hash takes 19 MiB and some 40 ms, and many tests sign in.

Only this process is changed, so there is no setting that somebody could use by mistake. Servers in processes of their
own hash as in production.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bullpen.access import passwords

make_real_hasher = passwords._hasher


def make_cheap_hasher() -> Any:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="session", autouse=True)
def _hashing_is_cheap() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", make_cheap_hasher)
        yield
