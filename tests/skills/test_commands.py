"""Words to the office itself: /help, /new, /status, /tasks, /why, and the list of them for the page."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.operations.slash import COMMANDS
from tests.driver import Driver, Json
from tests.path.puppets import puppet
from tests.path.scripts import say
from tests.skills.offices import TOOLS, stored, studio


async def asked(office: Driver, text: str, space: str = "studio", **more: Any) -> Json:
    """The office's answer."""
    said = await office.post(space, text, **more)
    answer = (await office.messages(space))[-1]
    assert (answer["type"], answer["authorKind"], answer["replyTo"]) == ("system", "system", said["id"])
    return answer


@pytest.mark.one_database
async def test_help_shows_the_words_and_the_skills_of_this_space(office: Driver) -> None:
    await studio(office)
    await stored(office)
    await office.space("other")
    await stored(office, "secret", space="other")
    lines = (await asked(office, "/help"))["text"].split("\n")
    assert [line.split(" ")[0].rstrip(":") for line in lines[1:]] == [
        *(f"/{name}" for name in sorted(COMMANDS)),
        "/standup",
    ]
    assert lines[-1] == "/standup [day]: Who did what"


async def test_the_commands_of_a_space_are_listed_for_a_palette(office: Driver) -> None:
    await studio(office)
    await stored(office)
    await stored(office, "draft", status="proposed")
    listed = await office.items("/spaces/studio/commands")
    assert [command["name"] for command in listed] == [*sorted(COMMANDS), "standup"]
    assert listed[-1] == {"name": "standup", "description": "Who did what", "parameters": "[day]", "kind": "skill"}
    assert {command["kind"] for command in listed[:-1]} == {"office"}


@pytest.mark.one_database
@pytest.mark.parametrize("text", ["/help", "/new", "/status", "/tasks", "/why"])
async def test_an_office_command_wakes_nobody_even_where_everybody_wakes(office: Driver, text: str) -> None:
    await office.agent("ada", steps=[say("never")])
    await office.space("studio", ["ada"], wake={"people": "all"})
    assert (await office.create("/spaces/studio/preview", {"text": text}, status=200))["wakes"] == []
    said = await office.post("studio", f"{text} please")
    await office.idle()
    assert await office.runs() == []
    why = await office.get(f"/messages/{said['id']}/why")
    assert [agent["code"] for agent in why["agents"]] == ["command"]


@pytest.mark.one_database
async def test_agents_give_no_commands(office: Driver) -> None:
    await studio(office)
    ada = await office.as_agent("ada")
    for word in sorted(COMMANDS):
        await ada.create("/spaces/studio/messages", {"text": f"/{word}"})
    assert {message["type"] for message in await office.messages("studio")} == {"text"}


async def test_new_hides_what_was_said_before_and_nothing_is_forgotten(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("yes")], tools=TOOLS)
    await office.space("studio", ["ada"], wake={"people": "all"})
    await office.post("studio", "the code word is heron")
    await office.run_finished("ada")
    assert (await asked(office, "/new"))["text"] == "Ada begins anew here."
    await office.post("studio", "and now?")
    await office.run_finished("ada", nth=2)
    shown = str(ada.shown[-1].turns)
    assert "heron" not in shown
    assert "You: yes" not in shown
    assert "What you did" not in shown
    assert "and now?" in shown
    assert "the code word is heron" in await office.texts("studio")


async def test_new_lasts_for_later_runs_and_only_this_space(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("yes")], tools=TOOLS)
    for space in ("studio", "other"):
        await office.space(space, ["ada"])
        await office.post(space, f"@ada heron of {space}")
        await office.idle()
    await office.post("studio", "/new")
    for number in range(60):
        await office.post("studio", f"line {number}")
    for space in ("studio", "other"):
        await office.post(space, "@ada now?")
        await office.idle()
    mine, others = ([seen for seen in ada.shown if seen.trigger.space_id == space][-1] for space in ("studio", "other"))
    assert "heron" not in str(mine.turns)
    assert "heron of other" in str(others.turns)


@pytest.mark.one_database
async def test_new_does_not_reset_an_agent_that_spans_spaces(office: Driver) -> None:
    await office.agent("ada", steps=[], scope="agent")
    await office.agent("bo", steps=[])
    await office.space("studio", ["ada", "bo"])
    text = (await asked(office, "/new"))["text"]
    assert text == "Bo begins anew here. Ada has one mind for all its spaces, and keeps it."


async def test_status_says_who_does_what_and_what_waits(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("hm")], tools=TOOLS, held=True)
    await office.agent("bo", steps=[])
    await office.space("studio", ["ada", "bo"])
    await stored(await office.as_agent("bo"))
    task = {"spaceId": "studio", "agentId": "bo", "prompt": "p", "scheduleType": "interval", "scheduleValue": "1h"}
    await office.create("/tasks", task)
    await office.post("studio", "@ada think")
    await ada.asked(1)
    text = (await asked(office, "/status"))["text"]
    ada.release()
    assert text == "Ada is running.\nBo is idle.\n1 task is scheduled.\n1 skill waits for approval."


async def test_tasks_shows_what_is_scheduled_here(office: Driver) -> None:
    await studio(office)
    assert (await asked(office, "/tasks"))["text"] == "Nothing is scheduled here."
    cron = {"scheduleType": "cron", "scheduleValue": "0 9 * * *", "timezone": "Europe/Berlin", "agentId": "ada"}
    task = await office.create("/tasks", {"spaceId": "studio", "prompt": "Brief\nus", **cron})
    paused = await office.create("/tasks", {"spaceId": "studio", "prompt": "Rest", **cron})
    await office.create(f"/tasks/{paused['id']}/pause", {})
    text = (await asked(office, "/tasks"))["text"]
    assert f"“Rest” by ada: paused, {paused['id']}" in text
    assert "“Brief us” by ada: next " in text
    assert f"(Europe/Berlin), {task['id']}" in text


async def test_why_explains_the_last_message_or_the_replied_one(office: Driver) -> None:
    await studio(office)
    first = await office.post("studio", "hello there")
    text = (await asked(office, "/why"))["text"]
    assert text.split("\n") == [
        "About “hello there”:",
        "In this room people's messages wake only agents that they mention. This one does not mention Ada.",
    ]
    await office.post("studio", "@ada and you?")
    await office.idle()
    assert "was woken by this message" in (await asked(office, "/why"))["text"]
    assert "hello there" in (await asked(office, "/why", replyTo=first["id"]))["text"]


@pytest.mark.one_database
async def test_why_in_an_empty_space_says_so(office: Driver) -> None:
    await office.space("empty")
    assert (await asked(office, "/why", space="empty"))["text"] == "Nothing was said here before."
