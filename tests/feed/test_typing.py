"""Who is typing: told live to those who read the space, to nobody else, kept nowhere, and not too often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bullpen.testing import UNLIMITED
from tests.driver import Offices
from tests.feed.streams import following

pytestmark = pytest.mark.one_database


async def test_only_readers_of_a_space_learn_who_types(offices: Offices) -> None:
    office = await offices.open(limits=replace(UNLIMITED, typing_per_minute=3))
    (pat, as_pat), (eve, as_eve) = await office.person("Pat"), await office.person("Eve")
    await office.space("den", [pat], private=True)
    await office.space("hall", [pat, eve])
    async with following(office) as readers, following(office, as_eve) as outside:
        for _ in range(2):
            await as_pat.create("/spaces/den/typing", {}, status=204)
        told = await readers.until_type("person_typing")
        await as_pat.create("/spaces/hall/typing", {}, status=204)
        seen = await outside.until_type("person_typing")
        assert told.data
        assert seen.data
        assert (told.data["spaceId"], told.data["personId"], told.id) == ("den", pat, None)
        assert seen.data["spaceId"] == "hall", "the den is not hers to know of"
        assert "person_typing" not in {event["type"] for event in readers.stored}
    refused = await as_pat.http.post("/spaces/den/typing")
    assert refused.status_code == 429
