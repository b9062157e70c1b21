"""Settings: read once at start, then passed down. Nothing else in the server looks at the environment.

In rising order: defaults, `bullpen.toml` in the working folder, `bullpen.toml` in the data folder, a `.env` file, the
environment (`BULLPEN_…`, nested with `__`), and what the command line says. An unknown name in a file is refused with a
sentence, since a misspelt limit is worse than none; in the environment, which others write too, it is only reported.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from bullpen.errors import CannotStart

logger = logging.getLogger("bullpen.settings")

DATA = Path("bullpen-data")
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
LOG_FORMATS = ("text", "json")
EMBEDDERS = ("none", "minilm", "openai")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    lease_seconds: float = 8.0
    concurrent_runs: int = 100
    group_wait_seconds: float = 30.0  # how long the next agent of a group waits for the one before it
    model_patience_seconds: float = 3600.0  # how long a run waits for a provider that is not there


@dataclass(frozen=True, slots=True)
class LimitSettings:
    chain_depth: int = 3
    body_bytes: int = 1_048_576
    calls_per_step: int = 32
    approval_seconds: float = 86_400.0  # how long an approval may take, if no person had asked for anything
    # What one caller may do in a minute: as a burst, or spread out. 0 switches a limit off.
    requests_per_minute: int = 1200
    messages_per_minute: int = 600
    reactions_per_minute: int = 600
    typing_per_minute: int = 60
    edits_per_minute: int = 600
    agent_messages_per_minute: int = 60  # of all agents together, in one space
    streams_per_person: int = 10
    guesses_per_minute: int = 10  # unknown tokens from one address
    # How long a connection may take: for a request's head, for its body, and to read some of the answer.
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    # How long a request may wait before it begins to change something: clients wait no longer for the answer.
    request_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """After how many days something is forgotten; 0 keeps it for ever. The audit log always stays."""

    events_days: int = 30  # what a follower that comes back can still be told
    journals_days: int = 90  # what agents thought and called; the runs themselves stay
    sessions_days: int = 30  # sessions that have ended, invites that are used up


@dataclass(frozen=True, slots=True)
class EgressSettings:
    listed: str = ""  # use=URL, separated by spaces; read by net/allowance.py


@dataclass(frozen=True, slots=True)
class FileSettings:
    """How much may be kept. 0 limits nothing. What a file counts for is its space, or whoever has it while in none."""

    file_bytes: int = 100 << 20
    space_bytes: int = 10 << 30
    person_bytes: int = 5 << 30
    space_files: int = 100_000
    person_files: int = 10_000
    unattached_hours: int = 24  # after which a file that no message shows is forgotten
    uploads_at_once: int = 5  # of one caller


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """How much the folder of one thread may hold; 0 is no limit."""

    bytes: int = 1 << 30
    files: int = 100_000


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Storage that speaks S3, for the bytes of files; without a bucket they lie in the data folder."""

    endpoint: str = ""  # https://storage.example.com
    bucket: str = ""
    region: str = "us-east-1"
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    prefix: str = ""  # before every key: several offices may share a bucket
    addressing: str = "path"  # the bucket stands in the path, or in the `host`


@dataclass(frozen=True, slots=True)
class TaskSettings:
    min_interval_seconds: float = 60.0  # a task must not come round sooner
    per_space: int = 200  # tasks that are not over, in one space; 0 limits nothing
    failures: int = 5  # in a row, after which a task is paused


@dataclass(frozen=True, slots=True)
class SkillSettings:
    per_space: int = 100  # skills in one space; 0 limits nothing


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Search by meaning: what turns texts into vectors."""

    provider: str = ""  # none, minilm or openai; unsaid: minilm where it is installed, otherwise none
    url: str = ""  # of a server that speaks as OpenAI does: https://models.example.com/v1. Counts as listed for egress
    model: str = ""  # what that server calls the model
    key: str = "OPENAI_API_KEY"  # the variable that holds the server's key
    dimensions: int = 0  # how many to ask the server for; 0: as many as the model has
    weights: str = ""  # the folder with the weights of MiniLM; unsaid: the package bullpen-minilm
    cache_bytes: int = 256 << 20  # of vectors of scopes in use, in memory


@dataclass(frozen=True, slots=True)
class MemorySettings:
    passages_per_scope: int = 100_000  # of one agent, one agent in one space, or one space; 0 limits nothing
    engine: str = "auto"  # supermemory: notes of spaces are kept there, too; own: here alone; auto: if there is a key


MEMORY_ENGINES = ("auto", "supermemory", "own")


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8420
    data: Path = DATA
    database_url: str = ""
    database_seconds: float = 15.0  # how long PostgreSQL may take for one statement
    url: str = "http://127.0.0.1:8420"
    token: str = ""
    timezone: str = "UTC"  # of tasks in spaces that name none
    model: str = ""  # when set, every agent loaded from files runs on this model
    log_level: str = "info"
    session_days: int = 30
    log_format: str = "text"  # or json: one object on each line
    key_file: Path | None = None  # what secrets are sealed with; None: keys.json in the data folder
    # Values that tools may ask for by these names, when nobody has set them anywhere else.
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Where models of these providers are asked, when that is not the provider itself. Counts as listed for egress.
    anthropic_base_url: str = ""
    openai_base_url: str = ""
    supermemory_base_url: str = ""  # where Supermemory is, if not at its own address; listed for it alone
    metrics_token: str = ""  # whoever holds it may read /metrics, and nothing else
    public_url: str = ""  # how people reach us, when that is not where we listen
    trusted_proxies: tuple[str, ...] = ()  # addresses or networks whose X-Forwarded-… headers are believed
    hosts: tuple[str, ...] = ()  # more names under which we may be asked for, each with or without a port
    engine: EngineSettings = field(default_factory=EngineSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    egress: EgressSettings = field(default_factory=EgressSettings)
    files: FileSettings = field(default_factory=FileSettings)
    folders: FolderSettings = field(default_factory=FolderSettings)
    s3: S3Settings = field(default_factory=S3Settings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    skills: SkillSettings = field(default_factory=SkillSettings)
    embeddings: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)

    @property
    def socket_path(self) -> Path:
        """The local door. A socket's path may have some 100 characters, so deep folders get one elsewhere."""
        path = self.data.absolute() / "bullpen.sock"
        if len(os.fsencode(path)) < 100:
            return path
        name = sha256(str(path).encode()).hexdigest()[:16]
        return Path(gettempdir()) / f"bullpen-{os.getuid()}" / f"{name}.sock"

    @property
    def keys_path(self) -> Path:
        return self.key_file or self.data / "keys.json"

    @property
    def backups(self) -> Path:
        return self.data / "backups"

    @property
    def blobs(self) -> Path:
        """Where the bytes of files are, unless they are kept elsewhere."""
        return self.data / "files"

    @property
    def sqlite_path(self) -> Path:
        if self.database_url:
            return Path(self.database_url.removeprefix("sqlite:///"))
        return self.data / "bullpen.db"

    @property
    def on_postgres(self) -> bool:
        return self.database_url.startswith(("postgresql://", "postgres://"))


Group: TypeAlias = (
    EngineSettings
    | LimitSettings
    | RetentionSettings
    | EgressSettings
    | FileSettings
    | FolderSettings
    | S3Settings
    | TaskSettings
    | SkillSettings
    | EmbeddingSettings
    | MemorySettings
)
_GROUPS: Mapping[str, type[Group]] = {
    "engine": EngineSettings,
    "limits": LimitSettings,
    "retention": RetentionSettings,
    "egress": EgressSettings,
    "files": FileSettings,
    "folders": FolderSettings,
    "s3": S3Settings,
    "tasks": TaskSettings,
    "skills": SkillSettings,
    "embeddings": EmbeddingSettings,
    "memory": MemorySettings,
}
# The same thing under the name people already have in their environment.
_PLAIN_NAMES = {
    "DATABASE_URL": "database_url",
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "OPENAI_BASE_URL": "openai_base_url",
    "SUPERMEMORY_BASE_URL": "supermemory_base_url",
}
# Variables that keep the names they have everywhere.
_KNOWN_VARIABLES = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "FIRECRAWL_API_KEY",
        "FREYA_API_KEY",
        "OPENAI_API_KEY",
        "SUPERMEMORY_API_KEY",
        "SUPERMEMORY_CC_API_KEY",
        "SUPERMEMORY_OPENCLAW_API_KEY",
        "TELEGRAM_BOT_TOKEN",
    }
)


def load_settings(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Settings for this process. `overrides` are the command line's; a value of None means "not said"."""
    said = {name: value for name, value in overrides.items() if value is not None}
    env = environment(os.environ if environ is None else environ)
    from_env = _from_environment(env)
    for name in _strangers(from_env):
        logger.warning("the environment sets %s, which this Bullpen does not know", name)
    merged: dict[str, Any] = {}
    _merge(merged, _read_toml(Path("bullpen.toml")))
    data = said.get("data") or from_env.get("data") or merged.get("data") or DATA
    _merge(merged, _read_toml(Path(data) / "bullpen.toml"))
    _merge(merged, from_env)
    _merge(merged, said)
    return _build(merged)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What is set around us: in a `.env` file, or in the environment, which has the last word."""
    return {**_read_dotenv(Path(".env")), **environ}


def strangers(environ: Mapping[str, str]) -> list[str]:
    """Names that look like settings of ours and are none."""
    return _strangers(_from_environment(environ))


def _build(merged: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {}
    for name, value in merged.items():
        if name == "variables":
            values[name] = _variables(value)
        elif name in _GROUPS:
            values[name] = _GROUPS[name](**{k: _convert(_GROUPS[name], k, v) for k, v in value.items()})
        else:
            values[name] = _convert(Settings, name, value)
    settings = Settings(**values)
    url = settings.database_url
    if url and not settings.on_postgres and not url.startswith("sqlite:///"):
        raise CannotStart("DATABASE_URL must look like sqlite:///path or postgresql://user@host/database.")
    _check_edge(settings)
    for name in ("anthropic_base_url", "openai_base_url", "supermemory_base_url"):
        place = urlsplit(getattr(settings, name))
        if getattr(settings, name) and not (place.scheme in ("http", "https") and place.hostname and not place.query):
            raise CannotStart(f"{name.upper()} must look like https://models.example.com/v1.")
    for days in fields(settings.retention):
        if not 0 <= getattr(settings.retention, days.name) <= 36_500:
            raise CannotStart(f"The setting {days.name!r} is a number of days, at most 36500. 0 keeps things for ever.")
    if not is_zone(settings.timezone):
        raise CannotStart(f"BULLPEN_TIMEZONE holds {settings.timezone!r}; write a zone as in Europe/Berlin, or UTC.")
    if settings.memory.engine not in MEMORY_ENGINES:
        raise CannotStart(
            f"BULLPEN_MEMORY__ENGINE is one of {', '.join(MEMORY_ENGINES)}, not {settings.memory.engine!r}."
        )
    _check_logs(settings)
    _check_s3(settings.s3)
    _check_embeddings(settings.embeddings)
    return settings


def is_zone(name: str) -> bool:
    """Does the machine, or the package of zones that we bring along, know a zone of this name?"""
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return bool(name)


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(inner, str) for inner in value.values()):
        raise CannotStart("The setting 'variables' holds names and texts: under [variables], NAME = \"value\".")
    return dict(value)


def _check_s3(s3: S3Settings) -> None:
    given = [name for name in ("endpoint", "bucket", "access_key", "secret_key") if getattr(s3, name)]
    if given and len(given) < 4:
        raise CannotStart("S3 storage needs s3.endpoint, s3.bucket, s3.access_key and s3.secret_key. Set all, or none.")
    if s3.addressing not in ("path", "host"):
        raise CannotStart(f"The setting 's3.addressing' is path or host, not {s3.addressing!r}.")
    place = urlsplit(s3.endpoint)
    if given and not (place.scheme in ("http", "https") and place.hostname and not place.path.strip("/")):
        raise CannotStart("The setting 's3.endpoint' must look like https://storage.example.com, without a path.")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}|", s3.bucket):
        raise CannotStart(f"The setting 's3.bucket' holds {s3.bucket!r}, which is no name of a bucket.")
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?|", s3.prefix):
        raise CannotStart(f"The setting 's3.prefix' holds {s3.prefix!r}; write letters, digits and slashes between.")


def _check_embeddings(embeddings: EmbeddingSettings) -> None:
    if embeddings.provider not in ("", *EMBEDDERS):
        raise CannotStart(
            f"BULLPEN_EMBEDDINGS__PROVIDER is one of {', '.join(EMBEDDERS)}, not {embeddings.provider!r}."
        )
    place = urlsplit(embeddings.url)
    if embeddings.url and not (place.scheme in ("http", "https") and place.hostname and not place.query):
        raise CannotStart("BULLPEN_EMBEDDINGS__URL must look like https://models.example.com/v1.")
    if not 0 <= embeddings.dimensions <= 8192:
        raise CannotStart("The setting 'embeddings.dimensions' is a number up to 8192. 0: as many as the model has.")


def _check_logs(settings: Settings) -> None:
    if settings.log_level.lower() not in LOG_LEVELS:
        raise CannotStart(f"BULLPEN_LOG_LEVEL is one of {', '.join(LOG_LEVELS)}, not {settings.log_level!r}.")
    if settings.log_format not in LOG_FORMATS:
        raise CannotStart(f"BULLPEN_LOG_FORMAT is one of {', '.join(LOG_FORMATS)}, not {settings.log_format!r}.")


def _check_edge(settings: Settings) -> None:
    """Who is believed and who is let in must not depend on a guess at what was meant."""
    public = urlsplit(settings.public_url)
    complete = public.scheme in ("http", "https") and public.hostname and not public.path.strip("/")
    if settings.public_url and not complete:
        raise CannotStart("BULLPEN_PUBLIC_URL must look like https://bullpen.example.com, without a path.")
    for proxy in settings.trusted_proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise CannotStart(
                f"BULLPEN_TRUSTED_PROXIES holds {proxy!r}, which is neither an address nor a network like 10.0.0.0/8."
            ) from None
    for host in settings.hosts:
        if "/" in host or "*" in host:
            raise CannotStart(f"BULLPEN_HOSTS holds {host!r}; write names as in bullpen.lan or bullpen.lan:8420.")
    for group in (settings.limits, settings.files, settings.folders, settings.tasks, settings.embeddings):
        for limit in fields(group):
            if _is_negative(getattr(group, limit.name)):
                raise CannotStart(f"The limit {limit.name!r} must not be negative. 0 switches a limit off.")


def _is_negative(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


def _convert(group: Any, name: str, value: Any) -> Any:
    kinds: dict[str, Any] = {f.name: type(f.default) for f in fields(group)}
    if group is Settings:
        kinds["data"] = kinds["key_file"] = Path
    if name not in kinds:
        known = ", ".join(sorted(kinds))
        raise CannotStart(f"There is no setting named {name!r}. Known here: {known}.")
    kind = kinds[name]
    if kind is tuple and isinstance(value, str | list | tuple):
        return _names(name, value)
    wrong = CannotStart(f"The setting {name!r} should be a {kind.__name__}, not {value!r}.")
    if isinstance(value, bool | Mapping | list):  # int() and str() would take them
        raise wrong
    try:
        return value if isinstance(value, kind) else kind(value)
    except (TypeError, ValueError):
        raise wrong from None


def _names(name: str, value: str | list[Any] | tuple[Any, ...]) -> tuple[str, ...]:
    """Several names: a list in a file, commas between them in the environment."""
    listed = value.split(",") if isinstance(value, str) else value
    if not all(isinstance(item, str) for item in listed):
        raise CannotStart(f"The setting {name!r} should be a list of texts, not {value!r}.")
    return tuple(item.strip() for item in listed if item.strip())


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in env.items():
        if name == "TZ" and is_zone(value.lstrip(":")):
            found.setdefault("timezone", value.lstrip(":"))  # others mean a file by it, or a rule of their own
        elif name in _PLAIN_NAMES and value:
            found.setdefault(_PLAIN_NAMES[name], value)
        elif name in _KNOWN_VARIABLES and value:
            found.setdefault("variables", {})[name] = value
        elif name.startswith("BULLPEN_") and value:
            head, _, tail = name.removeprefix("BULLPEN_").lower().partition("__")
            if tail:
                tail = name.partition("__")[2] if head == "variables" else tail  # a variable is spelt as it is spelt
                inside = found.setdefault(head, {})
                if isinstance(inside, dict):
                    inside[tail] = value
            else:
                found[head] = value
    return found


def _strangers(found: dict[str, Any]) -> list[str]:
    """Take out what is no setting of ours, and name it as the environment does."""
    known = {f.name for f in fields(Settings)}
    strange = [name for name in found if name not in known]
    for name in strange:
        del found[name]
    for group, kind in _GROUPS.items():
        inside = found.get(group)
        if isinstance(inside, dict):
            unknown = set(inside) - {f.name for f in fields(kind)}
            strange += [f"{group}__{name}" for name in sorted(unknown)]
            found[group] = {name: value for name, value in inside.items() if name not in unknown}
    return [f"BULLPEN_{name.upper()}" for name in strange]


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if name == "variables" and isinstance(value, Mapping):
            into[name] = {**into.get(name, {}), **value}
        elif name not in _GROUPS:
            into[name] = value
        elif isinstance(value, Mapping):
            into[name] = {**into.get(name, {}), **value}
        elif isinstance(value, _GROUPS[name]):
            into[name] = {f.name: getattr(value, f.name) for f in fields(_GROUPS[name])}
        else:
            known = ", ".join(f.name for f in fields(_GROUPS[name]))
            raise CannotStart(f"The setting {name!r} is a group, so {value!r} says nothing. Inside it are: {known}.")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise CannotStart(f"{path.parent} is not a folder. Name a folder with --data or BULLPEN_DATA.") from None
    except OSError as error:
        raise CannotStart(f"Cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotStart(f"Cannot read {path}: {error}.") from error


def _read_dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    found = {}
    for line in path.read_text().splitlines():
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("'\"")
    return found
