"""Settings: from files, the environment and the command line, in rising order; a mistake is a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bullpen.errors import CannotStart
from bullpen.settings import EngineSettings, LimitSettings, Settings, load_settings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_any_settings_the_defaults_apply() -> None:
    settings = load_settings({})
    assert settings == Settings()
    assert (settings.host, settings.port, settings.data) == ("127.0.0.1", 8420, Path("bullpen-data"))
    assert (settings.engine.group_wait_seconds, settings.limits.chain_depth, settings.limits.calls_per_step) == (
        30,
        3,
        32,
    )
    assert not settings.on_postgres
    assert settings.sqlite_path == Path("bullpen-data/bullpen.db")


def test_the_task_time_zone_defaults_to_the_machines_named_zone() -> None:
    assert load_settings({}).timezone == "UTC"
    assert load_settings({"TZ": "Europe/Berlin"}).timezone == "Europe/Berlin"
    assert load_settings({"TZ": ":America/New_York"}).timezone == "America/New_York"
    assert load_settings({"TZ": ":/etc/localtime"}).timezone == "UTC", "a file is no name"
    assert load_settings({"TZ": "Europe/Berlin", "BULLPEN_TIMEZONE": "Asia/Tokyo"}).timezone == "Asia/Tokyo"
    with pytest.raises(CannotStart, match="BULLPEN_TIMEZONE"):
        load_settings({"BULLPEN_TIMEZONE": "Mars/Olympus"})


def test_each_settings_source_overrides_the_lower_ones() -> None:
    Path("bullpen.toml").write_text("port = 1\n[limits]\nchain_depth = 9\n")
    assert load_settings({}).port == 1
    Path("bullpen-data").mkdir()
    Path("bullpen-data/bullpen.toml").write_text("port = 2\n[engine]\nlease_seconds = 3\n")
    assert load_settings({}).port == 2
    Path(".env").write_text("# a comment\nexport BULLPEN_PORT='3'\nBULLPEN_LIMITS__BODY_BYTES=77\n\nnonsense\n")
    assert load_settings({}).port == 3
    assert load_settings({"BULLPEN_PORT": "4"}).port == 4
    settings = load_settings({"BULLPEN_PORT": "4", "BULLPEN_ENGINE__CONCURRENT_RUNS": "5"}, port=6, host=None)
    assert (settings.port, settings.host) == (6, "127.0.0.1")
    # Groups are merged name by name.
    assert settings.limits == LimitSettings(chain_depth=9, body_bytes=77)
    assert settings.engine == EngineSettings(lease_seconds=3.0, concurrent_runs=5)


def test_the_data_folder_is_found_before_its_file_is_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "bullpen.toml").write_text('host = "::1"\n')
    for settings in (load_settings({"BULLPEN_DATA": "elsewhere"}), load_settings({}, data=elsewhere)):
        assert settings.host == "::1"
    Path("bullpen.toml").write_text('data = "elsewhere"\n')
    assert load_settings({}).host == "::1"


@pytest.mark.parametrize(
    "url, postgres", [("postgresql://me@host/db", True), ("postgres:///db", True), ("sqlite:///some/file.db", False)]
)
def test_the_database_url_says_which_database(url: str, postgres: bool) -> None:
    for name in ("DATABASE_URL", "BULLPEN_DATABASE_URL"):
        settings = load_settings({name: url})
        assert (settings.database_url, settings.on_postgres) == (url, postgres)
    both = load_settings({"DATABASE_URL": "sqlite:///other", "BULLPEN_DATABASE_URL": url})
    assert both.database_url == url
    assert load_settings({"BULLPEN_DATABASE_URL": url, "DATABASE_URL": "sqlite:///other"}).database_url == url
    assert load_settings({"DATABASE_URL": "sqlite:///some/file.db"}).sqlite_path == Path("some/file.db")


MISTAKES: list[tuple[dict[str, str], str, str]] = [
    ({}, "prot = 1", "There is no setting named 'prot'. Known here: anthropic_base_url, data"),
    ({}, "[limits]\nchain_deep = 1", "There is no setting named 'chain_deep'"),
    ({}, 'port = "many"', "The setting 'port' should be a int, not 'many'"),
    ({}, "port = [1]", "The setting 'port' should be a int"),
    ({}, "port = true", "The setting 'port' should be a int, not True"),
    ({}, "host = ['x']", "The setting 'host' should be a str"),
    ({}, "[host]\nx = 1", "The setting 'host' should be a str"),
    ({}, "engine = 5", "The setting 'engine' is a group"),
    ({}, "port = ", "Cannot read bullpen.toml"),
    ({}, "[engine]\nlease_seconds = 'x'", "The setting 'lease_seconds' should be a float, not 'x'"),
    ({"DATABASE_URL": "mysql://x"}, "", "DATABASE_URL must look like"),
    ({"BULLPEN_PORT": "many"}, "", "The setting 'port' should be a int, not 'many'"),
    ({"BULLPEN_ENGINE": "fast"}, "", "The setting 'engine' is a group"),
    ({"BULLPEN_ENGINE": "fast", "BULLPEN_ENGINE__LEASE_SECONDS": "1"}, "", "The setting 'engine' is a group"),
    ({"BULLPEN_HOST__NAME": "x"}, "", "The setting 'host' should be a str"),
    ({"BULLPEN_PUBLIC_URL": "bullpen.example.com"}, "", "BULLPEN_PUBLIC_URL must look like"),
    ({"BULLPEN_PUBLIC_URL": "https://example.com/office"}, "", "without a path"),
    ({"BULLPEN_TRUSTED_PROXIES": "10.0.0.1, nginx"}, "", "BULLPEN_TRUSTED_PROXIES holds 'nginx'"),
    ({"BULLPEN_HOSTS": "https://x"}, "", "BULLPEN_HOSTS holds 'https://x'"),
    ({}, "hosts = [1]", "The setting 'hosts' should be a list of texts"),
    ({}, "hosts = true", "The setting 'hosts' should be a tuple"),
    ({"BULLPEN_LIMITS__REQUESTS_PER_MINUTE": "-1"}, "", "The limit 'requests_per_minute' must not be negative"),
]


def test_lists_are_toml_arrays_or_comma_separated_environment_values() -> None:
    Path("bullpen.toml").write_text('hosts = ["a.lan", "b.lan:8420"]')
    settings = load_settings({"BULLPEN_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8,"})
    assert settings.hosts == ("a.lan", "b.lan:8420")
    assert settings.trusted_proxies == ("127.0.0.1", "10.0.0.0/8")


@pytest.mark.parametrize("env, file, why", MISTAKES)
def test_a_mistake_stops_the_server_with_a_sentence(env: dict[str, str], file: str, why: str) -> None:
    Path("bullpen.toml").write_text(file)
    with pytest.raises(CannotStart) as caught:
        load_settings(env)
    assert why in caught.value.message


def test_an_unknown_environment_variable_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    env = {
        "BULLPEN_PROT": "1",
        "BULLPEN_LIMITS__CHAIN_DEEP": "2",
        "BULLPEN_PORT": "",
    }
    assert load_settings(env) == Settings()
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "the environment sets BULLPEN_PROT, which this Bullpen does not know",
        "the environment sets BULLPEN_LIMITS__CHAIN_DEEP, which this Bullpen does not know",
    ]


def test_variables_come_from_files_environment_and_well_known_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bullpen.toml").write_text('[variables]\nCITY = "Rome"\nMixed_Case = "kept"\n')
    env = {"BULLPEN_VARIABLES__CITY": "Oslo", "OPENAI_API_KEY": "sk-of-the-tests", "PATH_OF_OTHERS": "x"}
    found = load_settings(env)
    assert found.variables == {"CITY": "Oslo", "Mixed_Case": "kept", "OPENAI_API_KEY": "sk-of-the-tests"}
    assert "sk-of-the-tests" not in repr(found)
    (tmp_path / "bullpen.toml").write_text("[variables]\nCITY = 5\n")
    with pytest.raises(CannotStart, match=r"\[variables\]"):
        load_settings({})


def test_the_local_socket_has_a_path_that_is_short_enough(tmp_path: Path) -> None:
    assert Settings(data=Path("/srv/data")).socket_path == Path("/srv/data/bullpen.sock")
    deep = Settings(data=tmp_path / ("x" * 120))
    assert len(str(deep.socket_path)) < 100
    assert deep.socket_path == Settings(data=tmp_path / ("x" * 120)).socket_path
    assert deep.socket_path != Settings(data=tmp_path / ("y" * 120)).socket_path
