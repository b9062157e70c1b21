"""Secrets in every form, leaked by tools, models and errors on purpose: no sink has any of them. threats.md F1, F11."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bullpen import cli
from bullpen.access.rules import SYSTEM
from bullpen.audit.actions import note
from bullpen.errors import ModelRefused, ToolFailed
from bullpen.llm.types import CallWish, Reply
from bullpen.observe import logs
from bullpen.runs.live import growing
from bullpen.storage import Transaction
from bullpen.tools import ToolContext, tool
from bullpen.wire.nouns import VariableDefinition
from tests import effort
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.net.servers import Asked, answer, world
from tests.path.puppets import Puppet, own, puppet, told
from tests.path.scripts import call, raw, say, step, turn
from tests.secrets.sweeping import Sweep, hits, shown, sweeping
from tests.secrets.writing import AWKWARD, PEM, SECRETS, TOKEN, written

logger = logging.getLogger("tests.of.leaks")


# ── tools that leak ─────────────────────────────────────────────────────────────────────────────────────


def spelled(secret: str, form: str) -> str:
    return written(SECRETS[secret])[form]


@tool(effect="pure", visible=True)
async def leak_result(context: ToolContext, secret: str, form: str) -> dict[str, Any]:
    """Answer with a secret: as a text, inside others, as the name of a field, as JSON in JSON."""
    text = spelled(secret, form)
    return {
        "text": text,
        "nested": [{"deep": {"list": ["before", f"x {text} y", 5, None]}}],
        f"field {text}": True,
        "body": json.dumps({"echo": text}),
    }


@tool(effect="tx", visible=True)
async def leak_text(context: ToolContext, secret: str, form: str) -> str:
    """The same as a bare text, from inside a transaction."""
    return f"here it is: {spelled(secret, form)}"


@tool(effect="once", visible=True)
async def leak_error(context: ToolContext, secret: str, form: str) -> None:
    """Fail, and say why."""
    raise ToolFailed(f"GET https://api.example.com/x?key={spelled(secret, form)} answered 401")


@tool(effect="tx")
async def leak_exception(context: ToolContext, secret: str, form: str) -> None:
    """Break, with locals and words that hold it."""
    text = spelled(secret, form)
    try:
        raise KeyError(text)
    except KeyError as error:
        raise RuntimeError(f"cannot sign in with {text!r}") from error


@tool(effect="pure")
async def leak_log(context: ToolContext, secret: str, form: str) -> dict[str, Any]:
    """Write it to the log in every way there is."""
    text = spelled(secret, form)
    logger.warning("the key is %s", text, extra={"key": text, "headers": {"Authorization": f"Bearer {text}"}})
    logger.error("raw bytes %r", text.encode())
    loop = asyncio.get_running_loop()
    task = loop.create_task(_fail(text))
    await asyncio.wait([task])
    loop.call_exception_handler({"message": f"a task with {text} failed", "exception": task.exception()})
    return {"ok": True}


async def _fail(text: str) -> None:
    raise ValueError(f"in a task: {text}")


LEAKS = (leak_result, leak_text, leak_error, leak_exception, leak_log)
FORMS = tuple(written(TOKEN))


def leaking(name: str) -> list[dict[str, Any]]:
    """One step for each form, with every secret."""
    forms = effort.pick(FORMS, sample=5)
    return [step(*(call(name, secret=secret, form=form) for secret in SECRETS)) for form in forms]


@pytest.fixture
async def office(offices: Offices, secrets: dict[str, str]) -> Driver:
    return await offices.open(families={"leaks": LEAKS})


async def leaky(office: Driver, id: str, steps: list[dict[str, Any]], **more: Any) -> Puppet:
    limits = {"maxSteps": 100, "maxMessages": 500}
    made = await puppet(office, id, steps=steps, tools=["messaging", "memory", "leaks"], limits=limits, **more)
    await office.space(f"room-{id}", [id], wake={"people": "all"})
    return made


async def swept(sweep: Sweep, folder: Path) -> dict[str, bytes]:
    await sweep.office.idle()
    sinks = await sweep.gather(folder)
    found = hits(sinks)
    assert not found, f"{len(found)} hits:\n" + "\n".join(found[:20])
    return sinks


# ── the sweep ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("F1", "F11", "V16")
@pytest.mark.parametrize("leak", [each.name for each in LEAKS])
async def test_secrets_leaked_by_tools_appear_nowhere_in_any_form(
    office: Driver, database: Database, log: io.StringIO, tmp_path: Path, leak: str
) -> None:
    ada = await leaky(office, "ada", [*leaking(leak), say("done")])
    async with sweeping(office, database, log, ada) as sweep:
        await office.post("room-ada", "go")
        run = await office.run_finished("ada")
        assert run["outcome"] == "spoke", run
        sinks = await swept(sweep, tmp_path)
    # It was there, and it was masked: in what the model read, in the journal, or in the log.
    seen = sinks["log" if leak in ("leak_log", "leak_exception") else "prompts of 0"]
    for name in SECRETS:
        assert f"***{name}***".encode() in seen


@pytest.mark.proves("F1")
async def test_secrets_repeated_by_a_model_appear_nowhere_in_any_form(
    office: Driver, database: Database, log: io.StringIO, tmp_path: Path
) -> None:
    """In its text, in messages, in arguments, in names; streamed in pieces that cut the secret anywhere."""
    steps = []
    for form in effort.pick(FORMS, sample=5):
        texts = [spelled(secret, form) for secret in SECRETS]
        steps.append(step(*(call("send_message", text=f"I know {text}!") for text in texts), text=" and ".join(texts)))
        steps.append(step(*(call("store_memory", content=text) for text in texts), raw("fly", f'{{"to": {texts[0]}')))
        steps.append(step(raw(f"tool {texts[0]}", "{}"), raw("search_memory", json.dumps({"query": texts[1]}))))
        steps.append(step(*(call("update_memory", label="notes", content=text) for text in texts)))
    steps.append(step(call("skip", reason=f"because of {AWKWARD}")))
    ada = await leaky(office, "ada", steps)
    async with sweeping(office, database, log, ada) as sweep:
        await office.post("room-ada", "go")
        run = await office.run_finished("ada")
        assert run["stopReason"] == "skipped", run
        sinks = await swept(sweep, tmp_path)
    assert b'"type":"message_streaming"' in sinks["stream"], "somebody followed while it wrote"
    for sink in ("stream", "prompts of 0", "GET /spaces/room-ada/messages?limit=200", "copy as lines"):
        for name in SECRETS:
            assert f"***{name}***".encode() in sinks[sink], f"{name} was never in {sink}"


def escaped(text: str) -> str:
    """JSON in which every character is an escape: a model may write so."""
    return '{"text":"' + "".join(f"\\u{ord(sign):04X}" for sign in text) + ' is it."}'


@pytest.mark.one_database
async def test_unusually_escaped_arguments_are_cleaned_whole_and_in_pieces(
    office: Driver, database: Database, log: io.StringIO, tmp_path: Path
) -> None:
    ada = await leaky(office, "ada", [step(raw("send_message", escaped(TOKEN)))])
    async with sweeping(office, database, log, ada) as sweep:
        await office.post("room-ada", "go")
        await office.run_finished("ada")
        sinks = await swept(sweep, tmp_path)
    assert (await office.texts("room-ada"))[-1] == "***TOKEN*** is it."
    part = escaped(TOKEN)[9:60].encode()
    assert part not in sinks["stream"]
    for number in range(8, len(TOKEN)):
        assert TOKEN[:number].encode() not in sinks["stream"], "nor does it grow before people's eyes"


def test_streamed_arguments_never_show_the_start_of_a_secret(secrets: dict[str, str]) -> None:
    for text in (
        escaped(TOKEN),
        '{"a\\n":["b",' + escaped(AWKWARD) + "]}",
        escaped(PEM[28:200]),
        f'{{"text":"{TOKEN}"}}',
    ):
        for end in range(len(text) + 1):
            shown = growing(text[:end])
            assert not any(part in shown for part in ("CANARY"[:3], "\\u0043\\u0041", PEM[28:34], '"b",{"text":"C')), (
                shown
            )
    assert growing(escaped(TOKEN)) == '{"text":"***TOKEN*** is it."}'
    assert growing('{"text":"a\\nb","n":1, ') == '{"text":"a\\nb","n":1, '
    assert growing('{"text": "oops \\q ') == '{"text": "oops \\q '


@pytest.mark.one_database
@pytest.mark.proves("F1")
async def test_failures_reveal_no_secret(office: Driver, database: Database, log: io.StringIO, tmp_path: Path) -> None:
    """A model that refuses or breaks, a route that breaks, refusals that repeat what they were sent."""
    both = f"{TOKEN} / {AWKWARD} / {PEM}"
    errors = [ModelRefused(f"bad key {both}"), RuntimeError(f"x{'.' * 480}{both}"), ValueError(AWKWARD)]
    ada = await leaky(office, "ada", [])
    ada._answers.extend(errors)

    def build(spec: Any) -> Any:
        raise RuntimeError(f"cannot build: {both}")

    office.office.models.add("broken", build)
    answers = []
    async with sweeping(office, database, log, ada) as sweep:
        for nth in range(1, len(errors) + 1):
            await office.post("room-ada", f"go {nth}")
            run = await office.run_finished("ada", nth=nth)
            assert run["status"] == "failed"
            assert "***" in run["error"]
        for path, body in (
            ("/agents", {"name": "A", "model": "broken:x"}),
            ("/agents", {"name": "A", "model": f"none{TOKEN}:x"}),
            ("/agents", {"name": "A", "model": {"provider": AWKWARD}}),
            ("/agents", {"name": "A", "model": "script:echo", TOKEN: 1, AWKWARD: 2}),
            ("/agents", {"name": "A", "model": "script:echo", "tools": [TOKEN, PEM]}),
            (f"/spaces/{TOKEN}/messages", {"text": "hi"}),
        ):
            answers.append(await office.http.post(path, json=body))
        answers.append(await office.http.get(f"/messages/{TOKEN}"))
        answers.append(await office.http.get(f"http://office/nowhere/{TOKEN}"))
        sinks = await swept(sweep, tmp_path)
    statuses = [answer.status_code for answer in answers]
    assert statuses[0] == 500
    assert all(400 <= status < 500 for status in statuses[1:]), statuses
    found = hits({str(n): answer.content for n, answer in enumerate(answers)})
    assert not found, "\n".join(found)
    assert b"***TOKEN***" in b"".join(answer.content for answer in answers)
    assert b"***AWKWARD***" in sinks["log"]


@pytest.mark.one_database
@pytest.mark.proves("D15", "F1")
async def test_a_server_that_echoes_a_credential_tells_nobody(
    offices: Offices, database: Database, log: io.StringIO, known: Any, tmp_path: Path
) -> None:
    """A secret from PUT /api/variables, sent in a header and an address, and all of it sent back in an error page."""
    office = await offices.open(families={"shop": [ask_shop]})
    await office.ask("PUT", "/variables/TOKEN", json={"value": TOKEN, "type": "secret"}, status=200)
    ada = await puppet(office, "ada", steps=[step(call("ask_shop")), say("done")], tools=["messaging", "shop"])
    await office.space("general", ["ada"], wake={"people": "all"})
    async with world() as outer, sweeping(office, database, log, ada) as sweep:
        office.office._egress = outer.egress
        server = await outer.server(_echoes)
        await office.post("general", "go")
        run = await office.run_finished("ada")
        assert run["outcome"] == "spoke", run
        sinks = await swept(sweep, tmp_path)
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert b"***TOKEN***" in sinks["prompts of 0"]


@tool(variables=[VariableDefinition(name="TOKEN", type="secret")])
async def ask_shop(context: ToolContext) -> dict[str, Any]:
    """Ask a server that repeats what it was asked with."""
    url, headers = "http://api.example.com/x?key={{var:TOKEN}}", {"Authorization": "Bearer {{var:TOKEN}}"}
    found = await context.outside.request("GET", url, headers=headers)
    return {"status": found.status, "text": found.body.decode(), "headers": dict(found.headers)}


async def _echoes(asked: Asked, writer: asyncio.StreamWriter) -> None:
    said = f"{asked.line} {dict(asked.headers)}"
    page = "\n".join([said, *written(asked.headers["authorization"]).values()])
    writer.write(answer(page.encode(), "500 Oops", Echo=asked.headers["authorization"]))


async def test_what_an_audit_row_says_is_cleaned(office: Driver) -> None:
    await office.create("/tokens", {"name": f"for {TOKEN}"})
    await office.space("general", name=f"room of {TOKEN}")

    async def body(tx: Transaction) -> None:
        note(tx, SYSTEM, "test.made", "test", "one", why=AWKWARD, nested={"list": [TOKEN]})

    await office.office.store.transact(body)
    (noted,) = [row for row in await office.items("/audit") if row["action"] == "test.made"]
    assert noted["detail"] == {"why": "***AWKWARD***", "nested": {"list": ["***TOKEN***"]}}
    assert not hits({"audit": (await office.http.get("/audit")).content})


# ── what people write ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_pasted_secret_is_stored_unchanged_and_hidden_from_models(office: Driver) -> None:
    pasted = f"my key is {TOKEN}, and:\n{PEM}\nand {AWKWARD}"
    turns = [
        turn("my key", step(call("send_message", text="You said: {{trigger.text}}"), call("read_messages"))),
        turn("again", step(call("read_messages", query="canary"))),
    ]
    ada = await puppet(office, "ada", turns)
    await office.space("general", ["ada"], wake={"people": "all"})
    said = await office.post("general", pasted)
    await office.run_finished("ada")
    await office.post("general", "again")
    await office.run_finished("ada", nth=2)
    assert (await office.get(f"/messages/{said['id']}"))["text"] == pasted
    answer = (await office.texts("general"))[1]
    assert answer.startswith("You said: my key is ***TOKEN***, and:\n***PEM***")
    assert not hits({str(n): shown(each) for n, each in enumerate(ada.shown)})
    assert b"***PEM***" in shown(ada.shown[0])
    journals = [await office.journal(run["id"]) for run in await office.runs()]
    assert len(journals) == 2
    assert not hits({"journal": json.dumps(journals).encode()})


@pytest.mark.one_database
async def test_posts_and_edits_with_an_agents_token_are_cleaned(office: Driver) -> None:
    await office.agent("ada", steps=[])
    await office.space("general", ["ada"], wake={"people": "none"})
    ada = await office.as_agent("ada")
    body = {"text": f"it is {TOKEN}", "clientMessageId": "one"}
    said = await ada.create("/spaces/general/messages", body)
    assert said["text"] == "it is ***TOKEN***"
    assert (await ada.create("/spaces/general/messages", body))["id"] == said["id"], "the same again is the same"
    edited = await ada.ask("PATCH", f"/messages/{said['id']}", json={"text": f"or {AWKWARD}"})
    assert edited["text"] == "or ***AWKWARD***"
    person = await office.post("general", f"mine: {TOKEN}")
    assert person["text"] == f"mine: {TOKEN}"


@pytest.mark.one_database
async def test_a_secret_learned_mid_run_is_masked_in_earlier_text(offices: Offices, known: Any) -> None:
    office = await offices.open()
    late = "l4te-canary-9qWx7ZpR"
    ada = await puppet(
        office,
        "ada",
        answers=[Reply(f"I think {late}", [CallWish("1", "search_memory", json.dumps({"query": f"x {late}"}))])],
        tools=["messaging", "memory"],
    )
    await office.space("general", ["ada"], wake={"people": "all"})
    ada.hold()
    await office.post("general", f"it is {late}")
    first = await ada.asked(1)
    assert late in told(first)[0]

    known(late, "LATE")
    ada.release()
    await office.run_finished("ada")
    second = ada.shown[1]
    assert late.encode() not in shown(second)
    assert "***LATE***" in told(second)[0]
    assert "***LATE***" in repr(own(second))


# ── what nobody catches ─────────────────────────────────────────────────────────────────────────────────


def test_uncaught_exceptions_are_logged_and_cleaned(
    secrets: dict[str, str], log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", logs._uncaught)
    monkeypatch.setattr(sys, "unraisablehook", logs._unraisable)
    monkeypatch.setattr(threading, "excepthook", logs._uncaught_in_thread)

    def fail() -> None:
        raise RuntimeError(f"in a thread: {TOKEN} {AWKWARD!r}")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    try:
        fail()
    except RuntimeError:
        sys.excepthook(*sys.exc_info())

    class Late:
        def __del__(self) -> None:
            raise ValueError(PEM)

    Late()
    assert log.getvalue().count("***TOKEN***") == 4  # each is written in both formats
    assert "***PEM***" in log.getvalue()
    assert not hits({"log": log.getvalue().encode()})


def test_the_server_installs_the_exception_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(module, name, None)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        logs.install("info", "json", io.StringIO())
        assert sys.excepthook is logs._uncaught
        assert sys.unraisablehook is logs._unraisable
        assert threading.excepthook is logs._uncaught_in_thread
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        logging.captureWarnings(False)


def test_commands_reveal_no_secret(
    secrets: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    data = ["--data", str(tmp_path / "data")]
    assert cli.main(["serve", "--demo", TOKEN, *data]) == 1
    assert cli.main(["apply", str(tmp_path / TOKEN), *data]) == 1
    monkeypatch.setenv("BULLPEN_DATABASE_URL", f"postgresql://me:{TOKEN}@127.0.0.1:1/x")
    assert cli.main(["doctor", *data]) == 1
    assert cli.main(["doctor", "--json", "--data", str(tmp_path / TOKEN)]) == 1
    try:
        raise RuntimeError(f"a defect: {AWKWARD}")
    except RuntimeError:
        sys.excepthook(*sys.exc_info())
    told = capsys.readouterr()
    assert "***TOKEN***" in told.err
    assert "***AWKWARD***" in told.err
    assert not hits({"stdout": told.out.encode(), "stderr": told.err.encode()})
