"""Cards: how tools look, who answers them, and that nothing in them can deceive."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from bullpen.testing.model_server import ModelServer, plays, plays_in_two
from bullpen.testing.wires import Text, Wanted
from tests.page.house import House, Printer, Visit, edit_last


def calls(tool: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args}]}


def card(page: Page, label: str) -> Any:
    return page.get_by_role("region", name=re.compile(label))


async def ask(house: House, tool: str, *members: str, fields: dict[str, Any] | None = None, **args: Any) -> str:
    """A room in which an agent has called a tool."""
    await house.tool(tool, **(fields or {}))
    agent = await house.agent(
        "Otto", turns=[{"when": "^go$", "steps": [calls(tool, **args)]}], tools=["messaging", tool]
    )
    room = await house.room(agent, *members)
    await house.post(room, "go")
    return room


@pytest.mark.proves("S4-33", "S4-29")
async def test_a_question_is_answered_and_everybody_sees_it_happen(house: House, visit: Visit, other: Visit) -> None:
    room = await ask(house, "confirm", house.ids["Bo"], question="Send the invoice?", yes="Send it", no="Not yet")
    page, theirs = await visit.room(room), await other.room(room)
    await expect(card(page, "Send the invoice").get_by_role("button", name="Send it")).to_be_enabled()
    await card(theirs, "Send the invoice").get_by_role("button", name="Send it").click()
    for each in (page, theirs):
        await expect(card(each, "Send the invoice").get_by_text("Bo:")).to_be_visible()
        await expect(card(each, "Send the invoice").get_by_role("button")).to_have_count(0)
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["status"] == "complete"
    assert message["metadata"]["result"] == {"confirmed": True}


@pytest.mark.proves("C16")
@pytest.mark.fresh_page
async def test_answering_again_in_a_second_tab_shows_the_first_answer(house: House, visit: Visit) -> None:
    room = await ask(house, "choose", question="Which paper?", options=["Matt", "Glossy"])
    page = await visit.room(room)
    second = await visit.context.new_page()
    await second.goto(f"{house.url}/rooms/{room}")
    tabs = (page, second)
    for tab, choice in zip(tabs, ("Matt", "Glossy"), strict=True):
        await tab.route("**/api/events*", lambda route: route.abort())
        await card(tab, "Which paper").get_by_label(choice).check()
    # One of them holds the stream of both. Neither hears what the other does.
    for tab in tabs:
        await tab.evaluate("window.dispatchEvent(new Event('offline'))")
        await expect(tab.get_by_text("No connection to the office.").first).to_be_visible()
    await card(page, "Which paper").get_by_role("button", name="Send answer").click()
    await expect(card(page, "Which paper").get_by_text("Olga:")).to_be_visible()
    await card(second, "Which paper").get_by_role("button", name="Send answer").click()
    await expect(second.get_by_text("You have answered already: Matt.")).to_be_visible()
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["metadata"]["result"] == {"choice": "Matt"}


@pytest.mark.proves("C16")
@pytest.mark.fresh_page
async def test_who_answers_second_is_told_who_was_first(house: House, visit: Visit, other: Visit) -> None:
    room = await ask(house, "choose", house.ids["Bo"], question="Which subject line?", options=["A week", "A chart"])
    page, theirs = await visit.room(room), await other.room(room)
    await expect(card(theirs, "Which subject").get_by_label("A chart")).to_be_visible()
    await card(page, "Which subject").get_by_label("A week").check()
    # Both have decided before either hears of the other.
    await theirs.route("**/api/events*", lambda route: route.abort())
    await theirs.evaluate("window.dispatchEvent(new Event('offline'))")
    await card(theirs, "Which subject").get_by_label("A chart").check()
    await card(page, "Which subject").get_by_role("button", name="Send answer").click()
    await expect(card(page, "Which subject").get_by_text("Olga:")).to_be_visible()
    await card(theirs, "Which subject").get_by_role("button", name="Send answer").click()
    await expect(theirs.get_by_text("Olga answered first: A week.")).to_be_visible()


async def test_a_form_follows_its_schema_and_names_missing_fields(house: House, visit: Visit) -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "title": "City", "minLength": 2},
            "nights": {"type": "integer", "title": "Nights", "minimum": 1},
            "class": {"type": "string", "enum": ["plain", "fine"], "title": "Class"},
        },
        "required": ["city"],
    }
    room = await ask(house, "form", title="The trip", schema=schema, values={"nights": 2})
    page = await visit.room(room)
    form = card(page, "Form: The trip")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_text("is needed")).to_be_visible()
    await form.get_by_label("City").fill("Lisbon")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_text("Olga:")).to_be_visible()
    await house.reads(
        f"/spaces/{room}/messages", lambda page: "Lisbon" in str(page["items"])
    )  # shown before it is kept
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["metadata"]["result"] == {"values": {"city": "Lisbon", "nights": 2}}


async def test_a_failed_answer_is_reported_and_keeps_what_was_entered(house: House, visit: Visit) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}
    trip = await ask(house, "form", title="The trip", schema=schema)
    page = await visit.room(trip)
    form = card(page, "Form: The trip")
    await form.get_by_label("City").fill("Lisbon")
    await page.route("**/resolve", lambda route: route.abort("connectionreset"))
    await form.get_by_role("button", name="Send answer").click()
    await expect(page.get_by_role("alert").filter(has_text="may not have arrived")).to_be_visible()
    await expect(form.get_by_label("City")).to_have_value("Lisbon")
    await page.unroute("**/resolve")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_text("Olga:")).to_be_visible()
    await expect(page.get_by_text("may not have arrived")).to_have_count(0)

    async def refuse(route: Any) -> None:
        error = {"error": {"code": "busy", "message": "The office is about to close."}}
        await route.fulfill(status=503, json=error)

    for tool, args in (
        ("confirm", {"question": "Send it?"}),
        ("choose", {"question": "Which?", "options": ["A", "B"]}),
    ):
        await visit.room(await ask(house, tool, **args))
        asked = card(page, str(args["question"]).removesuffix("?"))
        await page.route("**/resolve", refuse)
        if tool == "choose":
            await asked.get_by_label("B").check()
        await asked.get_by_role("button").first.click()
        told = page.get_by_role("alert").filter(has_text="The office is about to close. Nothing was answered")
        await expect(told).to_be_visible()
        await page.unroute("**/resolve")
        await asked.get_by_role("button").first.click()
        await expect(asked.get_by_text("Olga:")).to_be_visible()


@pytest.mark.fresh_page
async def test_what_was_begun_survives_being_scrolled_away(house: House, visit: Visit) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}
    await house.tool("form")
    steps = [calls("form", title="The trip", schema=schema)]
    agent = await house.agent("Otto", turns=[{"when": "^go$", "steps": steps}], tools=["messaging", "form"])
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    page = await visit.room(room)
    box = page.get_by_label(f"Message {room}")
    await box.fill("my first thoguht")
    await box.press("Enter")
    await expect(page.get_by_role("article").filter(has_text="my first thoguht")).to_be_visible()
    await edit_last(page, room)
    await page.get_by_label("Edit message").fill("my first thought, mended")
    await house.ask("PATCH", f"/spaces/{room}", json={"wake": {"people": "all", "agents": "none"}})
    await house.post(room, "go")
    form = card(page, "Form: The trip")
    await form.get_by_label("City").fill("Lisbon")
    await house.ask("PATCH", f"/spaces/{room}", json={"wake": {"people": "none", "agents": "none"}})
    for number in range(40):
        await house.post(room, f"line {number}\n\n- more\n- of\n- it")
    await expect(form.get_by_label("City")).to_be_in_viewport()  # it does not move away under somebody's hands
    await page.get_by_role("button", name=re.compile("new$|Newest")).click()
    await expect(form).to_have_count(0)
    await page.get_by_role("button", name="1 card waits above").click()
    await expect(form.get_by_label("City")).to_have_value("Lisbon")
    await page.get_by_role("log").hover()
    await page.mouse.wheel(0, -3000)
    await expect(page.get_by_label("Edit message")).to_have_value("my first thought, mended")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_text("Olga:")).to_be_visible()


async def test_a_tool_without_a_card_asks_for_fields_left_open(house: House, visit: Visit) -> None:
    properties = {"city": {"type": "string"}, "nights": {"type": "integer", "title": "Nights"}}
    schema = {"type": "object", "properties": properties, "required": ["nights"]}
    schema_for_agents = {**schema, "required": []}
    room = await ask(house, "book_trip", fields={"inputSchema": schema_for_agents}, city="Lisbon")
    page = await visit.room(room)
    asked = card(page, "Answer wanted: book_trip")
    await expect(asked.get_by_label("city")).to_have_value("Lisbon")
    await asked.get_by_label("Nights").fill("3")
    await asked.get_by_role("button", name="Send answer").click()
    await expect(card(page, "book_trip: done")).to_be_visible()
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["metadata"]["result"] == {"values": {"city": "Lisbon", "nights": 3}}
    # Where nothing is left open, words are asked for.
    await visit.room(await ask(house, "book_trip", city="Oslo", nights=1))
    await expect(asked.get_by_label("Your answer")).to_be_visible()
    await asked.get_by_role("button", name="Answer with its fields instead").click()
    await expect(asked.get_by_label("Nights")).to_have_value("1")


async def test_a_call_wanting_a_secret_has_no_input_field(house: House, visit: Visit) -> None:
    room = await ask(house, "weather_key", names=["WEATHER_KEY"])

    async def as_takeover(route: Any) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "kind": "takeover"})

    await visit.page.route("**/api/pending/*", as_takeover)
    page = await visit.room(room)
    asked = card(page, "Not answered here: weather_key")
    await expect(asked.get_by_text("This page does not take it")).to_be_visible()
    await expect(asked.get_by_role("textbox")).to_have_count(0)
    await expect(asked.get_by_role("button")).to_have_count(0)


async def test_a_missing_value_is_given_on_its_card(house: House, visit: Visit, other: Visit) -> None:
    secret = "weather-key-0123456789"
    execution = {
        "url": "https://weather.invalid/now",
        "method": "GET",
        "headers": {"Authorization": "Bearer {{var:W_KEY}}"},
    }
    fields = {"executionType": "gateway", "isAsync": False, "timeout": 600_000, "execution": execution}
    room = await ask(house, "masked_weather", house.ids["Bo"], fields=fields)
    page, theirs = await visit.room(room), await other.room(room)
    asked = card(page, "Values wanted: masked_weather")
    field = asked.get_by_label("W_KEY")
    await expect(asked.get_by_text("Sent to https://weather.invalid")).to_be_visible()
    await expect(field).to_have_attribute("type", "password")
    await expect(asked.get_by_role("button", name="Give it")).to_be_disabled()
    # Somebody else in the room may neither set a value of Olga's, nor one for the room that she has made.
    await expect(
        card(theirs, "Values wanted: masked_weather").get_by_text("who manages agents, to give")
    ).to_be_visible()
    await field.fill("short")
    await asked.get_by_role("button", name="Give it").click()
    await expect(page.get_by_text("A secret has at least 8 characters")).to_be_visible()
    await field.fill(secret)
    await asked.get_by_role("button", name="Give it").click()
    await expect(asked).to_have_count(0)
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["metadata"]["suppliedBy"] == house.ids["Olga"]
    assert secret not in repr(await house.messages(room)) + await page.content()
    kept = {each["name"]: each for each in (await house.ask("GET", "/variables"))["items"]}
    assert kept["W_KEY"]["scope"] == {"kind": "person", "id": house.ids["Olga"]}


async def test_a_call_under_way_says_how_long_and_is_stopped(house: House, visit: Visit, printer: Printer) -> None:
    shown = {"visible": True, "isAsync": False, "timeout": 60_000}
    page = await visit.room(await ask(house, "run_backup", fields={**shown, "executionType": "external"}))
    line = card(page, "run_backup: waiting")
    await expect(line.get_by_text(re.compile(r"^for \d+ s$"))).to_be_visible()
    await line.get_by_role("button", name="Stop run_backup").click()
    await expect(card(page, "run_backup: stopped")).to_be_visible()
    # One that is carried out here ends with its run, and nobody knows what the other side has done by then.
    printing = {"executionType": "gateway", "execution": {"url": f"{printer.url}/print", "method": "POST"}}
    room = await ask(house, "print_poster", fields={**shown, **printing})
    await visit.room(room)
    line = card(page, "print_poster: running")
    await expect(line.get_by_text(re.compile(r"^for \d+ s$"))).to_be_visible()
    await line.get_by_role("button", name="Stop print_poster").click()
    await expect(card(page, "print_poster: outcome unknown")).to_be_visible()
    printer.may_answer.set()
    await visit.go(f"/runs?spaceId={room}")
    await expect(page.get_by_role("link", name=re.compile("woken by Olga")).get_by_text("stopped")).to_be_visible()


@pytest.mark.fresh_page
async def test_an_interrupted_call_says_its_outcome_is_unknown(house: House, visit: Visit) -> None:
    """That the server says so of such calls: tests/path/test_cards.py."""
    fields = {"executionType": "internal", "visible": True, "isAsync": False}
    room = await ask(house, "send_invoice", fields=fields, to="Ines")
    # Once it is over, no event tells the page otherwise.
    await house.reads(f"/runs?spaceId={room}", lambda runs: [run["status"] for run in runs["items"]] == ["completed"])

    async def interrupted(route: Any) -> None:
        answer = await route.fetch()
        page = await answer.json()
        for message in page["items"]:
            if message["type"] == "tool":
                message["status"] = "error"
                message["metadata"] |= {"error": "send_invoice was interrupted.", "outcome": "unknown"}
        await route.fulfill(response=answer, json=page)

    await visit.page.route("**/api/spaces/*/messages*", interrupted)
    page = await visit.room(room)
    line = card(page, "send_invoice: outcome unknown")
    await expect(line.get_by_text("It may or may not have happened")).to_be_visible()
    await line.get_by_role("link", name="See its run").click()
    await expect(page.get_by_role("list", name="What happened").get_by_text("send_invoice")).to_be_visible()


async def test_a_chart_is_drawn_and_can_show_its_data(house: House, visit: Visit) -> None:
    rows = [{"day": "Mon", "signups": 41, "before": 36}, {"day": "Tue", "signups": 47, "before": 39}]
    fields = {"executionType": "internal", "visible": True, "isAsync": False}
    room = await ask(house, "show_chart", fields=fields, title="Signups per day", type="line", rows=rows)
    page = await visit.room(room)
    chart = card(page, "Chart: Signups")
    await expect(chart.locator("svg.recharts-surface").first).to_be_visible()
    await chart.get_by_label("Kind of chart").select_option("pie")
    await expect(chart.get_by_text("Mon 41")).to_be_visible()
    await chart.get_by_role("button", name="Show data").click()
    await expect(chart.get_by_role("cell", name="47")).to_be_visible()


@pytest.mark.proves("S4-04", "S4-18")
async def test_a_tool_without_a_card_shows_arguments_and_result(house: House, visit: Visit) -> None:
    fields = {"executionType": "internal", "visible": True, "isAsync": False}
    room = await ask(house, "count_sheep", fields=fields, field="meadow", wool=[{"colour": "white", "sheep": 12}])
    page = await visit.room(room)
    line = card(page, "count_sheep: done")
    await expect(line.get_by_text("field meadow")).to_be_visible()
    await line.get_by_role("button", name="Details").click()
    await expect(line.get_by_text('"meadow"').first).to_be_visible()
    hidden = await ask(house, "count_quietly", fields={**fields, "visible": False})
    await visit.room(hidden)
    await expect(page.get_by_text("go", exact=True)).to_be_visible()
    await expect(card(page, "count_quietly")).to_have_count(0)


async def refund(house: House, **args: Any) -> str:
    fields = {"executionType": "internal", "visible": True, "isAsync": False, "policy": "ask", "timeout": 600_000}
    return await ask(house, "refund_order", house.ids.get("Bo", house.ids["Olga"]), fields=fields, **args)


@pytest.mark.proves("B10")
async def test_an_approval_shows_exact_arguments_and_nothing_stays_hidden(house: House, visit: Visit) -> None:
    room = await refund(house, orderId=1042, to="bank\u202e\u200b.txt", note="x" * 2500)
    page = await visit.room(room)
    asked = card(page, "Approval wanted: refund_order")
    await expect(asked.get_by_text("‹U+202E›")).to_be_visible()
    await expect(asked.get_by_text("‹U+200B›")).to_be_visible()
    approve = asked.get_by_role("button", name="Approve")
    await expect(approve).to_be_disabled()
    await asked.get_by_role("button", name="+ 502 more characters").click()
    await expect(approve).to_be_enabled()
    await expect(approve).not_to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("y")
    await expect(approve).to_be_visible()
    await asked.get_by_role("button", name="Deny").click()
    await asked.get_by_label(re.compile("Why not")).fill("already paid")
    await asked.get_by_role("button", name="Deny and say why").click()
    await expect(page.get_by_text(re.compile("did not approve this call.*already paid"))).to_be_visible()


@pytest.mark.proves("B10")
@pytest.mark.proves("B-page-15")
async def test_approving_with_changes_keeps_all_other_arguments_exactly(house: House, visit: Visit) -> None:
    room = await refund(house, orderId=1234567890123456789, to="bank\u202e\u200b.txt", amount="48.50 EUR")
    page = await visit.room(room)
    asked = card(page, "Approval wanted: refund_order")
    await expect(asked.get_by_text("1234567890123456789", exact=True)).to_be_visible()
    await asked.get_by_role("button", name="Edit…").click()
    await expect(asked.get_by_label("orderId")).to_have_value("1234567890123456789")
    await expect(asked.get_by_label("to", exact=True)).to_have_value('"bank\\u202e\\u200b.txt"')
    await expect(asked.get_by_label("amount")).to_have_value("48.50 EUR")  # words as words, without quotes
    await asked.get_by_label("orderId").fill("40 EUR")
    await asked.get_by_role("button", name="Approve with changes").click()
    await expect(asked.get_by_text("orderId is a number, such as 40 or 2.5.")).to_be_visible()
    await asked.get_by_label("orderId").fill("1234567890123456789")
    await asked.get_by_label("amount").fill("40.00 EUR")
    await asked.get_by_role("button", name="Approve with changes").click()
    await expect(page.get_by_text("approved by Olga, with changed arguments")).to_be_visible()
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    args = {"orderId": 1234567890123456789, "to": "bank\u202e\u200b.txt", "amount": "40.00 EUR"}
    assert message["metadata"]["args"] == args


async def test_an_approval_names_its_agent_apart_and_by_id(house: House, visit: Visit) -> None:
    name = "עדה"  # read from the right
    room = await refund(house, orderId=7)
    (agent,) = [id for id in (await house.ask("GET", f"/spaces/{room}"))["members"] if not id.startswith("psn_")]
    await house.ask("PATCH", f"/agents/{agent}", json={"name": name})
    page = await visit.room(room)
    title = card(page, "Approval wanted: refund_order").locator("header")
    await expect(title.locator("bdi").first).to_have_text(name)
    await expect(title).to_contain_text(f"{name} {agent} wants to run")


async def test_whoever_shares_a_name_is_shown_with_the_id(house: House, visit: Visit) -> None:
    say = {"calls": [{"tool": "send_message", "args": {"text": "here"}}]}
    first, second = await house.agent("twin", say, {}), await house.agent("twin", say, {})
    for id in (first, second):
        await house.ask("PATCH", f"/agents/{id}", json={"name": "Twin"})
    room = await house.room(first, second)
    await house.post(room, "who is there?")
    page = await visit.room(room)
    for id in (first, second):
        await expect(page.get_by_role("log").get_by_text(id, exact=True)).to_be_visible()


async def test_an_approval_is_given_with_changed_arguments_and_for_always(house: House, visit: Visit) -> None:
    room = await refund(house, orderId=7, amount="48.50 EUR")
    page = await visit.room(room)
    asked = card(page, "Approval wanted: refund_order")
    await asked.get_by_role("button", name="Edit…").click()
    await asked.get_by_label("amount").fill("40.00 EUR")
    await expect(asked.get_by_text("48.50 EUR → 40.00 EUR")).to_be_visible()
    await asked.get_by_label("Always allow in this room").check()
    await asked.get_by_role("button", name="Approve with changes").click()
    await expect(page.get_by_text("approved by Olga, with changed arguments")).to_be_visible()
    (message,) = [each for each in await house.messages(room) if each["type"] == "tool"]
    assert message["metadata"]["args"]["amount"] == "40.00 EUR"
    policies = (await house.ask("GET", "/policies", params={"spaceId": room}))["items"]
    assert [(each["toolName"], each["decision"]) for each in policies] == [("refund_order", "allow")]


async def test_what_a_page_caused_is_allowed_for_its_source_alone(house: House, visit: Visit) -> None:
    plan = calls("schedule_task", prompt="read it", schedule_type="cron", schedule_value="0 9 * * 1")
    agent = await house.agent("Otto", plan, tools=["messaging", "tasks"])
    room = await house.room(agent)
    file = await house.ask("POST", "/files", params={"spaceId": room}, files={"file": ("note.txt", b"hello")})
    page = await visit.room(room)
    await house.post(room, "go", attachments=[file["id"]])
    await page.get_by_role("link", name=re.compile("Waiting for you")).click()
    asked = card(page, "Approval wanted: schedule_task")
    await expect(asked.get_by_text(f"You are asked because {agent.capitalize()} read file.")).to_be_visible()
    await expect(asked.get_by_role("button", name="Allow once")).to_be_enabled()
    await expect(asked.get_by_label("Always allow in this room")).to_have_count(0)
    await asked.get_by_role("button", name="Always allow schedule_task for text from file").click()
    await expect(asked).to_have_count(0)
    found = (await house.ask("GET", "/policies", params={"agentId": agent}))["items"]
    assert [(each["toolName"], each["source"], each["decision"]) for each in found] == [
        ("schedule_task", "file", "allow")
    ]


async def test_a_member_sees_an_approval_and_cannot_give_it(house: House, visit: Visit, other: Visit) -> None:
    room = await refund(house, orderId=9)
    theirs = await other.room(room)
    asked = card(theirs, "Approval wanted: refund_order")
    await expect(asked.get_by_role("button", name="Approve")).to_be_disabled()
    await expect(asked.get_by_text("An owner or an admin decides.")).to_be_visible()


async def test_all_pending_items_are_on_one_page_until_answered(house: House, visit: Visit) -> None:
    room = await ask(house, "confirm", question="Water the plants tonight?")
    page = await visit.go("/pending")
    await expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
    mine = card(page, "Water the plants")
    await expect(page.get_by_role("listitem").filter(has=mine).get_by_role("link", name=f"#{room}")).to_be_visible()
    await mine.get_by_role("button", name="Yes").click()
    await expect(mine).to_have_count(0)
    await expect(page.get_by_text(re.compile("Olga: Yes")).first).to_be_visible()


@pytest.mark.fresh_page
async def test_a_custom_card_is_drawn_by_its_module(house: House, visit: Visit) -> None:
    folder = house.data / "cards"
    folder.mkdir(exist_ok=True)
    (folder / "pick_colour.js").write_text(
        """export const summary = (call) => `Pick a colour for ${call.args.what}`;
        export function mount(element, call, answer, mayAnswer) {
          const button = document.createElement("button");
          const words = (now) => now.result ? `It is ${now.result.colour}` : `Blue for the ${now.args.what}`;
          const draw = (now) => { button.textContent = words(now) };
          button.onclick = () => answer({ colour: "blue" });
          element.append(button); draw(call);
          return { update: draw, unmount: () => button.remove() };
        }"""
    )
    room = await ask(house, "pick_colour", what="door")
    page = await visit.room(room)
    await page.get_by_role("button", name="Blue for the door").click()
    await expect(page.get_by_role("button", name="It is blue")).to_be_visible()


@pytest.mark.proves("S4-30", "S4-31", "S4-32")
async def test_a_card_grows_as_arguments_stream_and_takes_no_replies(
    house: House, visit: Visit, provider: ModelServer
) -> None:
    await house.tool("list_birds", executionType="internal", visible=True, isAsync=False)
    arguments = '{"place": "the meadow", "birds": "' + "sparrow, finch, wren, robin, " * 6 + '"}'
    rest = asyncio.Event()
    provider.gives(plays_in_two(Wanted("toolu_9", "list_birds", arguments), rest=rest), plays(Text("")))
    agent = await house.agent("Ines", tools=["messaging", "list_birds"])
    await house.ask("PATCH", f"/agents/{agent}", json={"model": "anthropic:claude-test"})
    asleep = await house.agent("Quiet", calls("send_message", text="I was woken."))
    room = await house.room(agent, asleep, wake={"people": "mention", "agents": "all"})
    page = await visit.room(room)
    await house.post(room, f"@{agent} go")
    await expect(card(page, "list_birds: running").get_by_text("place the meadow")).to_be_visible()
    rest.set()
    line = card(page, "list_birds: done")
    await expect(line).to_be_visible()
    await expect(card(page, "list_birds")).to_have_count(1)
    row = page.get_by_role("article").filter(has=line)
    await row.hover()
    await expect(row.get_by_role("button", name="Why?")).to_be_visible()
    await expect(row.get_by_role("button", name="Reply")).to_have_count(0)
    assert not [each for each in await house.messages(room) if each["authorId"] == asleep]
