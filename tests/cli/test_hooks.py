"""bullpen hooks and bullpen webhooks, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.cli.processes import bullpen, output, serving

PROJECT = 'agents:\n  - {id: ada, name: Ada, model: "script:silent"}\n'


def test_a_hook_is_made_rung_listed_and_revoked(office_data: Path) -> None:
    output(office_data, "token", "create", "--name", "Ruth", "--owner")
    with serving(office_data, BULLPEN_LOG_LEVEL="debug") as server:
        url = output(office_data, "hooks", "create", "ada", "--name", "ci").strip()
        assert httpx.post(url, json={"text": "red"}).status_code == 202
        (hook,) = json.loads(output(office_data, "hooks", "--json", "--agent", "ada"))["items"]
        assert (hook["name"], hook["agentId"], hook["usedAt"] is not None) == ("ci", "ada", True)
        assert "ci" in output(office_data, "hooks")
        output(office_data, "hooks", "revoke", hook["id"])
        assert httpx.post(url, json={"text": "red"}).status_code == 404
        assert "No hooks yet" in bullpen(office_data, "hooks").stderr
        assert server.stop() == 0
        log = "\n".join(server.err.so_far())
    assert "POST /hooks/{token}" in log
    assert url.rpartition("/")[2] not in log


def test_a_webhook_is_made_tried_listed_switched_and_deleted(office_data: Path) -> None:
    made = bullpen(office_data, "webhooks", "create", "http://127.0.0.1:9/", "--events", "mention")
    assert made.stdout.startswith("whsec_")
    (webhook,) = json.loads(output(office_data, "webhooks", "--json"))["items"]
    assert webhook["id"] in made.stderr
    assert (webhook["events"], webhook["enabled"]) == (["mention"], True)
    tried = bullpen(office_data, "webhooks", "test", webhook["id"])
    assert (tried.returncode, "127.0.0.1" in tried.stderr) == (1, True)
    output(office_data, "webhooks", "disable", webhook["id"])
    assert "off: Its person has switched it off." in output(office_data, "webhooks")
    output(office_data, "webhooks", "enable", webhook["id"])
    assert json.loads(output(office_data, "webhooks", "deliveries", webhook["id"], "--json"))["items"] == []
    output(office_data, "webhooks", "delete", webhook["id"])
    assert json.loads(output(office_data, "webhooks", "--json"))["items"] == []
    whole = json.loads(output(office_data, "webhooks", "create", "https://example.com/", "--members", "ada", "--json"))
    assert (whole["members"], whole["secret"][:6]) == (["ada"], "whsec_")


@pytest.mark.parametrize(
    "args, part",
    [
        (("hooks", "create", "nobody", "--name", "ci"), "There is no agent 'nobody'"),
        (("hooks", "revoke", "hok_nothing"), "There is no hook"),
        (("webhooks", "create", "mailto:me"), "This is no address that can be called"),
        (("webhooks", "create", "https://example.com", "--events", "everything"), "there is no 'everything'"),
        (("webhooks", "test", "whk_nothing"), "There is no webhook"),
    ],
)
def test_an_invalid_hook_command_fails_with_a_clear_message(
    office_data: Path, args: tuple[str, ...], part: str
) -> None:
    refused = bullpen(office_data, *args)
    assert refused.returncode != 0
    assert part in refused.stderr


def test_webhooks_whose_key_is_lost_are_named_and_deleted(office_data: Path) -> None:
    output(office_data, "webhooks", "create", "https://example.com/")
    (webhook,) = json.loads(output(office_data, "webhooks", "--json"))["items"]
    assert "1 secrets can be opened" in bullpen(office_data, "doctor").stdout
    (office_data / "keys.json").unlink()
    refused = bullpen(office_data, "webhooks")
    assert (refused.returncode, "Secrets are sealed with the key" in refused.stderr) == (1, True)
    assert output(office_data, "keys", "abandon", "--yes").strip() == f"deleted the webhook {webhook['id']}"
    assert json.loads(output(office_data, "webhooks", "--json"))["items"] == []
