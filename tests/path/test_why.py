"""Why: who was woken by a message and who was not, and whom one would wake."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.errors import ModelRefused
from bullpen.settings import EngineSettings
from bullpen.tools import ToolContext, tool
from tests.driver import Api, Driver, Json, Offices
from tests.path.explanations import why
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step, turn


async def codes(caller: Api, message: Json, agent: str | None = None) -> dict[str, str]:
    return {id: item["code"] for id, item in (await why(caller, message, agent)).items()}


async def test_why_gives_the_run_or_the_reason_for_each_agent(office: Driver) -> None:
    await office.agent("ada", steps=[say("Hello."), say("Again.")])
    await office.agent("bo", steps=SILENT)
    await office.space("hall", ["ada", "bo"])
    message = await office.post("hall", "@ada hello")
    run = await office.run_finished("ada")
    found = await why(office, message)
    assert list(found) == ["ada", "bo"]
    ada, bo = found["ada"], found["bo"]
    assert (ada["woken"], ada["code"]) == (True, "woken")
    about = ada["run"]
    assert about["runId"] == run["id"]
    assert (about["status"], about["outcome"], about["stopReason"]) == ("completed", "spoke", "done")
    assert (about["depth"], about["cause"]) == (0, {"kind": "person", "id": office.owner_id})
    assert about["messageIds"] == [said["id"] for said in await office.messages("hall", after=1)]
    assert (bo["woken"], bo["code"]) == (False, "not_mentioned")
    assert "run" not in bo
    assert list(await why(office, message, "bo")) == ["bo"]


@pytest.mark.one_database
async def test_why_explains_a_silent_run_and_a_failed_run(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("skip", reason="Not my business."))])
    await puppet(office, "bo", answers=[ModelRefused("That key is not valid.")])
    await office.space("hall", ["ada", "bo"], wake={"people": "all"})
    message = await office.post("hall", "hello")
    await office.run_finished("bo")
    found = await why(office, message)
    ada, bo = found["ada"]["run"], found["bo"]["run"]
    assert (ada["outcome"], ada["stopReason"], ada["silenceReason"]) == ("silent", "skipped", "Not my business.")
    assert (bo["status"], bo["stopReason"], bo["error"]) == ("failed", "model_refused", "That key is not valid.")


async def test_why_uses_the_wake_policy_in_force_at_posting(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.space("hall", ["ada"], trigger="@helper", wake={"people": "none"})
    told = {}
    for policy in ("none", "mention", "trigger", "all"):
        await office.ask("PATCH", "/spaces/hall", json={"wake": {"people": policy}})
        told[policy] = await office.post("hall", "hello")
    await office.idle()
    await office.ask("PATCH", "/spaces/hall", json={"wake": {"people": "all"}, "trigger": "other"})
    found = {policy: (await codes(office, message))["ada"] for policy, message in told.items()}
    assert found == {"none": "policy", "mention": "not_mentioned", "trigger": "no_trigger_word", "all": "woken"}
    policies = {
        policy: (await office.get(f"/messages/{message['id']}/why"))["policy"] for policy, message in told.items()
    }
    assert policies == {"none": "none", "mention": "mention", "trigger": "trigger:@helper", "all": "all"}


@pytest.mark.one_database
async def test_an_author_system_messages_and_tool_cards_wake_nobody(offices: Offices) -> None:
    @tool(effect="tx", visible=True)
    async def show_chart(context: ToolContext) -> dict[str, Any]:
        """Show a chart to everyone in the space."""
        return {}

    office = await offices.open(families={"gallery": [show_chart]})
    await office.agent("ada", steps=[step(call("show_chart")), say("@bo @ada")], tools=["messaging", "gallery"])
    await office.agent("bo", steps=[say("@ada")])
    await office.space("hall", ["ada", "bo"])
    await office.post("hall", "@ada")
    await office.event("chain_stopped")
    await office.idle()
    messages = await office.messages("hall")
    card = next(message for message in messages if message["type"] == "tool")
    notice = next(message for message in messages if message["type"] == "system")
    said = next(message for message in messages if message["text"] == "@bo @ada")
    assert await codes(office, card) == {"ada": "tool_card", "bo": "tool_card"}
    assert await codes(office, notice) == {"ada": "system_message", "bo": "system_message"}
    assert await codes(office, said) == {"ada": "author", "bo": "woken"}
    last = [message for message in messages if message["authorKind"] == "agent" and message["type"] == "text"][-1]
    assert "chain_limit" in (await codes(office, last)).values()


async def test_a_run_deep_in_a_chain_names_who_began_it(office: Driver) -> None:
    await office.agent("ada", steps=[say("@bo")])
    await office.agent("bo", steps=SILENT)
    await office.space("hall", ["ada", "bo"])
    await office.post("hall", "@ada")
    await office.run_finished("bo")
    (said,) = [message for message in await office.messages("hall") if message["authorId"] == "ada"]
    run = (await why(office, said, "bo"))["bo"]["run"]
    assert (run["depth"], run["cause"]) == (1, {"kind": "person", "id": office.owner_id})


async def test_why_says_a_later_joiner_was_not_a_member(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    await office.space("hall", wake={"people": "all"})
    message = await office.post("hall", "hello")
    await office.create("/spaces/hall/members", {"memberId": "ada"})
    assert await codes(office, message) == {"ada": "not_a_member"}
    assert await codes(office, message, "bo") == {"bo": "not_a_member"}
    await office.get(f"/messages/{message['id']}/why", params={"agentId": "nobody"}, status=404)


async def test_why_still_names_a_woken_agent_that_left(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    await office.space("hall", ["ada", "bo"], wake={"people": "all"})
    message = await office.post("hall", "hello")
    await office.run_finished("bo")
    await office.ask("DELETE", "/spaces/hall/members/ada")
    assert await codes(office, message) == {"bo": "woken", "ada": "woken"}


async def test_why_tells_waiting_agents_from_paused_ones(offices: Offices) -> None:
    office = await offices.open(drive=False, engine=EngineSettings(lease_seconds=2.0))
    for id in ("ada", "bo", "cy"):
        await office.agent(id, steps=SILENT)
    await office.space("hall", ["ada", "bo", "cy"], wake={"people": "all"})
    await office.create("/agents/cy/pause", {})
    message = await office.post("hall", "hello")
    found = await why(office, message)
    assert {id: (item["code"], item["rank"], item["woken"]) for id, item in found.items()} == {
        "ada": ("waiting", 0, True),
        "bo": ("waiting", 1, True),
        "cy": ("paused", 2, True),
    }
    await office.create("/agents/pause", {})
    assert set((await codes(office, message)).values()) == {"paused"}


async def test_why_still_names_woken_agents_after_edits_and_deletion(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    await office.space("hall", ["ada", "bo"])
    message = await office.post("hall", "@ada")
    await office.run_finished("ada")
    await office.ask("PATCH", f"/messages/{message['id']}", json={"text": "@bo"})
    assert await codes(office, message) == {"ada": "woken", "bo": "not_kept"}
    await office.ask("DELETE", f"/messages/{message['id']}")
    assert await codes(office, message) == {"ada": "woken", "bo": "deleted"}


async def test_why_hides_messages_in_spaces_the_reader_cannot_see(office: Driver) -> None:
    pat, as_pat = await office.person("Pat")
    await office.agent("ada", steps=[step(call("send_message", text="psst", spaceId="cellar")), say("done")])
    await office.space("hall", ["ada", pat], wake={"people": "all"})
    await office.space("cellar", ["ada"], private=True)
    message = await office.post("hall", "go")
    await office.run_finished("ada")
    everything = (await why(office, message))["ada"]["run"]["messageIds"]
    shown = (await why(as_pat, message))["ada"]["run"]["messageIds"]
    assert len(everything) == 2
    assert shown == [said["id"] for said in await office.messages("hall", after=1)]


# ── preview ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PREVIEWS = [
    ("mention", "hello", []),
    ("mention", "@ada and @Bo", ["ada", "bo"]),
    ("mention", "@adam", []),
    ("all", "hello", ["ada", "bo"]),
    ("none", "@ada", []),
    ("trigger", "@helper hello", ["ada", "bo"]),
    ("trigger", "@ada", []),
    ("all", "", []),
]


@pytest.mark.parametrize("policy, text, wakes", PREVIEWS)
@pytest.mark.one_database
async def test_a_preview_lists_who_would_wake_and_changes_nothing(
    office: Driver, policy: str, text: str, wakes: list[str]
) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    await office.space("hall", ["ada", "bo"], trigger="@helper", wake={"people": policy})
    assert await office.create("/spaces/hall/preview", {"text": text}, status=200) == {"wakes": wakes}
    assert await office.messages("hall") == []
    if text:
        await office.post("hall", text)
        await office.idle()
        assert sorted(run["agentId"] for run in await office.runs()) == wakes


@pytest.mark.one_database
async def test_a_preview_counts_replies_but_never_its_author(office: Driver) -> None:
    await office.agent("ada", [turn("go", say("said")), turn(".*", *SILENT)])
    await office.space("hall", ["ada"])
    await office.post("hall", "@ada go")
    await office.run_finished("ada")
    (said,) = [message for message in await office.messages("hall") if message["authorId"] == "ada"]
    reply = {"text": "yes", "replyTo": said["id"]}
    assert await office.create("/spaces/hall/preview", reply, status=200) == {"wakes": ["ada"]}
    ada = await office.as_agent("ada")
    assert await ada.create("/spaces/hall/preview", {"text": "@ada"}, status=200) == {"wakes": []}
    await office.create("/spaces/hall/preview", {"text": "x", "replyTo": "msg_none"}, status=422)
    await office.create("/spaces/hall/preview", {"text": "x" * 32_769}, status=422)
    await office.create("/spaces/hall/preview", {}, status=422)
