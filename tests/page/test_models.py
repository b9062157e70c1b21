"""Models on the page: connecting one, what is offered and costs, who runs on it, and ending it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from bullpen.testing.model_server import KEY, ModelServer, model_server, plays
from bullpen.testing.wires import Text, Wanted
from tests.page.house import House, Visit

SILENT = Text("")


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def without_connections(house: House) -> AsyncIterator[None]:
    """Each test begins with none. What agents run on is put back, so that all can be deleted."""
    yield
    for connection in (await house.ask("GET", "/models"))["items"]:
        for agent in connection["agents"]:
            await house.ask("PATCH", f"/agents/{agent}", json={"model": "script:echo"})
        await house.ask("DELETE", f"/models/{connection['id']}")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def local() -> AsyncIterator[ModelServer]:
    """A server that nobody has listed in the environment."""
    async with model_server() as server:
        yield server


async def dialog_on(visit: Visit) -> tuple[Page, Locator]:
    page = await visit.go("/models")
    await page.get_by_role("button", name="Connect a model").click()
    return page, page.get_by_role("dialog", name="Connect a model")


async def connect(dialog: Locator, provider: ModelServer, key: str = KEY) -> None:
    form = dialog.get_by_role("form", name="Connect a model")
    await form.get_by_label("Provider").select_option("Another server")
    await form.get_by_label("Address").fill(provider.url)
    await form.get_by_label("Key").fill(key)
    await form.get_by_role("button", name="Open it and connect").click()


async def model_of(house: House, agent: str) -> Any:
    return (await house.ask("GET", f"/agents/{agent}"))["model"]


@pytest.mark.proves("B-page-6", "B-page-23")
async def test_a_local_model_is_connected_and_answers(house: House, visit: Visit, local: ModelServer) -> None:
    """No terminal, no restart, no list in the environment: the owner opens the address here."""
    agent, other = await house.agent("Ada"), await house.agent("Bea")
    room = await house.room(agent)
    local.gives(plays(Text("yes")))
    page, dialog = await dialog_on(visit)
    await connect(dialog, local)
    form = dialog.get_by_role("form", name="Use the model")
    await expect(form.get_by_text("It offers 2 models.")).to_be_visible()
    await expect(form.get_by_role("checkbox", checked=True)).to_have_count(1)  # that new agents run on it, and no agent
    await form.get_by_role("checkbox", name=re.compile(f"^{agent.capitalize()}")).check()
    await form.get_by_role("button", name="Check and use").click()
    await expect(page.get_by_text(f"{agent.capitalize()} runs on it from the next run on.")).to_be_visible()
    assert (await model_of(house, agent))["name"] == "a-model"
    assert (await model_of(house, other))["provider"] == "script", "nobody asked for that"
    local.gives(plays(Wanted("c1", "send_message", '{"text": "Hello from this machine."}')), plays(SILENT))
    await visit.room(room)
    await page.get_by_label(f"Message {room}").fill("hello?")
    await page.get_by_label(f"Message {room}").press("Enter")
    await expect(page.get_by_role("log").get_by_text("Hello from this machine.")).to_be_visible()


async def test_what_fails_is_crossed_and_named(house: House, visit: Visit, local: ModelServer) -> None:
    page, dialog = await dialog_on(visit)
    await connect(dialog, local, key="sk-of-somebody-else")
    alert = dialog.get_by_role("alert")
    await expect(alert.get_by_text("The key was refused.")).to_be_visible()
    await expect(alert.get_by_label("no:")).to_have_count(1)
    await expect(alert.get_by_label("yes:")).to_have_count(0)
    assert "sk-of-somebody-else" not in await dialog.inner_text()
    form = dialog.get_by_role("form", name="Connect a model")
    await form.get_by_label("Address").fill("http://127.0.0.1:9")
    await form.get_by_role("button", name="Open it and connect").click()
    await expect(alert.get_by_text("The address was not reached.")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await house.reads("/models", lambda now: now["items"] == [])
    kept = {each["name"] for each in (await house.ask("GET", "/variables"))["items"]}
    assert not any(name.startswith("AT_127") for name in kept), "the keys that were tried are gone"


@pytest.mark.proves("B-page-22")
async def test_a_failed_check_shows_no_tick_for_what_failed(house: House, visit: Visit, provider: ModelServer) -> None:
    made = await house.ask("POST", "/models", json={"provider": "anthropic", "models": {"m": {"contextTokens": 9000}}})
    provider.key = "another"
    try:
        page = await visit.load("/models")
        region = page.get_by_role("region", name=made["name"])
        await region.get_by_role("button", name="Check m", exact=True).click()
        parts = region.get_by_role("table").get_by_role("listitem")
        await expect(parts.filter(has=page.get_by_label("no:"))).to_contain_text("The key was refused.")
        await expect(parts.filter(has=page.get_by_label("yes:"))).to_have_text("The address was reached")
    finally:
        provider.key = KEY


async def test_prices_and_the_default_are_set_on_the_page(house: House, visit: Visit, provider: ModelServer) -> None:
    made = await house.ask("POST", "/models", json={"provider": "anthropic"})
    page = await visit.load("/models")
    region = page.get_by_role("region", name=made["name"])
    row = region.get_by_role("row").filter(has_text="a-model")
    await expect(row.get_by_text("No price set")).to_be_visible()
    await row.get_by_role("button", name="Price of a-model").click()
    dialog = page.get_by_role("dialog", name="Price of a-model")
    await dialog.get_by_label("In", exact=True).fill("2.5")
    await dialog.get_by_label("Out", exact=True).fill("10")
    await dialog.get_by_label("Context size").fill("32000")
    await dialog.get_by_role("button", name="Save").click()
    await expect(row.get_by_role("cell", name="2.5").first).to_be_visible()
    await expect(row.get_by_text("32,000")).to_be_visible()
    await region.get_by_role("button", name="Default for new agents: a-model").click()
    await expect(row.get_by_text("new agents")).to_be_visible()
    await visit.go("/agents")
    await page.get_by_role("button", name="New agent").click()
    new = page.get_by_role("dialog", name="New agent")
    await expect(new.get_by_label("It runs on")).to_have_value(made["id"])
    await expect(new.get_by_label(re.compile("^Model"))).to_have_value("a-model")
    await new.get_by_label("Name", exact=True).fill("Tilda")
    await new.get_by_role("button", name="Make agent").click()
    await expect(page.get_by_role("heading", name="Tilda")).to_be_visible()
    tilda = next(each for each in (await house.ask("GET", "/agents"))["items"] if each["name"] == "Tilda")
    assert tilda["model"] == {"connection": made["id"], "name": "a-model"}
    await house.ask("DELETE", f"/agents/{tilda['id']}")


@pytest.mark.proves("B-page-23")
async def test_an_agent_is_moved_to_a_model_and_back(house: House, visit: Visit, provider: ModelServer) -> None:
    made = await house.ask("POST", "/models", json={"provider": "anthropic"})
    agent = await house.agent("Wyn", {"calls": []})
    script = await model_of(house, agent)
    page = await visit.load(f"/agents/{agent}?tab=Model+and+limits")
    form = page.get_by_role("form", name="Model")
    await expect(form.get_by_label("It runs on")).to_have_value("script")
    await form.get_by_label("It runs on").select_option(made["name"])
    await form.get_by_label(re.compile("^Model")).select_option("another-model")
    await form.get_by_role("button", name="Save model").click()
    await expect(page.get_by_text(f"It runs on another-model · {made['name']}.")).to_be_visible()
    assert await model_of(house, agent) == {"connection": made["id"], "name": "another-model"}
    await form.get_by_label("It runs on").select_option("Its script (free, offline)")
    await form.get_by_role("button", name="Save model").click()
    await expect(page.get_by_text("It runs on a script")).to_be_visible()
    assert await model_of(house, agent) == script


async def test_a_connection_in_use_is_removed_after_moving_agents(
    house: House, visit: Visit, provider: ModelServer
) -> None:
    made = await house.ask("POST", "/models", json={"provider": "anthropic"})
    agent = await house.agent("Yva", {"calls": []})
    script = await model_of(house, agent)
    await house.ask("PATCH", f"/agents/{agent}", json={"model": {"connection": made["id"], "name": "a-model"}})
    page = await visit.load("/models")
    region = page.get_by_role("region", name=made["name"])
    await expect(region.get_by_role("link", name=agent.capitalize())).to_be_visible()
    await region.get_by_role("button", name="Remove…").click()
    dialog = page.get_by_role("dialog", name=f"Remove {made['name']}")
    await expect(dialog.get_by_text(f"{agent.capitalize()} uses it.")).to_be_visible()
    await dialog.get_by_role("button", name="Move them and remove it").click()
    await expect(page.get_by_role("heading", name="No model is connected yet")).to_be_visible()
    assert await model_of(house, agent) == script


async def test_an_address_that_a_program_named_is_opened_here(house: House, visit: Visit, local: ModelServer) -> None:
    """The command line and tokens can only propose it."""
    made = await house.ask("POST", "/models", json={"provider": "openai-chat", "baseUrl": local.url, "apiKey": KEY})
    assert made["needsConfirming"] is True
    page = await visit.load("/models")
    region = page.get_by_role("region", name=made["name"])
    await region.get_by_role("button", name=f"Open {local.url}").click()
    await expect(region.get_by_role("row").filter(has_text="another-model")).to_be_visible()


@pytest.mark.fresh_page
async def test_members_are_told_that_models_are_not_theirs(other: Visit) -> None:
    page = await other.load("/models")
    await expect(page.get_by_role("heading", name="Models are for those who look after agents")).to_be_visible()
    await other.load("/costs")
    await expect(page.get_by_role("heading", name="Costs are for those who look after agents")).to_be_visible()
