"""Trying a model out: a real round trip that says how far it came."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from bullpen.client import Bullpen
from bullpen.observe.redact import REDACTOR
from bullpen.testing.model_server import KEY, ModelServer, breaks_off, fails, plays
from bullpen.testing.wires import Text
from tests.driver import Driver, Offices
from tests.llm.offices import an_office
from tests.llm.speaking import PROVIDERS, WIRES

pytestmark = pytest.mark.one_database

FAR = {"reached": True, "accepted": True, "answered": True}


async def check(office: Driver, model: Any, **more: Any) -> dict[str, Any]:
    response = await office.http.post("/models/check", json={"model": model, **more})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize("wire", WIRES)
async def test_a_check_reports_that_the_model_answered(wire: Any, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    server.gives(plays(Text("yes")))
    found = await check(office, f"{PROVIDERS[wire]}:a-model")
    assert found == {**FAR, "message": f"{PROVIDERS[wire]}:a-model answered."}
    assert server.problems == []
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "behaviour, far, says",
    [
        (fails(401), (True, False, False), "does not accept the key"),
        (fails(404), (True, False, False), "Check the model's name"),
        (fails(429), (True, True, False), "too many requests"),
        (fails(500), (True, False, False), "answers 500"),
        (breaks_off(Text("ye")), (True, True, False), "too early"),
    ],
    ids=["wrong key", "no such model", "too many requests", "not well", "breaks off"],
)
async def test_a_check_says_which_part_failed(
    behaviour: Any, far: tuple[bool, bool, bool], says: str, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    server.gives(behaviour)
    found = await check(office, "anthropic:a-model")
    assert (found["reached"], found["accepted"], found["answered"]) == far
    assert says in found["message"]
    assert KEY not in str(found)
    assert len(server.asked) == 1, "asked once: a person waits"


async def test_a_server_that_is_not_there_was_not_reached(offices: Offices) -> None:
    with socket.socket() as silent:  # holds the port, so that nobody else can listen there
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        office = await offices.open(variables={"ANTHROPIC_API_KEY": KEY}, anthropic_base_url=f"http://127.0.0.1:{port}")
        found = await check(office, "anthropic:a-model")
    assert (found["reached"], found["accepted"], found["answered"]) == (False, False, False)
    assert f"127.0.0.1:{port}" in found["message"]


async def test_a_check_without_a_key_says_which_variable_to_set(offices: Offices) -> None:
    office = await offices.open()
    found = await check(office, "anthropic:a-model")
    assert not found["reached"]
    assert "ANTHROPIC_API_KEY" in found["message"]


async def test_a_key_can_be_checked_by_its_variable_name(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server, variables={"ANTHROPIC_API_KEY": "not-the-one"})
    response = await office.http.put("/variables/NEW_KEY", json={"value": KEY, "type": "secret"})
    assert response.status_code in (200, 201), response.text
    server.gives(plays(Text("yes")))
    assert (await check(office, "anthropic:a-model"))["accepted"] is False
    assert (await check(office, "anthropic:a-model", apiKeyVariable="NEW_KEY"))["answered"] is True


async def test_a_key_can_be_tried_out_before_it_is_kept(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server, variables={"ANTHROPIC_API_KEY": "not-the-one"})
    server.gives(plays(Text("yes")))
    assert (await check(office, "anthropic:a-model", apiKey=KEY))["answered"] is True
    assert (await check(office, "anthropic:a-model"))["accepted"] is False, "it was kept nowhere"
    found = await check(office, "anthropic:a-model", apiKey="key-of-somebody-else")
    assert found["accepted"] is False
    assert "key-of-somebody-else" not in str(found)
    assert REDACTOR.clean("key-of-somebody-else") == "key-of-somebody-else", "masked while it is tried, and no longer"


async def test_checking_an_unknown_model_is_refused(offices: Offices) -> None:
    office = await offices.open()
    response = await office.http.post("/models/check", json={"model": "oracle:delphi"})
    assert response.status_code == 422, response.text
    assert "oracle" in response.json()["error"]["message"]


async def test_the_sdk_and_the_offline_model_agree(offices: Offices) -> None:
    office = await offices.open()
    async with Bullpen("http://office", transport=httpx.ASGITransport(office.office.local_api)) as bp:
        found = await bp.models.check("script:echo")
    assert (found.reached, found.accepted, found.answered) == (True, True, True)
