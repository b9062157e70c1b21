"""Every call and every return is kept before anything advances, and can be looked at as a trace."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.tools import ToolContext, tool
from tests.driver import Driver, Offices
from tests.path.puppets import puppet, untimed
from tests.path.scripts import call, raw, step

STEPS = [
    step(call("search_memory", query="tea"), call("store_memory", content="tea at four"), text="Let me see."),
    step(call("send_message", text="noted"), raw("send_message", '{"text": ')),
]


@pytest.mark.proves("S0-46", "P4")
async def test_the_journal_lists_every_call_and_return_in_order(office: Driver) -> None:
    await office.agent("ada", steps=STEPS, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    asked = await office.post("general", "tea at four?")
    run = await office.run_finished("ada")
    journal = await office.journal(run["id"])
    assert [(entry["step"], entry["type"], entry.get("toolName", "")) for entry in journal] == [
        (0, "user_message", ""),
        (1, "assistant_message", ""),
        (1, "tool_call_message", "search_memory"),
        (1, "tool_call_message", "store_memory"),
        (1, "tool_return_message", "search_memory"),
        (1, "tool_return_message", "store_memory"),
        (2, "assistant_message", ""),
        (2, "tool_call_message", "send_message"),
        (2, "tool_call_message", "send_message"),
        (2, "tool_return_message", "send_message"),
        (2, "tool_return_message", "send_message"),
        (3, "assistant_message", ""),
    ]
    assert untimed(journal[0]["content"]) == (
        f"New for you:\n[{asked['id']} in general] Olga (person {office.owner_id}): tea at four?"
    )
    assert journal[1]["content"] == "Let me see."
    assert journal[2]["args"] == {"query": "tea"}
    assert journal[8]["args"] == '{"text": '  # what the model wrote, JSON or not
    calls = [entry["callId"] for entry in journal if entry["type"] == "tool_call_message"]
    returns = [entry["callId"] for entry in journal if entry["type"] == "tool_return_message"]
    assert calls == returns
    assert len(set(calls)) == 4
    assert [entry["isError"] for entry in journal if entry["type"] == "tool_return_message"] == [False] * 3 + [True]
    assert sorted(entry["id"] for entry in journal) == [entry["id"] for entry in journal]
    (sent,) = (await office.messages("general"))[1:]
    assert journal[9]["result"]["messageId"] == sent["id"] == "msg_" + calls[2].removeprefix("call_")


@pytest.mark.proves("S3-39", "P4")
async def test_calls_run_one_after_another_as_asked_for(offices: Offices) -> None:
    done: list[str] = []

    @tool(effect="once")
    async def work(context: ToolContext, name: str) -> str:
        """Do something that takes a moment; the first takes longest."""
        done.append(f"{name} begins")
        for _ in range(20 if name == "first" else 1):
            await asyncio.sleep(0)
        done.append(f"{name} ends")
        return name

    office = await offices.open(families={"work": [work]})
    wanted = ["first", "second", "third"]
    await office.agent("ada", steps=[step(*(call("work", name=name) for name in wanted))], tools=["work", "messaging"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    run = await office.run_finished("ada")
    assert done == [f"{name} {how}" for name in wanted for how in ("begins", "ends")]
    assert await office.results(run["id"]) == wanted


@pytest.mark.proves("P4", "S3-40")
async def test_a_result_is_kept_before_the_model_is_asked_again(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=STEPS, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    ada.hold()
    await ada.asked(2)
    (run,) = await office.runs(agentId="ada")
    assert run["status"] == "thinking"
    assert [list(result) for result in await office.results(run["id"])] == [["passages"], ["passageId"]]
    ada.release()
    await office.run_finished("ada")


@pytest.mark.proves("S0-47")
@pytest.mark.one_database
async def test_a_runs_trace_is_a_tree_of_steps_and_tools(office: Driver) -> None:
    await office.agent("ada", steps=STEPS, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    spans = (await office.get(f"/runs/{run['id']}/trace"))["spans"]
    tree = [(span["name"], span["attributes"].get("gen_ai.tool.name")) for span in spans]
    assert tree == [
        ("invoke_agent", None),
        ("chat", None),
        ("execute_tool", "search_memory"),
        ("execute_tool", "store_memory"),
        ("chat", None),
        ("execute_tool", "send_message"),
        ("execute_tool", "send_message"),
        ("chat", None),
    ]
    root, first, search, store, second, *_ = spans
    assert root["parentId"] is None
    assert root["attributes"]["gen_ai.agent.id"] == "ada"
    assert {first["parentId"], second["parentId"]} == {root["spanId"]} == {run["id"]}
    assert {search["parentId"], store["parentId"]} == {first["spanId"]}
    assert [span["attributes"]["error"] for span in spans if span["name"] == "execute_tool"] == [False] * 3 + [True]
    for span in spans:
        assert root["startedAt"] <= span["startedAt"] <= span["finishedAt"] <= root["finishedAt"]


@pytest.mark.one_database
async def test_the_journal_is_for_owners_and_for_the_agent_itself(office: Driver) -> None:
    await office.agent("ada", steps=STEPS, tools=["messaging", "memory"])
    await office.agent("bo")
    await office.space("general", ["ada", "bo"])
    peter, api = await office.person("Peter")
    await office.create("/spaces/general/members", {"memberId": peter})
    await office.post("general", "@ada hello")
    run = await office.run_finished("ada")
    for inside in (f"/runs/{run['id']}/messages", f"/runs/{run['id']}/trace"):
        await api.get(inside, status=403)
        await (await office.as_agent("bo")).get(inside, status=403)
        await (await office.as_agent("ada")).get(inside, status=200)
    assert (await api.get(f"/runs/{run['id']}"))["outcome"] == "spoke"
    _, stranger = await office.person("Zoe")
    await office.ask("PATCH", "/spaces/general", json={"private": True})
    await stranger.get(f"/runs/{run['id']}", status=404)
