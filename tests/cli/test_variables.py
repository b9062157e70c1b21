"""bullpen variables and bullpen keys, as people type them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import bullpen, output, serving

SECRET = "a-secret-of-the-tests-42"


def listed(data: Path, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(output(data, "variables", "--json", *args))["items"]
    return found


def held(data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(output(data, "keys", "--json"))["keys"]
    return found


def test_variables_are_set_listed_and_deleted_without_showing_secrets(data: Path) -> None:
    output(data, "variables", "set", "API_KEY", "--secret", "--description", "the shop", stdin=f"{SECRET}\n")
    output(data, "variables", "set", "CITY", stdin="Rome\n")
    shown = output(data, "variables")
    assert "Rome" in shown
    assert "***" in shown
    assert SECRET not in shown
    assert [(v["name"], v["value"]) for v in listed(data)] == [("API_KEY", None), ("CITY", "Rome")]
    output(data, "variables", "delete", "CITY")
    assert [v["name"] for v in listed(data)] == ["API_KEY"]
    missing = bullpen(data, "variables", "delete", "CITY")
    assert missing.returncode == 1
    assert "There is no variable 'CITY'" in missing.stderr


@pytest.mark.proves("F7")
def test_an_office_missing_its_key_neither_starts_nor_makes_another(data: Path) -> None:
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET)
    (key,) = held(data)
    key_file = data / "keys.json"
    kept = key_file.rename(data.parent / "kept.json")
    refused = bullpen(data, "serve", "--port", "0")
    assert refused.returncode == 1
    assert key["id"] in refused.stderr
    assert "BULLPEN_KEY_FILE" in refused.stderr
    assert not key_file.exists()
    doctor = bullpen(data, "doctor", "--json")
    (finding,) = [f for f in json.loads(doctor.stdout)["findings"] if f["part"] == "secrets"]
    assert (doctor.returncode, finding["level"]) == (1, "problem")

    # A wrong one is refused too, and left alone.
    other = data.parent / "other"
    output(other, "variables", "set", "X", "--secret", stdin="another-secret")
    wrong = (other / "keys.json").read_bytes()
    key_file.write_bytes(wrong)
    key_file.chmod(0o600)
    refused = bullpen(data, "variables")
    assert refused.returncode == 1
    assert "holds other keys" in refused.stderr
    assert key_file.read_bytes() == wrong

    # The right one, wherever it is, and all is well.
    assert [
        v["name"] for v in json.loads(output(data, "variables", "--json", BULLPEN_KEY_FILE=str(kept)))["items"]
    ] == ["API_KEY"]


@pytest.mark.proves("F7")
def test_abandoning_a_lost_key_drops_its_secrets_and_continues(data: Path) -> None:
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET)
    output(data, "variables", "set", "CITY", stdin="Rome")
    (data / "keys.json").unlink()
    careful = bullpen(data, "keys", "abandon")
    assert careful.returncode == 1
    assert "--yes" in careful.stderr
    assert "API_KEY of workspace" in output(data, "keys", "abandon", "--yes")
    assert [v["name"] for v in listed(data)] == ["CITY"]
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET)
    assert len(held(data)) == 1


@pytest.mark.proves("F8")
def test_keys_rotate_with_and_without_a_running_server(data: Path) -> None:
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET)
    (first,) = held(data)
    assert "The old key is gone" in output(data, "keys", "rotate")
    (second,) = held(data)
    with serving(data):
        told = json.loads(output(data, "keys", "rotate", "--json"))
        (third,) = held(data)
    assert told["keyId"] == third["id"]
    assert (told["secrets"], told["forgotten"], told["resumed"]) == (1, 1, False)
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert third["secrets"] == 1


def test_a_provided_key_file_is_rotated_by_adding_a_line(data: Path) -> None:
    key_file = data.parent / "key"
    key_file.write_text("11" * 32 + "\n")
    key_file.chmod(0o444)
    environ = {"BULLPEN_KEY_FILE": str(key_file)}
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET, **environ)
    assert not (data / "keys.json").exists()
    refused = bullpen(data, "keys", "rotate", **environ)
    assert refused.returncode == 1
    assert "Put a new key on its first line" in refused.stderr
    key_file.chmod(0o644)
    key_file.write_text("22" * 32 + "\n" + "11" * 32 + "\n")
    assert "the lines below the first are not needed" in output(data, "keys", "rotate", **environ)
    key_file.write_text("22" * 32 + "\n")
    assert "1 secrets can be opened" in output(data, "doctor", **environ)


def test_a_backup_says_it_lacks_the_key_and_needs_it(data: Path, tmp_path: Path) -> None:
    output(data, "variables", "set", "API_KEY", "--secret", stdin=SECRET)
    path = tmp_path / "office.db"
    assert json.loads(output(data, "backup", str(path), "--json"))["holdsKey"] is False
    assert SECRET.encode() not in path.read_bytes()
    elsewhere = tmp_path / "elsewhere"
    output(elsewhere, "restore", str(path))
    refused = bullpen(elsewhere, "variables")
    assert refused.returncode == 1
    assert "key file" in refused.stderr
    (elsewhere / "keys.json").write_bytes((data / "keys.json").read_bytes())
    (elsewhere / "keys.json").chmod(0o600)
    assert [v["name"] for v in listed(elsewhere)] == ["API_KEY"]


def test_applying_a_project_sets_variables_with_secrets_from_the_environment(data: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "variables.yaml").write_text(
        "- {name: CITY, value: Rome, description: where we are}\n"
        "- {name: API_KEY, type: secret, env: SHOP_KEY, scope: {kind: space, id: lab}}\n"
    )
    (project / "spaces.yaml").write_text("- {id: lab, name: Lab, members: []}\n")
    missing = bullpen(data, "apply", str(project))
    assert missing.returncode == 1
    assert "SHOP_KEY is not set" in missing.stderr
    applied = json.loads(output(data, "apply", str(project), "--json", SHOP_KEY=SECRET))
    assert applied["variables"] == [{"id": "CITY", "change": "created"}, {"id": "API_KEY", "change": "created"}]
    applied = json.loads(output(data, "apply", str(project), "--json", SHOP_KEY=SECRET))
    assert applied["variables"] == [{"id": "CITY", "change": "unchanged"}, {"id": "API_KEY", "change": "unchanged"}]
    (project / "variables.yaml").write_text("- {name: API_KEY, type: secret, value: written-in-a-file}\n")
    refused = bullpen(data, "apply", str(project))
    assert refused.returncode == 1
    assert "env: the name that this secret has in your environment" in refused.stderr
