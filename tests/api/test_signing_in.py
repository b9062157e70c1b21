"""The first owner, signing in and out, people, and the links that bring them in."""

from __future__ import annotations

import asyncio
import re
import threading
from asyncio import FIRST_COMPLETED
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from bullpen.access import passwords
from bullpen.access.passwords import AT_ONCE, WAITING
from bullpen.agents import rows as agent_rows
from bullpen.app import Office
from bullpen.storage import Statement, Transaction, metadata
from bullpen.storage.tables import people
from bullpen.testing import FakeClock
from tests.driver import Api, Driver, Json, Offices
from tests.feed.streams import Stream, following
from tests.passwords import make_real_hasher
from tests.refusals import refused
from tests.waits import BOUND, until

PASSWORD = "correct horse battery"
OWNER = {"name": "Olga", "password": PASSWORD}


def claim_code(opened: Office) -> str:
    return opened.claim.code


async def claim(opened: Office, **more: Any) -> Api:
    """The owner's API, signed in by a cookie."""
    api = Api(opened, None)
    await api.create("/setup", {"code": claim_code(opened), **OWNER, **more}, status=201)
    return api


async def sign_in(opened: Office, name: str, password: str = PASSWORD) -> Api:
    api = Api(opened, None)
    await api.create("/session", {"name": name, "password": password}, status=201)
    return api


# ── the claim ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("A3")
async def test_an_unclaimed_office_offers_only_what_claiming_needs(offices: Offices) -> None:
    opened = await offices.raw()
    stranger = Api(opened, None)
    for route in opened.api.routes:
        path = re.sub(r"\{[^}]*\}", "x", getattr(route, "path", ""))
        for method in getattr(route, "methods", None) or ():
            answer = await stranger.http.request(method, f"http://office{path}")
            if path in {"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/api/setup"} or "/assets/" in path:
                assert answer.status_code != 503 or path == "/readyz", (method, path)
            else:
                assert answer.status_code == 503, (method, path)
                assert answer.json()["error"]["code"] == "setup_required"
    assert (await stranger.http.get("http://office/api/no/such/thing")).status_code == 503


async def test_claiming_signs_the_owner_in_and_joins_the_demo_spaces(offices: Offices) -> None:
    opened = await offices.raw()
    await opened.load_demo("office")
    owner = await claim(opened)
    me = await owner.get("/me")
    assert (me["name"], me["role"], me["kind"]) == ("Olga", "owner", "person")
    spaces = await owner.items("/spaces")
    assert spaces
    assert all(me["id"] in space["members"] for space in spaces if space["kind"] != "dm")
    assert [person["role"] for person in await owner.items("/people")] == ["owner"]


async def test_an_office_without_its_host_agent_can_be_claimed(offices: Offices) -> None:
    opened = await offices.raw()
    await opened.load_demo("office")
    await opened.store.transact(lambda tx: agent_rows.delete_agent(tx, "mira"))
    assert (await (await claim(opened)).get("/me"))["role"] == "owner"


@pytest.mark.one_database
@pytest.mark.proves("A4")
async def test_guessing_the_claim_code_is_slowed_and_voids_the_code(
    offices: Offices, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = await offices.raw(clock=FakeClock())
    first = claim_code(opened)
    stranger = Api(opened, None)
    for _ in range(5):
        await refused(stranger, "POST", "/setup", 403, json={"code": "guess", **OWNER})
    limited = await stranger.http.post("/setup", json={"code": first, **OWNER})
    assert limited.status_code == 429
    assert int(limited.headers["retry-after"]) > 0
    assert claim_code(opened) != first
    assert f"#claim={claim_code(opened)}" in capsys.readouterr().out
    assert await _people(opened) == []
    opened.store.clock.advance(61)  # type: ignore[attr-defined]
    await refused(stranger, "POST", "/setup", 403, json={"code": first, **OWNER})
    await claim(opened)


async def _people(opened: Office) -> list[Any]:
    async def body(tx: Transaction) -> list[Any]:
        return list(await tx.all(Statement(select(people.c.name, people.c.role))))

    return await opened.store.read(body)


@pytest.mark.proves("A5")
async def test_two_claims_at_once_make_one_owner(offices: Offices) -> None:
    opened = await offices.raw()
    code = claim_code(opened)
    answers = await asyncio.gather(
        *(
            Api(opened, None).http.post("/setup", json={"code": code, "name": name, "password": PASSWORD})
            for name in ("Olga", "Otto")
        )
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert len(await _people(opened)) == 1
    await refused(Api(opened, None), "POST", "/setup", 409, json={"code": code, **OWNER})


async def test_claiming_after_using_the_command_line_keeps_the_same_person(offices: Offices) -> None:
    opened = await offices.raw()
    local = Api(opened, None)
    local.http = httpx.AsyncClient(transport=httpx.ASGITransport(opened.local_api), base_url="http://office/api")
    await local.create("/spaces", {"id": "den"})
    before = await local.get("/me")
    owner = await claim(opened, name="Olga the First")
    assert (await owner.get("/me"))["id"] == before["id"]
    assert (await local.get("/me"))["name"] == "Olga the First"
    assert len(await _people(opened)) == 1


@pytest.mark.one_database
async def test_an_owner_token_from_the_command_line_is_the_claim(offices: Offices) -> None:
    opened = await offices.raw()
    local = httpx.AsyncClient(transport=httpx.ASGITransport(opened.local_api), base_url="http://office/api")
    made = (await local.post("/tokens", json={"name": "Olga", "owner": True})).json()
    assert (await Api(opened, made["token"]).get("/me"))["role"] == "owner"
    await refused(Api(opened, None), "POST", "/setup", 409, json={"code": claim_code(opened), **OWNER})


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(offices: Offices) -> None:
    opened = await offices.raw()
    await claim(opened)
    answer = await Api(opened, None).http.post("/session", json=OWNER)
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes
    assert "secure" not in attributes
    assert not any(part.startswith("domain") for part in attributes)


@pytest.mark.one_database
async def test_behind_https_the_cookie_is_for_that_host_alone(offices: Offices) -> None:
    opened = await offices.raw(public_url="https://office.example")
    opened.url = "https://office.example"
    await claim(opened)
    answer = await Api(opened, None).http.post("/session", json=OWNER)
    assert answer.headers["set-cookie"].startswith("__Host-bullpen=")
    assert "secure" in answer.headers["set-cookie"].lower()


async def test_signing_out_ends_the_session_and_its_stream(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    again = await sign_in(opened, " olga ")
    async with following(again) as stream:
        kept = dict(again.http.cookies)
        answer = await again.http.delete("/session")
        assert answer.status_code == 204
        assert "max-age=0" in answer.headers["set-cookie"].lower()
        await stream.until_ended()
    again.http.cookies.update(kept)
    await refused(again, "GET", "/me", 401)
    await owner.get("/me")


@pytest.mark.one_database
async def test_a_session_ends_when_its_time_is_over(offices: Offices) -> None:
    clock = FakeClock()
    opened = await offices.raw(clock=clock)
    owner = await claim(opened)
    clock.advance(29 * 86_400)
    await owner.get("/me")
    clock.advance(2 * 86_400)
    await refused(owner, "GET", "/me", 401)


@pytest.mark.one_database
async def test_cookies_and_tokens_cannot_stand_in_for_each_other(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    cookie = dict(owner.http.cookies)["bullpen"]
    await refused(Api(opened, cookie), "GET", "/me", 401)
    token = (await owner.create("/tokens", {"name": "mine"}))["token"]
    stranger = Api(opened, None)
    stranger.http.cookies.set("bullpen", token)
    await refused(stranger, "GET", "/me", 401)


@pytest.mark.one_database
@pytest.mark.proves("A6")
@pytest.mark.proves("A7")
@pytest.mark.parametrize("extra", [{}, {"token": "bp_bogus", "otp": "000000"}])
async def test_after_several_wrong_passwords_the_right_one_waits_too(offices: Offices, extra: Json) -> None:
    clock = FakeClock()
    opened = await offices.raw(clock=clock)
    await claim(opened)
    stranger = Api(opened, None)
    wrong = [
        (await stranger.http.post("/session", json={**OWNER, "password": f"wrong {n}", **extra})).status_code
        for n in range(6)
    ]
    assert wrong == [401] * 5 + [429]
    right = await stranger.http.post("/session", json=OWNER)
    assert right.status_code == 429
    assert int(right.headers["retry-after"]) > 0
    clock.advance(61)
    await sign_in(opened, "Olga")


@pytest.mark.one_database
async def test_a_clock_put_back_locks_nobody_out(offices: Offices) -> None:
    clock = FakeClock()
    opened = await offices.raw(clock=clock)
    await claim(opened)
    clock.advance(86_400)
    for n in range(5):
        await Api(opened, None).http.post("/session", json={**OWNER, "password": f"wrong {n}"})
    clock.advance(-86_400)
    await sign_in(opened, "Olga")


@pytest.mark.one_database
async def test_login_errors_do_not_reveal_which_names_exist(offices: Offices) -> None:
    opened = await offices.raw()
    await claim(opened)
    unknown = await Api(opened, None).http.post("/session", json={"name": "Nemo", "password": "whatever it is"})
    wrong = await Api(opened, None).http.post("/session", json={"name": "Olga", "password": "whatever it is"})
    assert (unknown.status_code, unknown.content) == (wrong.status_code, wrong.content) == (401, wrong.content)


@pytest.mark.one_database
@pytest.mark.proves("L16")
async def test_concurrent_logins_hash_two_at_once_and_others_get_429(offices: Offices) -> None:
    opened = await offices.raw()
    await claim(opened)
    guess = {"name": "guest", "password": "no"}
    await refused(Api(opened, None), "POST", "/session", 401, json=guess)  # what unknown names are compared with
    busy = most = 0
    apart, may_end = asyncio.to_thread, asyncio.Event()

    async def counted(work: Any) -> Any:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await may_end.wait()
        try:
            return await apart(work)
        finally:
            busy -= 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bullpen.access.passwords.asyncio.to_thread", counted)
        logins = [
            asyncio.create_task(Api(opened, None).http.post("/session", json={**guess, "name": f"guest {n}"}))
            for n in range(200)
        ]
        refusals = 200 - AT_ONCE - WAITING
        async with asyncio.timeout(BOUND):
            while sum(login.done() for login in logins) < refusals:
                await asyncio.wait([login for login in logins if not login.done()], return_when=FIRST_COMPLETED)
        may_end.set()
        answers = await asyncio.gather(*logins)
    assert most == AT_ONCE == 2
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [401] * (AT_ONCE + WAITING) + [429] * refusals
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 429)


@pytest.mark.one_database
@pytest.mark.proves("L15")
async def test_while_a_password_is_hashed_the_server_does_other_things(
    offices: Offices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing ends only after the server has answered somebody. In the loop it would keep that from happening."""
    opened = await offices.raw()
    begun, answered = threading.Event(), threading.Event()

    class SlowHasher:
        def hash(self, password: str) -> str:
            begun.set()
            assert answered.wait(BOUND), "nothing else was done meanwhile"
            return password

    monkeypatch.setattr(passwords, "_hasher", SlowHasher)
    hashing = asyncio.create_task(opened.passwords.hash(PASSWORD))
    await asyncio.to_thread(begun.wait, BOUND)
    assert (await Api(opened, None).http.get("http://office/healthz")).status_code == 200
    answered.set()
    assert await hashing == PASSWORD


def test_production_hashes_passwords_with_argon2id_19_mib_and_two_passes() -> None:
    """Other tests hash cheaply: tests/passwords.py."""
    assert make_real_hasher().hash(PASSWORD).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_a_new_password_signs_everybody_else_out(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    other = await sign_in(opened, "Olga")
    body = {"current": "not this", "password": "another good one"}
    await refused(owner, "POST", "/me/password", 403, json=body)
    await owner.create("/me/password", {**body, "current": PASSWORD}, status=204)
    await owner.get("/me")
    await refused(other, "GET", "/me", 401)
    await refused(Api(opened, None), "POST", "/session", 401, json=OWNER)
    await sign_in(opened, "Olga", "another good one")


@pytest.mark.proves("A14")
async def test_no_table_stores_a_password_cookie_or_code_in_plaintext(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    invite = await owner.create("/invites", {})
    secrets = [PASSWORD, dict(owner.http.cookies)["bullpen"], invite["code"], claim_code(opened)]

    async def everything(tx: Transaction) -> str:
        return repr([list(map(tuple, await tx.all(Statement(select(table))))) for table in metadata.sorted_tables])

    dump = await opened.store.read(everything)
    assert "$argon2id$" in dump
    assert not [secret for secret in secrets if secret in dump]


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_invite_brings_in_one_person_once(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    invite = await owner.create("/invites", {"role": "admin"}, status=201)
    assert invite["link"].endswith(f"/#invite={invite['code']}")
    assert [(i["id"], i.get("code")) for i in await owner.items("/invites")] == [(invite["id"], None)]
    guests = [Api(opened, None) for _ in range(3)]
    answers = await asyncio.gather(
        *(
            guest.http.post("/invites/accept", json={"code": invite["code"], "name": f"Anna {n}", "password": PASSWORD})
            for n, guest in enumerate(guests)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [201, 410, 410]
    winner = guests[[answer.status_code for answer in answers].index(201)]
    assert (await winner.get("/me"))["role"] == "admin"
    assert await owner.items("/invites") == []
    assert len(await owner.items("/people")) == 2


@pytest.mark.one_database
async def test_an_invite_can_be_taken_back_and_runs_out(offices: Offices) -> None:
    clock = FakeClock()
    opened = await offices.raw(clock=clock)
    owner = await claim(opened)
    first, second = [await owner.create("/invites", {"hours": 2}) for _ in range(2)]
    await owner.ask("DELETE", f"/invites/{first['id']}", status=204)
    clock.advance(2 * 3600 + 1)
    for invite in (first, second):
        body = {"code": invite["code"], "name": "Anna", "password": PASSWORD}
        await refused(Api(opened, None), "POST", "/invites/accept", 410, json=body)
    body = {"code": "no such code", "name": "Anna", "password": PASSWORD}
    await refused(Api(opened, None), "POST", "/invites/accept", 404, json=body)


@pytest.mark.one_database
@pytest.mark.proves("A8")
async def test_guessing_codes_and_tokens_is_limited_before_they_are_compared(offices: Offices) -> None:
    from bullpen.settings import LimitSettings

    opened = await offices.raw(limits=LimitSettings())
    owner = await claim(opened)
    body = {"code": "guess", "name": "Anna", "password": PASSWORD}
    guesses = [(await Api(opened, None).http.post("/invites/accept", json=body)).status_code for _ in range(12)]
    assert guesses == [404] * 5 + [429] * 7
    good = (await owner.create("/tokens", {"name": "mine"}))["token"]
    used = Api(opened, (await owner.create("/tokens", {"name": "used"}))["token"])
    await used.get("/me")
    statuses = [(await Api(opened, f"bp_guess{n}").http.get("/me")).status_code for n in range(30)]
    assert statuses == [401] * 10 + [429] * 20
    assert (await Api(opened, good).http.get("/me")).status_code == 429, "a new token is looked up only later"
    await used.get("/me")


@pytest.mark.one_database
async def test_roles_say_who_may_bring_in_whom(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    await owner.create("/people", {"name": "Anna", "role": "admin", "password": PASSWORD}, status=201)
    await owner.create("/people", {"name": "Mia", "password": PASSWORD}, status=201)
    admin, member = await sign_in(opened, "Anna"), await sign_in(opened, "Mia")
    await admin.create("/people", {"name": "Max"}, status=201)
    for role in ("admin", "owner"):
        await refused(admin, "POST", "/people", 403, json={"name": "New", "role": role})
        await refused(admin, "POST", "/invites", 403, json={"role": role})
    await refused(member, "POST", "/people", 403, json={"name": "New"})
    await refused(member, "POST", "/invites", 403, json={})
    await refused(owner, "POST", "/people", 409, json={"name": "ＡＮＮＡ"})
    await refused(owner, "POST", "/people", 422, json={"name": "Neo", "password": "short"})
    mia = (await member.get("/me"))["id"]
    await refused(admin, "PATCH", f"/people/{mia}", 403, json={"password": "now I am you"})
    await owner.ask("PATCH", f"/people/{mia}", json={"password": "a second one"})
    await sign_in(opened, "Mia", "a second one")


async def test_a_changed_role_holds_at_once_and_ends_open_streams(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    mia = await owner.create("/people", {"name": "Mia", "password": PASSWORD})
    member = await sign_in(opened, "Mia")
    await refused(member, "POST", "/agents", 403, json={"name": "Ada", "model": "script:echo"})
    async with following(member) as stream:
        await owner.ask("PATCH", f"/people/{mia['id']}", json={"role": "admin"})
        await stream.until_ended()
    await member.create("/agents", {"name": "Ada", "model": "script:echo"})


async def test_a_disabled_person_is_locked_out_until_enabled_again(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    mia = await owner.create("/people", {"name": "Mia", "password": PASSWORD})
    member = await sign_in(opened, "Mia")
    token = Api(opened, (await member.create("/tokens", {"name": "mine"}))["token"])
    async with following(token) as stream:
        await owner.ask("PATCH", f"/people/{mia['id']}", json={"disabled": True})
        await stream.until_ended()
    for api in (member, token):
        await refused(api, "GET", "/me", 401)
    await refused(Api(opened, None), "POST", "/session", 401, json={"name": "Mia", "password": PASSWORD})
    await owner.ask("PATCH", f"/people/{mia['id']}", json={"disabled": False})
    await token.get("/me")
    await refused(member, "GET", "/me", 401)
    await sign_in(opened, "Mia")


async def test_an_office_keeps_an_owner(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    me = (await owner.get("/me"))["id"]
    for change in ({"role": "member"}, {"disabled": True}):
        await refused(owner, "PATCH", f"/people/{me}", 409, json=change)
    other = await owner.create("/people", {"name": "Otto", "role": "owner"})
    await owner.ask("PATCH", f"/people/{me}", json={"role": "member"})
    await refused(owner, "PATCH", f"/people/{other['id']}", 403, json={"role": "member"})


async def test_people_can_rename_themselves_and_their_spaces_show_it(offices: Offices) -> None:
    opened = await offices.raw()
    owner = await claim(opened)
    mia = await owner.create("/people", {"name": "Mia", "password": PASSWORD})
    await owner.create("/spaces", {"id": "den", "members": [mia["id"]]})
    member = await sign_in(opened, "Mia")
    await member.ask("PATCH", f"/people/{mia['id']}", json={"name": "Maria"})
    details = (await owner.get("/spaces/den"))["memberDetails"]
    assert "Maria" in [detail["name"] for detail in details]
    await refused(member, "PATCH", f"/people/{mia['id']}", 403, json={"role": "owner"})
    owner_id = (await owner.get("/me"))["id"]
    await refused(member, "PATCH", f"/people/{owner_id}", 403, json={"name": "Nobody"})


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_people_make_tokens_for_themselves_and_see_only_their_own(office: Driver) -> None:
    pia_id, pia = await office.person("Pia")
    made = await pia.create("/tokens", {"name": "script"}, status=201)
    assert (await Api(office.office, made["token"]).get("/me"))["id"] == pia_id
    assert {token["personId"] for token in await pia.items("/tokens")} == {pia_id}
    await office.agent("ada")
    await refused(pia, "POST", "/tokens", 403, json={"name": "x", "agentId": "ada"})
    await refused(pia, "POST", "/tokens", 403, json={"name": "x", "personId": office.owner_id})
    owners = next(t["id"] for t in await office.items("/tokens") if t["personId"] == office.owner_id)
    await refused(pia, "DELETE", f"/tokens/{owners}", 404)
    await pia.ask("DELETE", f"/tokens/{made['id']}", status=204)


@pytest.mark.one_database
@pytest.mark.proves("A15")
async def test_a_read_token_cannot_change_anything_or_make_stronger_tokens(office: Driver) -> None:
    await office.space("den")
    made = await office.create("/tokens", {"name": "reader", "scopes": ["read"]})
    reader = Api(office.office, made["token"])
    assert (await reader.get("/me"))["grants"] == ["read_space"]
    await reader.items("/spaces/den/messages")
    await refused(reader, "POST", "/spaces/den/messages", 403, json={"text": "hi"})
    await refused(reader, "POST", "/spaces", 403, json={"id": "new"})
    await refused(reader, "POST", "/tokens", 403, json={"name": "more"})
    await refused(reader, "PATCH", "/spaces/den", 403, json={"name": "x"})
    await refused(reader, "POST", "/agents", 403, json={"name": "Ada", "model": "script:echo"})
    some = await office.create("/tokens", {"name": "some", "scopes": ["read", "post"]})
    poster = Api(office.office, some["token"])
    again = await poster.create("/tokens", {"name": "again"})
    assert (await Api(office.office, again["token"]).get("/me"))["grants"] == ["post", "read_space"]
    await refused(office, "POST", "/tokens", 422, json={"name": "x", "scopes": ["everything"]})


@pytest.mark.one_database
async def test_a_token_may_be_for_some_days_only(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(drive=False, watch=False, clock=clock)
    made = await office.create("/tokens", {"name": "short", "days": 1})
    api = Api(office.office, made["token"])
    await api.get("/me")
    clock.advance(86_401)
    await refused(api, "GET", "/me", 401)


@pytest.mark.proves("A10")
async def test_revoking_a_token_also_ends_its_open_streams_at_once(office: Driver) -> None:
    made = await office.create("/tokens", {"name": "short"})
    api = Api(office.office, made["token"])
    async with following(api) as stream, following(office) as other:
        await office.ask("DELETE", f"/tokens/{made['id']}", status=204)
        await refused(api, "GET", "/me", 401)
        await stream.until_ended()
        await office.space("den")
        await other.until_type("space_created")
        assert "space_created" not in [event["type"] for event in stream.events]


@pytest.mark.proves("A10")
@pytest.mark.parametrize("kind", ["token", "session"])
async def test_a_stream_ends_when_its_credential_expires(offices: Offices, kind: str) -> None:
    clock = FakeClock()
    opened = await offices.raw(clock=clock)
    owner = await claim(opened)
    await owner.create("/spaces", {"id": "den"})
    lasting = Api(opened, (await owner.create("/tokens", {"name": "lasting"}))["token"])
    short = Api(opened, (await owner.create("/tokens", {"name": "short", "days": 1}))["token"])
    caller, days = (short, 1) if kind == "token" else (owner, 30)
    clock.advance(days * 86_400 - 0.05)
    async with following(lasting) as other, following(caller) as stream:
        await lasting.create("/spaces/den/messages", {"text": "until now"})
        await stream.until_text("until now")
        clock.advance(0.05)
        await stream.until_ended()
        await lasting.create("/spaces/den/messages", {"text": "too late"})
        await other.until_text("too late")
        assert stream.texts() == ["until now"]
    await refused(caller, "GET", "/me", 401)


class Gate:
    """Holds whoever comes with a stream between the check of their credential and their place among the followers."""

    def __init__(self, opened: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self._pump = opened.feed.pump
        monkeypatch.setattr(opened.feed, "pump", self._wait)

    async def _wait(self) -> bool:
        self.reached.set()
        await self.opened.wait()
        return await self._pump()


@pytest.mark.proves("A10")
async def test_a_token_revoked_while_its_stream_opens_gets_none(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await office.create("/tokens", {"name": "short"})
    gate = Gate(office.office, monkeypatch)
    asking = asyncio.create_task(refused(Api(office.office, made["token"]), "GET", "/events", 401))
    async with asyncio.timeout(BOUND):
        await gate.reached.wait()
        await office.ask("DELETE", f"/tokens/{made['id']}", status=204)
        gate.opened.set()
        assert "another token" in (await asking)["message"]


async def test_a_stream_opens_with_the_role_of_that_moment(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    otto_id, otto = await office.person("Otto")
    await office.ask("PATCH", f"/people/{otto_id}", json={"role": "owner"})
    for id in ("ping", "pong"):
        await office.agent(id)
    between = await office.dm("ping", "pong")
    await office.space("hall", [otto_id])
    ping = await office.as_agent("ping")
    gate = Gate(office.office, monkeypatch)
    stream = Stream(otto, None, {})
    opening = asyncio.create_task(stream.open())
    async with asyncio.timeout(BOUND):
        await gate.reached.wait()
        await office.ask("PATCH", f"/people/{otto_id}", json={"role": "member"})
        gate.opened.set()
        await opening
    await ping.create(f"/spaces/{between['id']}/messages", {"text": "for owners"})
    await office.post("hall", "for everybody")
    await stream.until_text("for everybody")
    assert stream.texts() == ["for everybody"]
    await stream.close()


async def test_whoever_is_shut_out_while_catching_up_hears_no_more(office: Driver) -> None:
    await office.space("den")
    made = await office.create("/tokens", {"name": "short"})
    reader = Api(office.office, made["token"])
    async with following(reader) as stream:
        start = (await stream.headers)["last-event-id"]
    await office.post("den", "missed")
    again = Stream(reader, start, {})
    again.stall()
    others = office.office.feed.follower_count
    opening = asyncio.create_task(again.open())

    async def is_following() -> bool:
        return office.office.feed.follower_count > others

    await until(is_following)
    await office.ask("DELETE", f"/tokens/{made['id']}", status=204)
    await office.office.feed.pump()
    again.resume()
    await opening
    await again.until_ended()
    assert again.texts() == []
    await again.close()


@pytest.mark.proves("G18")
async def test_a_removed_members_stream_of_that_space_ends(office: Driver) -> None:
    pia_id, pia = await office.person("Pia")
    await office.space("den", [pia_id], private=True)
    async with following(pia, space_id="den") as inside, following(pia) as everywhere:
        await office.ask("DELETE", f"/spaces/den/members/{pia_id}", status=204)
        await inside.until_ended()
        await everywhere.until_type("member_left")
        await office.post("den", "now that she is gone")
        await office.ask("POST", "/spaces", json={"id": "lounge", "members": [pia_id]})
        await everywhere.until_type("member_joined")
        for stream in (inside, everywhere):
            assert not [event for event in stream.events if event["type"] == "message_created"]
