"""Nobody gets a name that hides something, or that looks like somebody else's; what has one stays usable."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, update

from bullpen.access import rows as access_rows
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import agents, people
from tests.driver import Api, Driver, Json

HIDDEN = ["Ada\u202ekcab", "me\u3164", "m\u200be"]
LOOKS_LIKE_OLGA = "Оlgа"  # two letters are Cyrillic
MODEL = "script:silent"
_RENAME_AGENT = Statement(update(agents).where(agents.c.id == bindparam("id_")).values(name=bindparam("to")))
_RENAME_PERSON = Statement(
    update(people).where(people.c.id == bindparam("id_")).values(name=bindparam("to"), login=bindparam("login_"))
)


async def ask(api: Api, method: str, path: str, body: Json, status: int) -> Json:
    found: Json = await api.ask(method, path, json=body, status=status)
    return found


@pytest.mark.one_database
@pytest.mark.parametrize("name", HIDDEN, ids=ascii)
async def test_hidden_characters_in_names_are_refused_with_a_sentence(office: Driver, name: str) -> None:
    await office.agent("bo", steps=[])
    person, _ = await office.person("Zoe")
    for method, path, body in (
        ("POST", "/agents", {"name": name, "model": MODEL}),
        ("PATCH", "/agents/bo", {"name": name}),
        ("POST", "/people", {"name": name}),
        ("PATCH", f"/people/{person}", {"name": name}),
    ):
        refused = await ask(office, method, path, body, 422)
        assert "nobody sees it" in refused["error"]["fields"]["name"]


async def test_a_name_that_looks_like_somebodys_is_refused(office: Driver) -> None:
    await office.agent("bo", steps=[])
    person, _ = await office.person("Zoe")
    for method, path, body in (
        ("POST", "/agents", {"name": LOOKS_LIKE_OLGA, "model": MODEL}),
        ("PATCH", "/agents/bo", {"name": LOOKS_LIKE_OLGA}),
        ("POST", "/people", {"name": LOOKS_LIKE_OLGA}),
        ("POST", "/people", {"name": "Во"}),  # like the agent's, in Cyrillic
        ("PATCH", f"/people/{person}", {"name": LOOKS_LIKE_OLGA}),
    ):
        refused = await ask(office, method, path, body, 409)
        assert refused["error"]["code"] == "already_exists"
        assert "looks like the name of" in refused["error"]["message"]
    assert [agent["id"] for agent in await office.items("/agents")] == ["bo"]


async def test_an_invited_person_cannot_look_like_another(office: Driver) -> None:
    invite = await office.create("/invites", {})
    body = {"code": invite["code"], "name": LOOKS_LIKE_OLGA, "password": "a long password"}
    await ask(Api(office.office, None), "POST", "/invites/accept", body, 409)


async def test_names_from_before_stay_usable(office: Driver) -> None:
    await office.agent("bo", steps=[])
    await office.space("general", ["bo"])
    person, zoe = await office.person("Zoe")

    async def rename(tx: Transaction) -> None:
        await tx.run(_RENAME_AGENT, id_="bo", to="Bo\u202e")
        login = access_rows.login("Olga\u3164")
        await tx.run(_RENAME_PERSON, id_=person, to="Olga\u3164", login_=login)

    await office.office.store.transact(rename)
    assert (await zoe.get("/me"))["id"] == person
    await ask(office, "PATCH", "/agents/bo", {"description": "as before"}, 200)
    await ask(office, "PATCH", f"/people/{person}", {"role": "admin"}, 200)
    await office.post("general", "@bo hello")
    await office.run_finished("bo")
    renamed = await ask(office, "PATCH", f"/people/{person}", {"name": "Zoe"}, 200)
    assert renamed["name"] == "Zoe"
