"""Everything that somebody can do in `world` (worlds.py): which routes it uses, and which events tell of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.driver import Api
from tests.feed.worlds import World
from tests.files.offering import give, picture

Do = Callable[[World], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    do: Do
    tells: frozenset[str]
    routes: frozenset[str]
    # The owner may be told to load again: no event can say that one reads no more what one was never a member of.
    resets_owner: bool


ACTIONS: list[Action] = []


def action(*tells: str, routes: str = "", resets_owner: bool = False) -> Callable[[Do], Do]:
    def add(do: Do) -> Do:
        named = frozenset(line.strip() for line in routes.split(",") if line.strip())
        ACTIONS.append(Action(do.__name__, do, frozenset(tells), named, resets_owner))
        return do

    return add


RUN = ("message_created", "run_started", "run_finished")
CALLED = (*RUN, "tool.started", "tool.done")


@action("message_created", routes="POST /api/spaces/{space_id}/messages")
async def post(world: World) -> None:
    await world.office.post("team", "hello @pia and @ADA-not-you")
    await world["pia"].create("/spaces/den/messages", {"text": "psst"})


@action("message_created")
async def post_as_an_agent(world: World) -> None:
    await world["ada"].create("/spaces/team/messages", {"text": "by my own program"})


@action("message_created")
async def reply_and_repeat(world: World) -> None:
    body = {"text": "an answer", "replyTo": world.messages["owner"]["id"], "clientMessageId": "c-1"}
    first = await world["pia"].create("/spaces/team/messages", body)
    assert first == await world["pia"].create("/spaces/team/messages", body)


@action("message_created", "message_deleted")
async def show_files_and_take_one_message_back(world: World) -> None:
    mine = await give(world.office, picture(), "p.png")
    shared = await give(world["pia"], space="team")
    await world.office.post("team", "look", attachments=[mine["id"], shared["id"]])
    gone = await world["pia"].create("/spaces/team/messages", {"attachments": [shared["id"]]})
    await world["pia"].ask("DELETE", f"/messages/{gone['id']}")


@action("message_updated", routes="PATCH /api/messages/{id}")
async def edit(world: World) -> None:
    await world["pia"].ask("PATCH", f"/messages/{world.messages['pia']['id']}", json={"text": "said better"})


@action("message_deleted", routes="DELETE /api/messages/{id}")
async def delete(world: World) -> None:
    await world["pia"].ask("DELETE", f"/messages/{world.messages['pia']['id']}")


@action("reaction_added", routes="POST /api/messages/{id}/reactions")
async def react(world: World) -> None:
    for name, emoji in (("pia", "👍"), ("ada", "🎉"), ("owner", "👍")):
        await world[name].create(f"/messages/{world.messages['pia']['id']}/reactions", {"emoji": emoji})


@action("reaction_removed", routes="DELETE /api/messages/{id}/reactions/{emoji}")
async def unreact(world: World) -> None:
    await world.office.ask("DELETE", f"/messages/{world.messages['pia']['id']}/reactions/👍")


@action(
    "message_pinned",
    "message_unpinned",
    routes="PUT /api/messages/{id}/pin, DELETE /api/messages/{id}/pin",
)
async def pin(world: World) -> None:
    path = f"/messages/{world.messages['pia']['id']}/pin"
    await world["pia"].ask("PUT", path)
    await world.office.ask("DELETE", path)
    await world.office.ask("PUT", path)


@action("space_created", "member_joined", routes="POST /api/spaces")
async def create_spaces(world: World) -> None:
    await world.office.space("club", ["psn_pia", "ada"], name="The club", trigger="hey", timezone="UTC")
    await world["pia"].create("/spaces", {"kind": "group", "name": "Mine", "members": ["psn_otto"], "private": True})
    await world["pia"].create("/spaces", {"kind": "dm", "members": ["psn_otto", "psn_pia"]})
    await world.office.dm("psn_pia", world.office.owner_id)
    await world.office.dm("ada", "pong")


@action("space_updated", routes="PATCH /api/spaces/{id}")
async def update_space(world: World) -> None:
    await world["pia"].ask(
        "PATCH", "/spaces/team", json={"name": "The team", "trigger": "t", "wake": {"agents": "none"}}
    )
    await world["pia"].ask("PATCH", "/spaces/team", json={"trigger": None})


@action("space_updated", "member_left", resets_owner=True)
async def close_a_space_to_the_owner(world: World) -> None:
    await world.office.ask("DELETE", f"/spaces/ring/members/{world.office.owner_id}")
    await world["pia"].ask("PATCH", "/spaces/ring", json={"private": True})
    await world["pia"].create("/spaces/ring/messages", {"text": "without the owner"})


@action("space_updated")
async def open_a_space_to_the_owner(world: World) -> None:
    await world["pia"].ask("PATCH", "/spaces/den", json={"private": False})


@action("member_joined", routes="POST /api/spaces/{id}/members")
async def add_members(world: World) -> None:
    await world.office.create("/spaces/team/members", {"memberId": "pong"})
    await world.office.create("/spaces/team/members", {"memberId": "psn_otto"})
    await world["otto"].create("/spaces/ring/members", {"memberId": "psn_otto"})
    await world["otto"].create("/spaces/ring/messages", {"text": "I am here"})
    await world.office.create("/spaces/ring/members", {"memberId": "ada"})


@action("member_joined", "member_left", "message_created", resets_owner=True)
async def leave_agents_alone_and_come_back(world: World) -> None:
    """The owner reads along while there are only agents; from the first person on, only if invited."""
    await world["pia"].ask("DELETE", "/spaces/den/members/psn_pia")
    await world["ada"].create("/spaces/den/messages", {"text": "nobody here but us"})
    await world.office.create("/spaces/den/members", {"memberId": "psn_otto"})
    await world["otto"].create("/spaces/den/messages", {"text": "what did you talk about?"})


@action("member_left", routes="DELETE /api/spaces/{id}/members/{member_id}")
async def remove_members(world: World) -> None:
    await world.office.ask("DELETE", "/spaces/team/members/psn_pia")
    await world.office.post("team", "now that Pia is gone")
    await world["pia"].ask("DELETE", "/spaces/den/members/ada")


@action("agent_created", routes="POST /api/agents")
async def create_agent(world: World) -> None:
    await world.office.agent("newt", steps=[], description="new", limits={"maxSteps": 3}, blocks={"persona": "small"})


@action("agent_updated", "space_updated", routes="PATCH /api/agents/{id}")
async def update_agent(world: World) -> None:
    await world.office.ask("PATCH", "/agents/ada", json={"instructions": "be kind", "limits": {"maxMessages": 2}})
    await world.office.ask("PATCH", "/agents/ada", json={"name": "Ada the Second"})


@action("agent_deleted", "member_left", routes="DELETE /api/agents/{id}")
async def delete_agent(world: World) -> None:
    await world.office.ask("DELETE", "/agents/pong")


@action("agent_created", "agent_updated", "space_created", "space_updated", "member_joined", routes="POST /api/apply")
async def apply_files(world: World) -> None:
    nia = {"id": "nia", "name": "Nia", "model": "script:echo"}
    ada = {"id": "ada", "name": "Ada of the files", "model": "script:silent"}
    ring = {"id": "ring", "name": "The ring", "members": ["nia"]}
    new = {"id": "files", "members": ["ada", "nia", "psn_pia"]}
    await world.office.create("/apply", {"agents": [nia, ada], "spaces": [ring, new]})


@action(*CALLED)
async def run_speaks(world: World) -> None:
    assert (await world.ask_ada("speak"))["outcome"] == "spoke"


@action(*CALLED, "reaction_added")
async def run_reacts(world: World) -> None:
    assert (await world.ask_ada("react"))["outcome"] == "reacted"


@action(*CALLED)
async def run_is_silent(world: World) -> None:
    assert (await world.ask_ada("be silent"))["outcome"] == "silent"


@action(*CALLED)
async def run_skips(world: World) -> None:
    assert (await world.ask_ada("skip this"))["silenceReason"] == "not my concern"


@action(*CALLED)
async def run_uses_tools(world: World) -> None:
    assert (await world.ask_ada("use tools"))["outcome"] == "acted"


@action(*RUN, "tool.started", "tool.error")
async def run_errs(world: World) -> None:
    await world.ask_ada("err")


@action(*CALLED, "message_updated")
async def run_shows_its_calls(world: World) -> None:
    await world.ask_ada("show")


@action(*RUN)
async def run_says_loose_words(world: World) -> None:
    assert (await world.ask_ada("loose words"))["outcome"] == "unsent_text"


@action(*CALLED, routes="POST /api/agents/{id}/trigger")
async def trigger(world: World) -> None:
    await world.office.create("/agents/ada/trigger", {"serviceName": "bell", "payload": {"rings": 2}})
    await world.office.run_finished("ada")


@action(*CALLED, "chain_stopped")
async def chain_stops(world: World) -> None:
    await world.office.post("ring", "@ping go")
    await world.office.event("chain_stopped")


@action(*RUN, routes="POST /api/runs/{id}/cancel")
async def cancel(world: World) -> None:
    await world.office.post("team", "@ada think long")
    started = await world.office.event("run_started")
    await world["pia"].ask("POST", f"/runs/{started['runId']}/cancel")
    assert (await world.office.run_finished("ada"))["status"] == "cancelled"


@action(*CALLED, "tool.requires_action", "pending_resolved", routes="POST /api/runs/{run_id}/tool-results")
async def a_program_answers(world: World) -> None:
    left, answered = await world.open_call(), await world.open_call()
    assert left["callId"] != answered["callId"]
    body = {"callId": answered["callId"], "result": {"said": "hello?"}}
    await world["ada"].ask("POST", f"/runs/{answered['runId']}/tool-results", json=body)
    await world.office.idle()


@action("message_created", "message_updated", "pending_resolved", routes="POST /api/pending/{call_id}/resolve")
async def a_person_answers(world: World) -> None:
    await world.open_call("ask us")
    asked = await world.open_call("ask us")
    await world["pia"].create(f"/pending/{asked['callId']}/resolve", {"result": "No."}, status=200)
    await world.office.idle()


@action("message_updated", "pending_resolved", routes="POST /api/pending/{call_id}/cancel")
async def a_call_is_cancelled(world: World) -> None:
    asked = await world.open_call("ask us")
    await world["pia"].create(f"/pending/{asked['callId']}/cancel", {}, status=200)
    await world.office.idle()


@action("agent_updated", routes="POST /api/agents/{id}/pause")
async def pause_an_agent(world: World) -> None:
    await world.office.create("/agents/ping/pause", {})
    await world.office.create("/agents/ada/pause", {})


@action("agent_updated", "message_created", "run_started", routes="POST /api/agents/{id}/resume")
async def pause_and_resume_in_the_middle(world: World) -> None:
    await world.office.post("team", "@ada think long")
    await world.office.event("run_started")
    await world.office.create("/agents/ada/pause", {})
    await world.office.event("agent_done")
    await world.office.create("/agents/ada/resume", {})
    await world.office.create("/agents/ada/pause", {})


@action("agent_created", "member_joined", "run_started", "run_waiting", "agent_updated")
async def wait_for_a_provider(world: World) -> None:
    await world.office.agent("lost", steps=[{"awaySeconds": 3000}])
    await world.office.create("/spaces/team/members", {"memberId": "lost"})
    await world.office.post("team", "@lost go")
    await world.office.event("run_waiting")
    await world.office.create("/agents/lost/pause", {})  # so that the office is at rest


PAID = [{"calls": [{"tool": "read_messages", "args": {}}], "usage": {"cost": 0.9}}] * 4


@action("budget_warned", "budget_reached", "agent_updated", "run_started", "run_paused")
async def run_out_of_money(world: World) -> None:
    await world.office.agent("payer", steps=PAID, limits={"maxCostPerDay": 1.0})
    await world.office.create("/spaces/team/members", {"memberId": "payer"})
    await world.office.post("team", "@payer go")
    await world.office.event("budget_reached")


@action("budget_reached", "run_paused", "run_resumed", "run_finished", "agent_updated")
async def resume_what_ran_out_of_money(world: World) -> None:
    await run_out_of_money(world)
    await world.office.create("/agents/payer/resume", {})
    await world.office.event("budget_reached", nth=2)
    await world.office.ask("PATCH", "/agents/payer", json={"limits": {"maxCostPerDay": 5.0}})
    await world.office.run_finished("payer")


@action("agents_paused", "agent_created", routes="POST /api/agents/pause")
async def pause_all_agents(world: World) -> None:
    await world.office.create("/agents/pause", {})
    await world.office.agent("late", steps=[])


@action("agents_paused", "agents_resumed", "agent_updated", routes="POST /api/agents/resume")
async def resume_all_agents(world: World) -> None:
    await world.office.create("/agents/pause", {})
    await world.office.create("/agents/pong/pause", {})
    await world.office.create("/agents/resume", {})


@action("space_updated", "access_changed", routes="PATCH /api/people/{id}")
async def change_a_person(world: World) -> None:
    await world.office.ask("PATCH", "/people/psn_pia", json={"name": "Pia the Great"})
    id, _ = await world.office.person("Zoe")
    await world.office.ask("PATCH", f"/people/{id}", json={"disabled": True})


@action("member_left", "space_erased", routes="DELETE /api/spaces/{id}", resets_owner=True)
async def erase_a_space(world: World) -> None:
    await world.office.ask("DELETE", "/spaces/ring")


ERASED = ("member_joined", "message_created", "reaction_added", "reaction_removed", "message_deleted", "member_left")


@action(*ERASED, "access_changed", routes="POST /api/people/{id}/erase")
async def erase_a_person(world: World) -> None:
    id, zoe = await world.office.person("Zoe")
    await _say_something(world, id, zoe)
    await world.office.create(f"/people/{id}/erase", {})


@action("message_updated", "message_deleted")
async def erase_a_person_whose_file_others_show(world: World) -> None:
    id, zoe = await world.office.person("Zoe")
    await world.office.create("/spaces/lobby/members", {"memberId": id})
    file = await give(zoe, space="lobby")
    await zoe.create("/spaces/lobby/messages", {"text": "mine", "attachments": [file["id"]]})
    await world.office.post("lobby", "hers", attachments=[file["id"]])
    await world.office.create(f"/people/{id}/erase", {})


@action(*ERASED, "agent_created", "agent_deleted", routes="POST /api/agents/{id}/erase")
async def erase_an_agent(world: World) -> None:
    await world.office.agent("late", steps=[])
    await _say_something(world, "late", await world.office.as_agent("late"))
    await world.office.create("/agents/late/erase", {})


HOURLY = {"spaceId": "team", "agentId": "ada", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}


@action("task_created", "task_updated", routes="POST /api/tasks, PATCH /api/tasks/{id}")
async def schedule_and_change(world: World) -> None:
    task = await world["pia"].create("/tasks", HOURLY)
    await world["pia"].ask("PATCH", f"/tasks/{task['id']}", json={"scheduleType": "cron", "scheduleValue": "0 9 * * *"})


@action("task_updated", routes="POST /api/tasks/{id}/pause, POST /api/tasks/{id}/resume")
async def pause_a_task_and_resume_it(world: World) -> None:
    for deeds in (("pause",), ("pause", "resume")):
        task = await world["pia"].create("/tasks", HOURLY)
        for deed in deeds:
            await world.office.create(f"/tasks/{task['id']}/{deed}", {})


@action("task_fired", "run_started", "run_finished", routes="POST /api/tasks/{id}/run")
async def run_a_task(world: World) -> None:
    task = await world["pia"].create("/tasks", HOURLY)
    await world.office.create(f"/tasks/{task['id']}/run", {})
    await world.office.event("run_finished", lambda e: e["run"]["trigger"].get("taskId") == task["id"])


@action("task_created", "task_deleted", routes="DELETE /api/tasks/{id}")
async def cancel_a_task(world: World) -> None:
    task = await world["pia"].create("/tasks", HOURLY)
    await world["ada"].ask("DELETE", f"/tasks/{task['id']}")


@action("goal_updated", routes="PUT /api/agents/{id}/goals, DELETE /api/agents/{id}/goals/{goalId}")
async def set_a_goal_and_delete_it(world: World) -> None:
    goal = {"id": "win", "description": "win"}
    await world.office.ask("PUT", "/agents/ada/goals", json={"goals": [goal]}, status=200)
    await world["ada"].ask("DELETE", "/agents/ada/goals/win", status=204)


@action(routes="PUT /api/agents/{id}/memories, DELETE /api/agents/{id}/memories")
async def set_a_memory_and_delete_it(world: World) -> None:
    memory = {"key": "city", "value": "Lisbon"}
    await world.office.ask("PUT", "/agents/ada/memories", json={"memories": [memory]}, status=200)
    await world.office.ask("DELETE", "/agents/ada/memories", params={"key": "city"}, status=204)


@action(routes="PUT /api/agents/{id}/plans, DELETE /api/agents/{id}/plans/{planId}")
async def set_a_plan_and_delete_it(world: World) -> None:
    plan = {"id": "p", "name": "look", "instruction": "look", "runAfter": "1 hour"}
    where = {"spaceId": "team"}
    await world.office.ask("PUT", "/agents/ada/plans", params=where, json={"plans": [plan]}, status=200)
    await world.office.ask("DELETE", "/agents/ada/plans/p", params=where, status=204)


@action("plan_fired", "agent_created", "member_joined", "run_started", "run_finished")
async def have_a_plan_fired(world: World) -> None:
    plan = {"name": "look", "instruction": "look", "runAfter": "1 second"}
    where = {"spaceId": "lobby"}
    await world.office.agent("planner", steps=[])
    await world.office.create("/spaces/lobby/members", {"memberId": "planner"})
    await world.office.ask("PUT", "/agents/planner/plans", params=where, json={"plans": [plan]}, status=200)
    await world.office.event("run_finished", lambda e: e["run"]["trigger"]["kind"] == "plan")


@action(
    "block_updated",
    routes=(
        "PUT /api/agents/{id}/blocks/{label}, DELETE /api/agents/{id}/blocks/{label}, "
        "POST /api/agents/{id}/blocks/{label}/revert"
    ),
)
async def write_a_block_delete_it_and_put_it_back(world: World) -> None:
    path = "/agents/ada/blocks/mood"
    await world.office.ask("PUT", path, json={"content": "calm"})
    await world["ada"].ask("PUT", path, params={"spaceId": "team"}, json={"content": "sly"})
    await world.office.ask("DELETE", path, status=204)
    await world.office.create(f"{path}/revert", {"version": 1}, status=200)


STANDUP = {"description": "Who did what", "instructions": "Ask everybody."}
SKILL = "/spaces/team/skills/standup"


@action(
    "passage_stored",
    routes="POST /api/spaces/{id}/passages, PATCH /api/passages/{id}, DELETE /api/passages/{id}",
)
async def remember_something_and_correct_it(world: World) -> None:
    made = await world["pia"].create("/spaces/team/passages", {"content": "the wifi is called owl"})
    await world["pia"].ask("PATCH", f"/passages/{made['id']}", json={"content": "the wifi is called fox"})
    await world["pia"].ask("DELETE", f"/passages/{made['id']}")


@action("passage_stored", routes="POST /api/agents/{id}/passages")
async def let_an_agent_remember_something(world: World) -> None:
    await world.office.create("/agents/ada/passages", {"content": "Pia likes tea"})


@action("skill_created", "skill_updated", routes="PUT /api/spaces/{id}/skills/{name}")
async def store_a_skill_and_change_it(world: World) -> None:
    await world["pia"].ask("PUT", SKILL, json=STANDUP)
    await world["pia"].ask("PUT", SKILL, json={**STANDUP, "instructions": "Ask Ada."})


@action("skill_created", "skill_updated", routes="POST /api/spaces/{id}/skills/{name}/approve")
async def propose_a_skill_and_approve_of_it(world: World) -> None:
    proposed = await world["ada"].ask("PUT", SKILL, json=STANDUP)
    await world["pia"].create(f"{SKILL}/approve", {"hash": proposed["hash"]})


@action("skill_created", "skill_deleted", routes="POST /api/spaces/{id}/skills/{name}/reject")
async def propose_a_skill_in_vain(world: World) -> None:
    await world["ada"].ask("PUT", SKILL, json=STANDUP)
    await world["pia"].create(f"{SKILL}/reject", {})


@action("skill_created", "skill_deleted", routes="DELETE /api/spaces/{id}/skills/{name}")
async def delete_a_skill(world: World) -> None:
    await world["pia"].ask("PUT", SKILL, json=STANDUP)
    await world["ada"].ask("DELETE", SKILL)


@action("skill_created", "run_finished", routes="POST /api/spaces/{id}/skills/{name}/invoke")
async def start_a_skill(world: World) -> None:
    await world["pia"].ask("PUT", SKILL, json=STANDUP)
    begun = await world["pia"].create(f"{SKILL}/invoke", {"parameters": "speak"})
    await world.office.event("run_finished", lambda e: e["run"]["threadId"] == begun["threadId"])


@action("skill_created", routes="POST /api/spaces/{id}/skills/import")
async def import_a_skill(world: World) -> None:
    text = "---\nname: stand-up\ndescription: Who did what\n---\nAsk everybody."
    await world["pia"].create("/spaces/team/skills/import", {"text": text})


async def _say_something(world: World, id: str, caller: Api) -> None:
    await world.office.create("/spaces/lobby/members", {"memberId": id})
    await caller.create("/spaces/lobby/messages", {"text": "I was here"})
    message = await world.office.post("lobby", "so you were")
    await caller.create(f"/messages/{message['id']}/reactions", {"emoji": "👋"})


# Changes that nobody follows, and why that is right.
NOT_FOLLOWED = {
    "POST /api/setup": "there is nobody yet who could follow",
    "POST /api/session": "who is signed in is nobody else's concern",
    "DELETE /api/session": "as above; what they had open ends: tests/api/test_signing_in.py",
    "POST /api/me/password": "as above",
    "POST /api/people": "people are listed when somebody asks; they show where they join",
    "POST /api/invites": "as above",
    "DELETE /api/invites/{id}": "as above",
    "POST /api/invites/accept": "as above",
    "POST /api/invites/look": "changes nothing",
    "DELETE /api/sessions/{id}": "as DELETE /api/session",
    "POST /api/models": "connections are listed when somebody asks; every question to a model reads its own",
    "PATCH /api/models/{id}": "as above",
    "DELETE /api/models/{id}": "as above",
    "POST /api/runs/{id}/retry": "a run like any other, which is followed",
    "POST /api/spaces/{id}/skills/{name}/undo": "tells what storing or deleting a skill tells; tests/skills",
    "POST /api/spaces/{id}/typing": "live only",
    "PUT /api/variables/{name}": "an event would tell everybody what is set where; runs read it when they need it",
    "DELETE /api/variables/{name}": "as above",
    "POST /api/models/check": "asks a model and changes nothing",
    "PUT /api/chats/{jid}": "what could become a group is listed when somebody asks; that it became one is a new space",
    "POST /api/bridges/{id}/dead/{entry_id}/retry": "owners look at bridges when something does not arrive",
    "DELETE /api/bridges/{id}/dead/{entry_id}": "as above",
    "PUT /api/policies": "for those who manage agents; each call reads what is decided about it",
    "DELETE /api/policies/{id}": "as above",
    "PUT /api/budgets": "for those who manage agents; owners are told when one is nearly or wholly used",
    "DELETE /api/budgets/{id}": "as above",
    "POST /api/tools": "tools are listed when somebody asks; runs read them when they begin",
    "PATCH /api/tools/{name}": "as above",
    "DELETE /api/tools/{name}": "as above",
    "POST /api/pending/{call_id}/progress": "live only: whoever looks later reads the last of it",
    "POST /api/hooks": "as above",
    "DELETE /api/hooks/{id}": "as above",
    "POST /hooks/{token}": "goes the way of POST /api/agents/{id}/trigger, whose run is followed",
    "POST /api/webhooks": "where somebody is told is nobody else's concern",
    "PATCH /api/webhooks/{id}": "as above",
    "DELETE /api/webhooks/{id}": "as above",
    "POST /api/webhooks/{id}/test": "changes nothing",
    "POST /api/keys/rotate": "nobody sees a difference",
    "POST /api/files": "a file is seen where a message shows it; whoever uploads it is told",
    "DELETE /api/files/{id}": "only what no message shows can be deleted",
    "POST /api/spaces/{id}/preview": "changes nothing",
    "POST /api/spaces/{id}/read": "how far somebody has read is theirs alone: an event would tell it to the others",
    "POST /api/tokens": "tokens are listed to owners when they ask; an event would spread knowledge of credentials",
    "DELETE /api/tokens/{id}": "as above",
}
