"""Secrets that gateway tools send and their servers send back, and secrets in answers to calls that wait: no sink has
any of them. threats.md F1 and D15, for every way a server can tell one, and for every place of a request it can be in.
"""

from __future__ import annotations

import asyncio
import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.databases import Database
from tests.driver import Driver, Offices
from tests.net.servers import Asked, answer, world
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, say, step
from tests.secrets.sweeping import Sweep, hits, sweeping
from tests.secrets.writing import TOKEN, written

pytestmark = pytest.mark.one_database

SCHEMA = {"type": "object", "properties": {"how": {"type": "string"}}}
BASE = "http://api.example.com"
# Where in the request the secret is.
EXECUTIONS: Mapping[str, Json] = {
    "inHeader": {"url": f"{BASE}/{{how}}", "method": "POST", "headers": {"Authorization": "Bearer {{var:TOKEN}}"}},
    "inQuery": {"url": f"{BASE}/{{how}}?key={{{{var:TOKEN}}}}", "method": "POST"},
    "inPath": {"url": f"{BASE}/k-{{{{var:TOKEN}}}}/{{how}}", "method": "POST"},
    "read": {"url": f"{BASE}/{{how}}?key={{{{var:TOKEN}}}}", "method": "GET"},
    "nowhere": {"url": "http://nowhere.example.com/{{var:TOKEN}}/{how}", "method": "GET"},
    "private": {"url": "http://10.0.0.1/{{var:TOKEN}}/{how}", "method": "GET"},
}
PARTS = {"TOKEN": [TOKEN, TOKEN[:20]]}  # nor as much of it as is left when a text is cut
ECHO = "\n".join(written(TOKEN).values())


def chunks(*pieces: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def as_json(value: Any) -> bytes:
    return answer(orjson.dumps(value), content_type="application/json")


# What the server does with it.
ANSWERS: Mapping[str, bytes] = {
    "page": answer(ECHO.encode(), "500 Oops"),
    "denied": answer(orjson.dumps({"you sent": {TOKEN: ECHO}}), "401 No", content_type="application/json"),
    "json": as_json({"echo": list(written(TOKEN).values()), TOKEN: {"deep": [TOKEN]}, "n": 5}),
    "string": as_json(TOKEN),
    "headers": answer(b"see above", "418 Teapot", Set_Cookie=TOKEN, Location=f"/{TOKEN}", Echo=TOKEN),
    "reason": answer(b"no", f"500 {TOKEN}"),
    "kind": answer(b"{}", content_type=f"application/{TOKEN}+json"),
    "chunks": chunks(b"begin ", TOKEN[:9].encode(), TOKEN[9:].encode(), b" end"),
    "letters": chunks(*(letter.encode() for letter in TOKEN)),
    "gzip": answer(gzip.compress(ECHO.encode()), content_encoding="gzip"),
    "redirect": answer(b"", "302 Found", Location=f"http://elsewhere.example.com/?k={TOKEN}"),
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + ECHO.encode(),
    "garbage": f"{TOKEN} is what you sent\r\n\r\n".encode(),
    "half": answer(b"x" * 1975 + TOKEN.encode(), "500 Oops"),  # where errors are cut
    "member": answer(orjson.dumps(["x" * 1976 + TOKEN]), "500 Oops", content_type="application/json"),
    "long": answer(b"x" * 65_514 + TOKEN.encode() + b"y" * 99),  # where results are cut
    "latin": answer(b"\xff\xfe" + TOKEN.encode(), content_type="application/json"),
    "silence": b"",
}


async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
    how = next(how for how in ANSWERS if f"/{how}" in asked.target)
    if how == "silence":
        await asyncio.Event().wait()
    writer.write(ANSWERS[how])
    if how in ("cut", "garbage"):
        writer.close()


@pytest.fixture
async def office(offices: Offices, known: Any) -> Driver:
    """The value is set like any other: nobody but the office has told the redactor of it."""
    made = await offices.open()
    await made.ask("PUT", "/variables/TOKEN", json={"value": TOKEN, "type": "secret"}, status=200)
    return made


async def clean(sweep: Sweep, folder: Path) -> dict[str, bytes]:
    await sweep.office.idle()
    sinks = await sweep.gather(folder)
    found = hits(sinks, PARTS)
    assert not found, f"{len(found)} hits:\n" + "\n".join(found[:20])
    return sinks


async def define(office: Driver, name: str, kind: str = "gateway", **more: Any) -> None:
    base = {
        "name": name,
        "description": "Ask.",
        "inputSchema": SCHEMA,
        "executionType": kind,
        "visible": True,
        "policy": "allow",
    }
    await office.create("/tools", {**base, **more})


@pytest.mark.proves("F1", "D15")
async def test_no_server_can_make_a_gateway_tell_its_secret(
    office: Driver, database: Database, log: io.StringIO, tmp_path: Path
) -> None:
    for name, execution in EXECUTIONS.items():
        await define(office, name, execution=execution, timeout=1_000)
    steps = [step(*(call(name, how=how) for how in ANSWERS)) for name in ("inHeader", "inQuery", "inPath")]
    steps.append(step(*(call("read", how=how) for how in ("page", "json", "redirect", "chunks"))))
    steps.append(step(call("nowhere", how="x"), call("private", how="x")))
    ada = await puppet(office, "ada", steps=[*steps, say("done")], tools=["messaging", *EXECUTIONS])
    await office.space("lab", ["ada"], wake={"people": "all"})
    async with world() as outer, sweeping(office, database, log, ada) as sweep:
        office.office._egress = outer.egress
        server = await outer.server(behave)
        await office.post("lab", "go")
        run = await office.run_finished("ada")
        assert run["outcome"] == "spoke", run
        sinks = await clean(sweep, tmp_path)
    # It was sent, each time; and it was there to be masked, in what the model read, on cards, in events.
    sent = [TOKEN in asked.target or TOKEN in asked.headers.get("authorization", "") for asked in server.asked]
    assert len(sent) >= 3 * len(ANSWERS) + 4
    assert all(sent)
    for sink in ("prompts of 0", "stream", "GET /spaces/lab/messages?limit=200", f"GET /runs/{run['id']}/messages"):
        assert b"***TOKEN***" in sinks[sink], sink


@pytest.mark.proves("F1")
async def test_answers_to_waiting_calls_and_approvals_reveal_no_secret(
    office: Driver, database: Database, log: io.StringIO, tmp_path: Path
) -> None:
    """The model puts it into arguments, others into answers, reasons and progress, servers into results."""
    await define(office, "fetch", "external", isAsync=True)
    await define(office, "waits", "external", timeout=60_000)
    await define(office, "ask", "space", isAsync=True)
    await define(office, "pay", execution=EXECUTIONS["inHeader"], policy="ask", timeout=60_000)
    names = ("fetch", "fetch", "ask", "waits", "pay", "pay")
    calls = [call(name, how=f"page{'' if name == 'pay' else ECHO}") for name in names]
    turns: list[Json] = [{"kind": "tool_result", "steps": [say("thanks")]}, {"steps": [step(*calls), say("done")]}]
    ada = await puppet(office, "ada", turns, tools=["messaging", *dict.fromkeys(names)])
    await office.space("lab", ["ada"], wake={"people": "all"})
    results: dict[str, list[Any]] = {
        "fetch": [{"echo": ECHO, TOKEN: 1}, {"error": ECHO}],
        "ask": [ECHO],
        "waits": [[TOKEN, {"x": ECHO}]],
    }
    approvals: list[Json] = [
        {"approved": True, "args": {"how": f"page {TOKEN}"}},
        {"approved": False, "reason": f"the key is {ECHO}"},
    ]
    async with world() as outer, sweeping(office, database, log, ada) as sweep:
        office.office._egress = outer.egress
        server = await outer.server(behave)
        await office.post("lab", "go")
        for number, name in enumerate(names, start=1):
            asked = (await office.event("tool.requires_action", nth=number))["call"]
            assert asked["toolName"] == name
            if asked["kind"] == "external":
                await office.create(f"/pending/{asked['callId']}/progress", {"message": f"at {TOKEN}"}, status=200)
            result = (approvals if name == "pay" else results[name]).pop(0)
            response = await office.http.post(f"/pending/{asked['callId']}/resolve", json={"result": result})
            assert response.status_code == 200, response.text
            assert not hits({"the answer": response.content}, PARTS)
            repeated = await office.http.post(f"/pending/{asked['callId']}/resolve", json={"result": "x" + TOKEN})
            assert repeated.status_code in (409, 422)
            assert not hits({"the refusal": repeated.content}, PARTS)
        await office.idle()
        sinks = await clean(sweep, tmp_path)
    assert len(server.asked) == 1
    for sink in ("prompts of 0", "stream", "GET /pending?status=resolved", "GET /spaces/lab/messages?limit=200"):
        assert b"***TOKEN***" in sinks[sink], sink
