"""Whose secrets are masked where: a member's in what concerns them, every one in logs and errors, no name ever."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from bullpen import ids
from bullpen.llm.types import CallWish, Reply
from bullpen.observe.redact import REDACTOR, Masker, owner
from bullpen.storage import Transaction
from bullpen.tools import ToolContext, tool
from bullpen.variables import rows
from bullpen.variables.types import Scope, Stored
from bullpen.wire.nouns import VariableDefinition
from tests.driver import Api, Driver, Json, Offices
from tests.hooks.receivers import one, webhook
from tests.path.puppets import Puppet, puppet, told
from tests.path.scripts import call, say, step, turn
from tests.path.talk import talk
from tests.secrets.sweeping import shown

logger = logging.getLogger("tests.of.whose")

# Legal, and made of words that anybody may write.
FIGURES = "quarterly figures"
MASKED = "***MINE***"


async def put(api: Api, value: str, *, name: str = "MINE", status: int = 200, **scope: str) -> Json:
    body = {"value": value, "type": "secret", "scope": scope or {"kind": "person"}}
    answer: Json = await api.ask("PUT", f"/variables/{name}", json=body, status=status)
    return answer


async def delete(api: Api, name: str = "MINE") -> None:
    await api.ask("DELETE", f"/variables/{name}?kind=person", status=204)


async def room(office: Driver, id: str, *members: str) -> None:
    await office.space(id, list(members), wake={"people": "all"})


@pytest.fixture(autouse=True)
def forgetful(known: Any) -> Iterator[None]:
    """The redactor is the process's: what one test sets must not be masked in the next."""
    yield
    for id in ("psn_mia", "psn_pia"):
        REDACTOR.drop_all(owner("person", id))


@pytest.fixture
async def mia(office: Driver) -> Api:
    """A member with bad intentions."""
    return (await office.person("Mia"))[1]


@pytest.fixture
async def pia(office: Driver) -> Api:
    return (await office.person("Pia"))[1]


async def said(api: Api, space: str, text: str) -> Json:
    made: Json = await api.create(f"/spaces/{space}/messages", {"text": text})
    return made


# ── what cannot be a secret ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("F12")
@pytest.mark.parametrize(
    "value, advice",
    [
        pytest.param("send_message", "choose another value", marks=pytest.mark.one_database),
        pytest.param("Send_Message", "choose another value", marks=pytest.mark.one_database),
        pytest.param("clientMessageId", "choose another value", marks=pytest.mark.one_database),
        pytest.param("tool.started", "choose another value", marks=pytest.mark.one_database),
        pytest.param(ids.run(), "choose another value", marks=pytest.mark.one_database),
        ("night-watch-7", "choose another value"),
        ("look_up_weather", "choose another value"),
        pytest.param("sh0rt77", "at least 8 characters", marks=pytest.mark.one_database),
        pytest.param("abababababcd", "at least 5 different characters", marks=pytest.mark.one_database),
        pytest.param("k3y-0f-many" * 745, "store a shorter one", marks=pytest.mark.one_database),
    ],
    ids=["tool", "other case", "field", "event", "made id", "chosen id", "defined tool", "short", "plain", "long"],
)
async def test_a_value_that_would_do_harm_is_refused_with_advice(
    office: Driver, mia: Api, value: str, advice: str
) -> None:
    await office.agent("night-watch-7", steps=[])
    weather = {"name": "look_up_weather", "description": "Look", "inputSchema": {}, "executionType": "external"}
    await office.create("/tools", weather)
    refused = await put(mia, value, status=422)
    assert advice in refused["error"]["fields"]["value"]
    assert await mia.items("/variables") == []
    assert REDACTOR.clean(value) == value


async def test_the_secrets_of_one_member_are_bounded_together(office: Driver, mia: Api) -> None:
    for number in range(15):
        await put(mia, f"{number:04}" + "k3y-0f-many" * 744, name=f"MINE{number}")
    refused = await put(mia, "k3y-0f-many" * 744, name="MORE", status=409)
    assert "128 KiB together" in refused["error"]["message"]
    await put(mia, "0000" + "an0ther-0ne" * 744, name="MINE0")


# ── other people ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("F12")
async def test_a_members_secret_changes_nobody_elses_words(office: Driver, mia: Api, pia: Api) -> None:
    await put(mia, FIGURES)
    await put(mia, "end_messag", name="PART")
    ada = await puppet(office, "ada", steps=[say(f"I have the {FIGURES}"), step(call("read_messages"))])
    await room(office, "lab", "ada", "psn_pia")
    message = await said(pia, "lab", f"where are the {FIGURES}?")
    run = await office.run_finished("ada")
    assert run["outcome"] == "spoke"
    assert (await pia.get(f"/messages/{message['id']}"))["text"] == f"where are the {FIGURES}?"
    assert (await office.texts("lab"))[1] == f"I have the {FIGURES}"
    assert FIGURES in told(ada.shown[0])[0]
    everything = json.dumps([office.events, await office.journal(run["id"])]).encode() + b"".join(map(shown, ada.shown))
    assert FIGURES.encode() in everything
    assert b"***" not in everything


@pytest.mark.proves("F12")
async def test_another_members_webhook_keeps_its_words(office: Driver, mia: Api, pia: Api) -> None:
    await put(mia, FIGURES)
    await office.agent("ada", steps=[say(f"@Pia the {FIGURES} are in")])
    await room(office, "lab", "ada", "psn_pia")
    async with one(office) as receiver:
        await webhook(pia)
        await said(pia, "lab", "go")
        assert (await receiver.told())["data"]["text"] == f"@Pia the {FIGURES} are in"


async def test_an_agents_token_keeps_the_words_of_others(office: Driver, mia: Api) -> None:
    await put(mia, FIGURES)
    await office.agent("ada", steps=[])
    await office.space("lab", ["ada"], wake={"people": "none"})
    ada = await office.as_agent("ada")
    made = await said(ada, "lab", f"the {FIGURES}")
    assert made["text"] == f"the {FIGURES}"
    edited = await ada.ask("PATCH", f"/messages/{made['id']}", json={"text": f"all {FIGURES}"})
    assert edited["text"] == f"all {FIGURES}"


# ── the member themselves ───────────────────────────────────────────────────────────────────────────────

USED = "u5ed-by-a-tool-4711"


@tool(variables=[VariableDefinition(name="MINE", type="secret")])
async def show_mine(context: ToolContext) -> dict[str, Any]:
    """Answer with the secret, as a server that echoes it would."""
    return {"echo": f"it is {context.variable('MINE')}"}


@pytest.mark.proves("F12")
async def test_a_members_secret_is_masked_in_their_own_runs(office: Driver, mia: Api) -> None:
    await put(mia, FIGURES)
    answers = [Reply(f"thinking of {FIGURES}", [CallWish("1", "send_message", json.dumps({"text": f"the {FIGURES}"}))])]
    ada = await puppet(office, "ada", answers=answers)
    await room(office, "den", "ada", "psn_mia")
    await said(mia, "den", f"look at the {FIGURES}")
    run = await office.run_finished("ada")
    texts = [each["text"] for each in await mia.items("/spaces/den/messages")]
    assert texts == [f"look at the {FIGURES}", f"the {MASKED}"], "people keep their own words"
    assert MASKED in told(ada.shown[0])[0]
    assert FIGURES.encode() not in b"".join(map(shown, ada.shown))
    assert FIGURES not in json.dumps(await office.journal(run["id"]))


async def test_a_secret_that_a_run_opens_is_masked_there(offices: Offices) -> None:
    office = await offices.open(families={"echoes": [show_mine]})
    _, mia = await office.person("Mia")
    await put(mia, USED)
    ada = await puppet(office, "ada", steps=[step(call("show_mine")), say("done")], tools=["messaging", "echoes"])
    await room(office, "den", "ada", "psn_mia")
    await said(mia, "den", "go")
    run = await office.run_finished("ada")
    assert (await office.results(run["id"]))[0]["echo"] == f"it is {MASKED}"
    assert USED.encode() not in b"".join(map(shown, ada.shown))


@pytest.mark.proves("F12")
async def test_logs_and_errors_mask_every_members_secret(office: Driver, mia: Api, log: io.StringIO) -> None:
    await put(mia, "an-1d-of-mias-own")
    logger.error("it went wrong with %s", "an-1d-of-mias-own")
    missing = await office.ask("GET", "/messages/an-1d-of-mias-own", status=404)
    assert "an-1d-of-mias-own" not in log.getvalue()
    assert "went wrong with ***MINE***" in log.getvalue()
    assert MASKED in missing["error"]["message"]


@pytest.mark.proves("F12")
async def test_names_of_tools_survive_in_a_members_own_runs(office: Driver, mia: Api) -> None:
    await put(mia, "end_messag")
    ada = await puppet(office, "ada", steps=[say("use send_message, not end_messages"), step(call("read_messages"))])
    await room(office, "den", "ada", "psn_mia")
    await said(mia, "den", "what does send_message do?")
    assert (await office.run_finished("ada"))["outcome"] == "spoke"
    assert (await office.texts("den"))[1] == f"use send_message, not {MASKED}es"
    assert "what does send_message do?" in told(ada.shown[0])[0]


@pytest.mark.proves("F12")
async def test_a_deleted_secret_is_masked_nowhere(office: Driver, mia: Api, log: io.StringIO) -> None:
    await put(mia, FIGURES)
    await put(mia, "next years figures")
    await put(mia, "last years figures", name="LAST")
    await delete(mia)
    await delete(mia, "LAST")
    ada = await puppet(office, "ada", steps=[say("the {{trigger.text}}")])
    await room(office, "den", "ada", "psn_mia")
    words = f"{FIGURES}, next years figures, last years figures"
    await said(mia, "den", words)
    await office.run_finished("ada")
    assert words in told(ada.shown[0])[0]
    assert (await office.texts("den"))[1] == f"the {words}"
    logger.error("about %s", words)
    assert f"about {words}" in log.getvalue()


async def test_a_replaced_secret_is_masked_no_longer(office: Driver, mia: Api) -> None:
    await put(mia, "the-0ld-value-of-mia")
    await put(mia, "the-n3w-value-of-mia")

    async def is_replaced() -> bool:
        return REDACTOR.clean("the-0ld-value-of-mia the-n3w-value-of-mia") == f"the-0ld-value-of-mia {MASKED}"

    await office.until(is_replaced)


async def test_erasing_a_member_forgets_their_secrets(office: Driver, mia: Api) -> None:
    await put(mia, "forg0tten-with-mia")
    assert REDACTOR.clean("forg0tten-with-mia") == MASKED
    await office.ask("POST", "/people/psn_mia/erase")
    assert REDACTOR.clean("forg0tten-with-mia") == "forg0tten-with-mia"


async def test_a_refused_change_leaves_nothing_masked(office: Driver, mia: Api) -> None:
    body = {"value": "n0t-stored-anywhere", "type": "secret", "scope": {"kind": "workspace"}}
    await mia.ask("PUT", "/variables/MINE", json=body, status=403)
    assert REDACTOR.clean("n0t-stored-anywhere") == "n0t-stored-anywhere"


# ── what a run is shown ─────────────────────────────────────────────────────────────────────────────────


async def shared(office: Driver, model: str, *steps: Json) -> Puppet:
    made = await puppet(office, model, [turn("", *steps)])
    await room(office, "lab", model, "psn_mia", "psn_pia")
    return made


@pytest.mark.proves("F12")
async def test_the_secrets_of_runs_whose_text_is_shown_are_masked(office: Driver, mia: Api, pia: Api) -> None:
    """It became a secret after it was said: what was said for Mia is shown to a run of Pia's."""
    ada = await shared(office, "ada", say("as Mia knows, l4ter-a-secret"))
    await said(mia, "lab", "go")
    await office.run_finished("ada")
    await put(mia, "l4ter-a-secret")
    await said(pia, "lab", "and now?")
    await office.run_finished("ada", nth=2)
    assert b"l4ter-a-secret" in shown(ada.shown[1]), "the run that said it had begun before"
    assert b"l4ter-a-secret" not in shown(ada.shown[-1])
    assert f"as Mia knows, {MASKED}".encode() in shown(ada.shown[-1])


@pytest.mark.proves("F12")
async def test_the_secrets_of_summarised_runs_are_masked(office: Driver, mia: Api, pia: Api) -> None:
    """What was said for Mia is so far back that only the summary of its run is shown to a run of Pia's."""
    ada = await shared(office, "ada", say("as Mia knows, l4ter-a-secret"))
    await said(mia, "lab", "go")
    await office.run_finished("ada")
    await put(mia, "l4ter-a-secret")
    await office.ask("PATCH", "/spaces/lab", json={"wake": {"people": "mention"}})
    await talk(office, "lab", (f"small talk, part {n}" for n in range(250)))
    await said(pia, "lab", "@Ada and now?")
    await office.run_finished("ada", nth=2)
    seen = shown(ada.shown[-1])
    assert b"What you did here longer ago" in seen
    assert MASKED.encode() in seen
    assert b"l4ter-a-secret" not in seen


@pytest.mark.proves("F12")
async def test_a_pasted_secret_is_masked_in_its_owners_words_only(office: Driver, mia: Api, pia: Api) -> None:
    ada = await shared(office, "ada", step(call("read_messages"), call("do_nothing")))
    await put(mia, FIGURES)
    await office.ask("PATCH", "/spaces/lab", json={"wake": {"people": "mention"}})
    await said(mia, "lab", f"my secret is {FIGURES}")
    await said(pia, "lab", f"here are the {FIGURES}")
    await said(pia, "lab", "@Ada look")
    run = await office.run_finished("ada")
    seen = shown(ada.shown[0]).decode()
    assert f"my secret is {MASKED}" in seen
    assert f"here are the {FIGURES}" in seen
    read = (await office.results(run["id"]))[0]["messages"]
    assert [each["text"] for each in read[:2]] == [f"my secret is {MASKED}", f"here are the {FIGURES}"]


# ── rows of an older version ────────────────────────────────────────────────────────────────────────────


async def store_old(office: Driver, name: str, value: str, scope: Scope) -> None:
    """As a version stored it that knew no bounds."""
    await office.office.vault.prepare(office.office.store)

    async def body(tx: Transaction) -> None:
        ring, key_id = await office.office.vault.sealing(tx)
        sealed = ring.seal(key_id, scope, name, value)
        await rows.upsert_variable(tx, Stored(scope, name, "secret", sealed, key_id, updated_at=tx.clock.now()), "x")

    await office.office.store.transact(body)


HUGE = "".join(f"{number:05}-huge " for number in range(5_900))
MIA = Scope("person", "psn_mia")


def nodes(masker: Masker) -> int:
    return sum(segment.nodes for segment in masker.segments)


@pytest.mark.proves("F12")
async def test_an_oversized_old_secret_costs_others_nothing(offices: Offices) -> None:
    office = await offices.open()
    await office.person("Mia")
    before, all_before = nodes(REDACTOR.masker([owner("person", "psn_pia")])), nodes(REDACTOR)
    await store_old(office, "HUGE", HUGE, MIA)
    await office.office.vault.check(office.office.store)
    _, pia = await office.person("Pia")
    await office.agent("ada", steps=[say("@Pia it is done")])
    await room(office, "lab", "ada", "psn_pia")
    async with one(office) as receiver:
        await webhook(pia)
        await said(pia, "lab", "go")
        assert (await receiver.told())["data"]["text"] == "@Pia it is done"
    assert nodes(REDACTOR.masker([owner("person", "psn_pia")])) == before
    assert nodes(REDACTOR) - all_before < len(HUGE) // 4, "and little in lines and errors"
    assert all(segment.size <= 4096 for segment in REDACTOR.segments)
    assert HUGE[3000:9000] not in REDACTOR.clean(f"failed: {HUGE[:60_000]}")
    await office.ask("POST", "/people/psn_mia/erase")
    assert not REDACTOR.values(owner("person", "psn_mia"))


@pytest.mark.proves("F12")
async def test_an_old_secret_that_is_a_tools_name_silences_nobody(offices: Offices) -> None:
    office = await offices.open()
    _, mia = await office.person("Mia")
    for scope in (MIA, Scope("workspace")):
        await store_old(office, "SILENCE", "send_message", scope)
    await office.office.vault.check(office.office.store)
    await office.agent("ada", steps=[say("here I am, by send_message")])
    await room(office, "den", "ada", "psn_mia")
    await said(mia, "den", "are you there?")
    assert (await office.run_finished("ada"))["outcome"] == "spoke"
    assert (await office.texts("den"))[1] == "here I am, by send_message"
