"""Webhooks: whoever is away is told of mentions and waiting calls: signed, at least once, only what they may see."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from bullpen.net.allowance import Allowance
from bullpen.observe.redact import MASK
from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import webhook_deliveries, webhooks
from bullpen.testing import FakeClock
from bullpen.upkeep import retention
from bullpen.webhooks import actions, rules
from bullpen.webhooks import sender as sending
from tests.databases import Database
from tests.driver import Api, Driver, Json, Offices
from tests.hooks.receivers import URL, Receiver, deliveries, one, over, receiving, signed, webhook
from tests.path.scripts import call, say, step, turn
from tests.upkeep.copies import back_up, bring_back

CARD: Json = {
    "name": "confirmAction",
    "description": "Ask the user to confirm an action",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "executionType": "space",
    "visible": True,
    "isAsync": True,
}
# Nobody looks by themselves: a test says when.
QUIET = EngineSettings(lease_seconds=3600)


async def count(office: Driver) -> int:
    async def body(tx: Transaction) -> int:
        row = await tx.one(Statement(select(func.count()).select_from(webhook_deliveries)))
        return 0 if row is None else int(row[0])

    return await office.office.store.read(body)


async def pia_in(office: Driver, *spaces: str, **more: Any) -> Api:
    _, pia = await office.person("Pia")
    for space in spaces:
        await office.space(space, ["psn_pia"], **more)
    return pia


async def card(office: Driver, space: str = "lab", config: Json = CARD) -> None:
    """An agent that asks for something when it is spoken to, and is spoken to."""
    await office.create("/tools", config)
    heard: Json = {"kind": "tool_result", "steps": [say("heard")]}
    turns = [heard, turn("", step(call(config["name"], what="pay")), say("asked"))]
    await office.agent("ada", turns, tools=["messaging", config["name"]])
    await office.create(f"/spaces/{space}/members", {"memberId": "ada"})
    await office.post(space, "@ada go")
    await office.event("tool.requires_action")


# ── being told ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_mention_is_told_and_signed(office: Driver) -> None:
    pia = await pia_in(office, "lab", name="The Lab")
    async with one(office) as receiver:
        made = await webhook(pia)
        assert made["secret"].startswith("whsec_")
        message = await office.post("lab", "@pia please look")
        told = await receiver.told()
        assert told["type"] == "mention"
        url = f"{office.office.url}/#space=lab&message={message['id']}"
        assert told["data"] == {
            "messageId": message["id"],
            "spaceId": "lab",
            "spaceName": "The Lab",
            "authorId": office.owner_id,
            "authorName": "Olga",
            "text": "@pia please look",
            "url": url,
        }
        (asked,) = receiver.asked
        assert (asked.line, asked.headers["content-type"]) == ("POST /inbox HTTP/1.1", "application/json")
        assert signed(made["secret"], asked)
        (delivery,) = await over(office, pia, made)
        assert (delivery["status"], delivery["attempts"], delivery["lastStatus"]) == ("delivered", 1, 200)
        assert (delivery["id"], delivery["subjectId"]) == (asked.headers["webhook-id"], message["id"])
        (listed,) = await pia.items("/webhooks")
        assert "secret" not in listed
        assert (listed["enabled"], listed["failures"], "deliveredAt" in listed) == (True, 0, True)


@pytest.mark.parametrize(
    "text, told",
    [
        ("@Pia at the beginning", True),
        ("ask @PSN_PIA", True),
        ("pia without a sign", False),
        ("@piano", False),
        ("mail me@pia.example", False),
        ("@Olga and nobody else", False),
    ],
)
@pytest.mark.one_database
async def test_only_a_mention_of_the_person_is_told(offices: Offices, text: str, told: bool) -> None:
    office = await offices.open(drive=False)
    pia = await pia_in(office, "lab")
    await webhook(pia)
    await office.post("lab", text)
    assert await count(office) == int(told)


@pytest.mark.one_database
async def test_replies_count_as_mentions_but_ones_own_messages_do_not(offices: Offices) -> None:
    office = await offices.open(drive=False)
    pia = await pia_in(office, "lab")
    await webhook(pia)
    hers = await pia.create("/spaces/lab/messages", {"text": "I am @pia"})
    assert await count(office) == 0
    await office.post("lab", "yes you are", replyTo=hers["id"])
    assert await count(office) == 1
    again = {"text": "@pia once", "clientMessageId": "one"}
    await office.create("/spaces/lab/messages", again)
    await office.create("/spaces/lab/messages", again)
    assert await count(office) == 2
    edited = await office.post("lab", "nobody")
    await office.ask("PATCH", f"/messages/{edited['id']}", json={"text": "@pia after all"})
    assert await count(office) == 2


@pytest.mark.one_database
async def test_mentions_of_others_are_told_to_whoever_asks_for_them(office: Driver) -> None:
    await office.agent("ada", steps=[])
    pia = await pia_in(office, "lab")
    await office.space("secret", ["ada"], private=True)
    async with one(office) as receiver:
        made = await webhook(pia, members=["ada", office.owner_id])
        await office.create("/spaces/lab/members", {"memberId": "ada"})
        await office.post("secret", "@ada not for her ears")
        await office.post("lab", "@pia is not watched")
        said = await pia.create("/spaces/lab/messages", {"text": "@ada what about it"})
        assert (await receiver.told())["data"]["messageId"] == said["id"]
        assert len(await over(office, pia, made)) == 1
    assert made["members"] == sorted(["ada", office.owner_id])
    await pia.create("/webhooks", {"url": URL, "members": ["nobody"]}, status=422)


@pytest.mark.one_database
async def test_a_waiting_card_notifies_those_who_may_answer_it(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    _, otto = await office.person("Otto")
    async with one(office) as receiver:
        made, others = await webhook(pia), await webhook(otto)
        await card(office)
        (pending,) = await pia.items("/pending")
        told = await receiver.told()
        data = told["data"]
        assert told["type"] == "tool.requires_action"
        assert data["url"] == f"{office.office.url}/#call={pending['callId']}"
        assert {name: data[name] for name in ("callId", "kind", "toolName", "agentId", "agentName", "spaceId")} == {
            "callId": pending["callId"],
            "kind": "space",
            "toolName": "confirmAction",
            "agentId": "ada",
            "agentName": "Ada",
            "spaceId": "lab",
        }
        assert data["deadline"][:19] == pending["expiresAt"][:19]
        assert "args" not in data
        assert signed(made["secret"], receiver.asked[0])
        assert len(await over(office, pia, made)) == 1
        assert await deliveries(otto, others) == []


@pytest.mark.one_database
async def test_approvals_notify_approvers_and_external_calls_notify_owners(offices: Offices) -> None:
    office = await offices.open()
    pia = await pia_in(office, "lab")
    await office.office.webhooks.stop()
    anna = await office.create("/people", {"name": "Anna", "role": "admin"})
    token = await office.create("/tokens", {"name": "Anna", "personId": anna["id"]})
    reader = await office.create("/tokens", {"name": "A", "personId": anna["id"], "scopes": ["read", "post"]})
    admin, small = Api(office.office, token["token"]), Api(office.office, reader["token"])
    made = {"pia": await webhook(pia), "anna": await webhook(admin), "small": await webhook(small)}
    mine = await webhook(office)

    async def told() -> dict[str, list[str]]:
        apis = {"pia": pia, "anna": admin, "small": admin}
        found = {who: await deliveries(apis[who], each) for who, each in made.items()}
        return {who: [d["key"] if "key" in d else d["type"] for d in each] for who, each in found.items()}

    await office.create("/tools", {**CARD, "policy": "ask"})
    await office.agent("ada", [turn("", step(call("confirmAction", what="x")), say("k"))], tools=["confirmAction"])
    await office.create("/spaces/lab/members", {"memberId": "ada"})
    await office.post("lab", "@ada go")
    event = await office.event("tool.requires_action")
    assert await told() == {"pia": [], "anna": ["tool.requires_action"], "small": []}
    assert len(await deliveries(office, mine)) == 1
    await office.create(f"/pending/{event['call']['callId']}/resolve", {"result": {"approved": True}})
    await office.event("tool.requires_action", nth=2)
    assert (await told())["pia"] == ["tool.requires_action"], "approved, it is a card"
    fetch = {**CARD, "name": "fetch", "executionType": "external", "visible": False}
    await office.create("/tools", fetch)
    await office.agent("bo", [turn("", step(call("fetch", what="x")), say("k"))], tools=["fetch"])
    await office.create("/spaces/lab/members", {"memberId": "bo"})
    await office.post("lab", "@bo go")
    await office.event("tool.requires_action", nth=3)
    assert len(await deliveries(office, mine)) == 3
    assert (len((await told())["pia"]), len((await told())["anna"])) == (1, 1)


# ── what nobody may see is told to nobody ───────────────────────────────────────────────────────────────────────────


async def test_a_webhook_skips_messages_its_person_may_not_see(offices: Offices) -> None:
    office = await offices.open(drive=False)
    _, otto = await office.person("Otto")
    await office.space("open")
    await office.space("closed", private=True)
    await webhook(otto)
    await webhook(otto, members=[office.owner_id])
    _, pia = await office.person("Pia")
    for space in ("open", "closed"):
        await office.create(f"/spaces/{space}/members", {"memberId": "psn_pia"})
        await pia.create(f"/spaces/{space}/messages", {"text": "@otto and @olga"})
    assert await count(office) == 0
    await office.create("/spaces/open/members", {"memberId": "psn_otto"})
    await pia.create("/spaces/open/messages", {"text": "@otto and @olga"})
    assert await count(office) == 2


@pytest.mark.parametrize("change", ["leave", "disable", "delete", "switch off", "take back"])
async def test_a_queued_delivery_that_no_longer_applies_is_not_sent(offices: Offices, change: str) -> None:
    office = await offices.open(engine=QUIET)
    pia = await pia_in(office, "lab")
    async with one(office) as receiver:
        await office.office.webhooks.stop()
        made = await webhook(pia)
        message = await office.post("lab", "@pia quick")
        assert await count(office) == 1
        if change == "leave":
            await pia.ask("DELETE", "/spaces/lab/members/psn_pia", status=204)
        elif change == "disable":
            await office.ask("PATCH", "/people/psn_pia", json={"disabled": True})
        elif change == "delete":
            await pia.ask("DELETE", f"/webhooks/{made['id']}", status=204)
        elif change == "switch off":
            await pia.ask("PATCH", f"/webhooks/{made['id']}", json={"enabled": False})
        else:
            await office.ask("DELETE", f"/messages/{message['id']}")
        office.office.webhooks.start()
        await office.office.webhooks.look()
        if change == "delete":
            assert await count(office) == 0
        else:
            (delivery,) = await over(office, office, made)
            assert delivery["status"] == "dropped"
        assert receiver.asked == []


async def test_a_card_that_was_answered_meanwhile_is_not_told(offices: Offices) -> None:
    office = await offices.open(engine=QUIET)
    pia = await pia_in(office, "lab")
    async with one(office) as receiver:
        await office.office.webhooks.stop()
        made = await webhook(pia)
        await card(office)
        (pending,) = await pia.items("/pending")
        await pia.create(f"/pending/{pending['callId']}/resolve", {"result": {"ok": True}})
        office.office.webhooks.start()
        await office.office.webhooks.look()
        assert [d["status"] for d in await over(office, pia, made)] == ["dropped"]
        assert receiver.asked == []


@pytest.mark.proves("F1")
@pytest.mark.one_database
async def test_a_secret_in_a_message_is_not_told(office: Driver) -> None:
    secret = "canary-4711-in-its-mine"
    await office.ask("PUT", "/variables/CANARY", json={"value": secret, "type": "secret"})
    pia = await pia_in(office, "lab")
    await office.ask("PATCH", "/spaces/lab", json={"name": f"where {secret} is known"})
    async with one(office) as receiver:
        await webhook(pia)
        await office.post("lab", f"@pia it is {secret}")
        told = await receiver.told()
    assert told["data"]["text"].startswith("@pia it is ***")
    assert MASK in told["data"]["text"]
    assert MASK in told["data"]["spaceName"]
    assert secret.encode() not in receiver.asked[0].body


# ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_failed_deliveries_are_retried_with_backoff_and_the_same_id(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(engine=QUIET, clock=clock)
    pia = await pia_in(office, "lab")
    async with one(office, statuses=["500 Oops", "503 Busy", "200 OK"]) as receiver:
        made = await webhook(pia)
        await office.post("lab", "@pia again")
        for attempt, wait in ((1, 10), (2, 60)):
            await receiver.told(attempt)
            await office.until(lambda n=attempt: waits(pia, made, n))  # type: ignore[misc]
            (delivery,) = await deliveries(pia, made)
            assert (delivery["status"], delivery["attempts"]) == ("queued", attempt)
            clock.advance(wait * 0.79)
            await looked(office)
            assert len(receiver.asked) == attempt, "not yet"
            clock.advance(wait * 0.42)
            await office.office.webhooks.look()
        await receiver.told(3)
        (delivery,) = await over(office, pia, made)
        assert (delivery["status"], delivery["attempts"], delivery["lastStatus"]) == ("delivered", 3, 200)
    assert len(set(receiver.ids)) == 1
    assert len({asked.headers["webhook-timestamp"] for asked in receiver.asked}) == 3
    assert all(signed(made["secret"], asked) for asked in receiver.asked)


async def test_a_clock_put_back_brings_the_next_attempt_forward(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(engine=QUIET, clock=clock)
    pia = await pia_in(office, "lab")
    await office.office.tidy()
    clock.advance(86_400)
    async with one(office, statuses=["500 Oops", "200 OK"]) as receiver:
        made = await webhook(pia)
        await office.post("lab", "@pia again")
        await receiver.told(1)
        await office.until(lambda: waits(pia, made, 1))
        await office.office.tidy()
        clock.advance(-86_400)
        await office.office.tidy()
        await receiver.told(2)
        (delivery,) = await over(office, pia, made)
        assert delivery["status"] == "delivered"


async def waits(api: Api, made: Json, attempt: int) -> bool:
    """Has the n-th attempt been settled?"""
    (delivery,) = await deliveries(api, made)
    return (
        delivery["attempts"] == attempt
        and "lastError" in delivery
        and delivery["status"] == "queued"
        and ((await api.items("/webhooks"))[0]["failures"] == attempt)
    )


async def test_exhausted_retries_fail_the_delivery_and_eventually_disable_the_webhook(
    offices: Offices,
) -> None:
    clock = FakeClock()
    office = await offices.open(engine=QUIET, clock=clock)
    pia = await pia_in(office, "lab")
    async with one(office, statuses=["500 Oops"]) as receiver:
        made = await webhook(pia)
        attempts = 0
        for delivery in (1, 2):
            await office.post("lab", f"@pia {delivery}")
            for _ in range(7):
                attempts += 1
                await receiver.told(attempts)
                await office.until(lambda n=attempts: failures(pia, n))  # type: ignore[misc]
                clock.advance(21_600 * 1.21)
                await office.office.webhooks.look()
            found = await over(office, pia, made, delivery)
            assert [d["status"] for d in found] == ["failed"] * delivery
            assert found[0]["lastError"] == "It answered with status 500."
            assert (await pia.items("/webhooks"))[0]["enabled"] is (delivery == 1)
        (listed,) = await pia.items("/webhooks")
        assert listed["reason"] == "14 attempts in a row have failed. It answered with status 500."
        (row,) = await office.items("/audit", action="webhook.disabled")
        assert (row["objectId"], row["detail"]["reason"]) == (made["id"], listed["reason"])
        await office.post("lab", "@pia 3")
        assert await count(office) == 2
        receiver.statuses = ["200 OK"]
        again = await pia.ask("PATCH", f"/webhooks/{made['id']}", json={"enabled": True})
        assert (again["enabled"], again["failures"], "reason" in again) == (True, 0, False)
        await office.post("lab", "@pia 4")
        assert (await receiver.told(attempts + 1))["data"]["text"] == "@pia 4"


async def failures(api: Api, number: int) -> bool:
    return bool((await api.items("/webhooks"))[0]["failures"] == number)


@pytest.mark.one_database
async def test_a_410_response_disables_the_webhook_without_a_retry(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    async with one(office, statuses=["410 Gone"]) as receiver:
        made = await webhook(pia)
        await office.post("lab", "@pia hello?")
        (delivery,) = await over(office, pia, made)
        assert (delivery["status"], delivery["attempts"]) == ("failed", 1)
        (listed,) = await pia.items("/webhooks")
        assert (listed["enabled"], listed["reason"]) == (False, "It answered 410 Gone.")
        await office.post("lab", "@pia hello??")
        assert await count(office) == 1
        assert len(receiver.asked) == 1


@pytest.mark.one_database
async def test_a_redirect_is_not_followed(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    async with one(office, statuses=["302 Found\r\nLocation: http://told.example.com/elsewhere"]) as receiver:
        made = await webhook(pia)
        tested = await pia.create(f"/webhooks/{made['id']}/test", {}, status=200)
        assert not tested["delivered"]
        assert [asked.target for asked in receiver.asked] == ["/inbox"]


@pytest.mark.proves("D1")
@pytest.mark.one_database
async def test_private_addresses_are_called_only_if_listed_for_webhooks(office: Driver) -> None:
    pia = await pia_in(office)
    url = "http://10.0.0.5:8123/told"
    receiver = Receiver()
    for listed in (False, True):
        allowance = Allowance({"webhook": [url]} if listed else {"gateway:x": [url]})
        async with receiving(office, allowance=allowance) as outer:
            await outer.server(receiver.behave, name="lan", address="10.0.0.5", port=8123)
            made = await webhook(pia, url)
            tested = await pia.create(f"/webhooks/{made['id']}/test", {}, status=200)
            assert (tested["delivered"], tested.get("status")) == (listed, 200 if listed else None)
            assert listed or "10.0.0.5" in tested["error"]
    assert [asked.target for asked in receiver.asked] == ["/told"]


@pytest.mark.one_database
async def test_a_slow_receiver_keeps_nobody_else_waiting(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    slow, quick = Receiver(hold=asyncio.Event()), Receiver()
    async with receiving(office, receivers={"slow.example.com": slow, "quick.example.com": quick}):
        first = await webhook(pia, "http://slow.example.com/")
        await webhook(pia, "http://quick.example.com/")
        for n in range(3):
            await office.post("lab", f"@pia {n}")
            await quick.told(n + 1)
        assert len(slow.asked) == 1, "one at a time"
        assert slow.hold is not None
        slow.hold.set()
        await over(office, pia, first, 3)
        assert [asked.body for asked in slow.asked] != []


@pytest.mark.one_database
async def test_receivers_beyond_the_concurrency_limit_are_all_notified(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "AT_ONCE", 2)
    pia = await pia_in(office, "lab")
    async with one(office) as receiver:
        made = [await webhook(pia, f"{URL}/{n}") for n in range(7)]
        await office.post("lab", "@pia everywhere")
        await receiver.told(7)
        for each in made:
            await over(office, pia, each)
    assert len({asked.target for asked in receiver.asked}) == 7


# ── crashes and processes ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_crash_before_settling_resends_under_the_same_id(
    offices: Offices, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    office = await offices.open(engine=QUIET, clock=clock)
    pia = await pia_in(office, "lab")
    settle = actions.settle

    class Killed(Exception):
        pass

    async def killed(*args: Any, **more: Any) -> bool:
        raise Killed

    async with one(office) as receiver:
        made = await webhook(pia)
        monkeypatch.setattr(actions, "settle", killed)
        await office.post("lab", "@pia once more")
        await receiver.told()
        await office.until(lambda: idle(office))
        monkeypatch.setattr(actions, "settle", settle)
        clock.advance(59)
        await looked(office)
        assert len(receiver.asked) == 1, "it may still be under way"
        clock.advance(2)
        await office.office.webhooks.look()
        await receiver.told(2)
        (delivery,) = await over(office, pia, made)
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 2)
    assert len(set(receiver.ids)) == 1


async def looked(office: Driver) -> None:
    """After a look, and after whatever it began."""
    await office.office.webhooks.look()
    await office.until(lambda: idle(office))


async def idle(office: Driver) -> bool:
    return not office.office.webhooks.working


async def test_another_process_sends_what_one_process_left_queued(offices: Offices) -> None:
    first = await offices.open(drive=False)
    pia = await pia_in(first, "lab")
    made = await webhook(pia)
    await first.post("lab", "@pia from a process that only answers requests")
    assert [d["status"] for d in await deliveries(pia, made)] == ["queued"]
    if not first.office.store.shared:
        return
    second = await offices.open()
    async with one(second) as receiver:
        await receiver.told()
        await over(second, pia, made)


async def test_only_one_of_several_processes_sends_each_delivery(offices: Offices) -> None:
    first = await offices.open(engine=QUIET)
    shared = first.office.store.shared
    others = [await offices.open(engine=QUIET) for _ in range(2 if shared else 0)]
    everybody = [first, *others]
    pia = await pia_in(first, "lab")
    async with one(*everybody) as receiver:
        for office in everybody:
            await office.office.webhooks.stop()
        made = await webhook(pia)
        for n in range(20):
            await first.post("lab", f"@pia {n}")
        for office in everybody:
            office.office.webhooks.start()
        for _ in range(20):
            await asyncio.gather(*(office.office.webhooks.look() for office in everybody))
            await asyncio.sleep(0)
        await over(first, pia, made, 20)
        assert len(receiver.ids) == len(set(receiver.ids)) == 20


async def test_a_delivery_is_never_taken_by_two_workers_at_once(offices: Offices) -> None:
    office = await offices.open(drive=False)
    pia = await pia_in(office, "lab")
    made = await webhook(pia)
    for n in range(5):
        await office.post("lab", f"@pia {n}")
    store = office.office.store

    async def take(tx: Transaction) -> Any:
        return await actions.take(tx, made["id"], "http://office")

    letters = [letter for letter in await asyncio.gather(*(store.transact(take) for _ in range(12))) if letter]
    assert len({letter.id for letter in letters}) == len(letters)
    assert 1 <= len(letters) <= 5


async def test_nothing_is_queued_without_a_webhook_for_the_event(offices: Offices) -> None:
    office = await offices.open(drive=False)
    pia = await pia_in(office, "lab")
    await office.post("lab", "@pia nobody listens")
    made = await webhook(pia, events=["tool.requires_action"])
    await office.post("lab", "@pia she does not care")
    await pia.ask("PATCH", f"/webhooks/{made['id']}", json={"enabled": False, "events": ["mention"]})
    await office.post("lab", "@pia it is off")
    assert await count(office) == 0
    await pia.ask("PATCH", f"/webhooks/{made['id']}", json={"enabled": True})
    await office.post("lab", "@pia now")
    assert await count(office) == 1


# ── looking after them ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_webhook_test_reports_the_response_and_stores_nothing(office: Driver) -> None:
    pia = await pia_in(office)
    async with one(office, statuses=["200 OK", "503 Busy"]) as receiver:
        made = await webhook(pia)
        first = await pia.create(f"/webhooks/{made['id']}/test", {}, status=200)
        second = await pia.create(f"/webhooks/{made['id']}/test", {}, status=200)
        assert (first["delivered"], first["status"], "error" in first) == (True, 200, False)
        assert (second["delivered"], second["error"]) == (False, "It answered with status 503.")
        assert (await receiver.told())["type"] == "ping"
        assert signed(made["secret"], receiver.asked[0])
        assert await deliveries(pia, made) == []
        elsewhere = await webhook(pia, "http://nowhere.example.com/")
        lost = await pia.create(f"/webhooks/{elsewhere['id']}/test", {}, status=200)
        assert (lost["delivered"], "status" in lost) == (False, False)


async def test_owners_see_webhook_origins_and_may_delete_but_not_change(office: Driver) -> None:
    pia = await pia_in(office)
    _, otto = await office.person("Otto")
    made = await webhook(pia, "https://chat.example.com/secret/path")
    (seen,) = await office.items("/webhooks")
    assert (seen["id"], seen["url"]) == (made["id"], "https://chat.example.com")
    assert await otto.items("/webhooks") == []
    path = f"/webhooks/{made['id']}"
    for api, status in ((otto, 404), (office, 403)):
        await api.ask("PATCH", path, json={"url": "https://mine.example.com"}, status=status)
        await api.ask("POST", f"{path}/test", status=status)
    await otto.ask("GET", f"{path}/deliveries", status=404)
    await otto.ask("DELETE", path, status=404)
    await office.ask("DELETE", path, status=204)
    await office.ask("DELETE", path, status=404)
    rows = await office.items("/audit", objectId=made["id"])
    assert [row["action"] for row in rows] == ["webhook.deleted", "webhook.created"]
    assert "secret" not in str(rows)


@pytest.mark.parametrize("url", ["", "ftp://example.com/", "example.com", "http://", "https://user:pw@example.com/"])
@pytest.mark.one_database
async def test_an_invalid_webhook_url_is_refused(office: Driver, url: str) -> None:
    refused = await office.create("/webhooks", {"url": url}, status=422)
    assert "url" in refused["error"]["fields"]


async def test_a_person_has_a_limited_number_of_webhooks(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST", 2)
    for _ in range(2):
        await webhook(office)
    await office.create("/webhooks", {"url": URL}, status=409)


async def test_old_deliveries_expire_together_with_the_journals(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(engine=QUIET, clock=clock)
    pia = await pia_in(office, "lab")
    async with one(office):
        made = await webhook(pia)
        await office.post("lab", "@pia old")
        await over(office, pia, made)
    await office.office.webhooks.stop()
    await office.post("lab", "@pia not sent yet")
    days = office.office.settings.retention.journals_days
    for more, left in ((days - 1, 2), (2, 1)):
        clock.advance(more * 86_400)
        await retention.forget(office.office.store, office.office.settings.retention)
        assert await count(office) == left


@pytest.mark.one_database
async def test_rotating_the_office_key_keeps_webhook_signatures_the_same(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    async with one(office) as receiver:
        made = await webhook(pia)
        before = await sealed(office)
        assert (await office.ask("POST", "/keys/rotate"))["secrets"] == 1
        assert (await office.get("/keys"))["keys"][0]["secrets"] == 1
        after = await sealed(office)
        assert before != after
        assert made["secret"] not in str((before, after))
        await office.post("lab", "@pia still there")
        await receiver.told()
        assert signed(made["secret"], receiver.asked[0])


async def sealed(office: Driver) -> Any:
    statement = Statement(select(webhooks.c.secret, webhooks.c.key_id))
    return await office.office.store.read(lambda tx: tx.one(statement))


async def test_a_persons_webhooks_are_in_exports_and_deleted_on_erasure(office: Driver) -> None:
    pia = await pia_in(office, "lab")
    await office.space("hall", ["psn_pia"])
    made = await webhook(pia)
    await office.office.webhooks.stop()
    for space in ("lab", "hall"):
        await office.post(space, "@pia quickly")
    lines = (await pia.http.get("/people/psn_pia/export")).text
    assert made["id"] in lines
    assert made["secret"] not in lines
    await office.ask("DELETE", "/spaces/hall")
    assert await count(office) == 1
    await office.create("/people/psn_pia/erase", {})
    assert await count(office) == 0
    assert await office.items("/webhooks") == []


async def test_deliveries_queued_in_a_backup_are_dropped_after_a_restore(database: Database, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(drive=False)
        pia = await pia_in(office, "lab")
        made = await webhook(pia)
        await office.post("lab", "@pia long ago")
    await back_up(database, tmp_path / "copy.jsonl")
    await bring_back(database, tmp_path / "copy.jsonl", force=True)
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(drive=False)
        (delivery,) = await deliveries(office, made)
        assert delivery["status"] == "dropped"
        (listed,) = await office.items("/webhooks")
        assert listed["enabled"]
