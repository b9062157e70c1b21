"""The settings and the environment: what is misspelt, what is open, which keys are there. Values are never shown."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import fields
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from bullpen.doctor.types import Finding, ok, problem, warning
from bullpen.llm import minilm
from bullpen.observe import names
from bullpen.settings import Settings, strangers
from bullpen.toolbox import FAMILIES
from bullpen.tools.naming import reserved_names
from bullpen.variables.rules import refusal, sounds_secret

KEYS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "FIRECRAWL_API_KEY",
    "FREYA_API_KEY",
    "SUPERMEMORY_API_KEY",
    "TELEGRAM_BOT_TOKEN",
)


def examine(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    found = [
        *(
            warning("settings", f"{name} is set, and means nothing here.", "Correct the name.")
            for name in strangers(environ)
        ),
        *_who_comes_in(settings),
        *_limits_off(settings),
        *_poor_secrets(settings),
        *_readable_files(settings),
    ]
    yield from found or [ok("settings", "All settings are known and make sense.")]
    yield keys(environ)
    yield meaning(settings)


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _who_comes_in(settings: Settings) -> Iterator[Finding]:
    public = urlsplit(settings.public_url)
    if not _is_loopback(settings.host) and public.scheme != "https":
        yield warning(
            "settings",
            f"The server listens on {settings.host}, and people's words and tokens travel in clear.",
            "Put a proxy with TLS before it, listen on 127.0.0.1, and set BULLPEN_PUBLIC_URL to https://….",
        )
    elif public.scheme == "http" and not _is_loopback(public.hostname):
        yield warning("settings", "BULLPEN_PUBLIC_URL is not https.", "Give the proxy a certificate and use https://….")
    if public.scheme == "https" and not settings.trusted_proxies:
        yield warning(
            "settings",
            "BULLPEN_PUBLIC_URL is set, but no proxy is trusted, so everybody seems to come from the proxy.",
            "Set BULLPEN_TRUSTED_PROXIES to the proxy's address, e.g. 127.0.0.1.",
        )


def _limits_off(settings: Settings) -> Iterator[Finding]:
    for limit in fields(settings.limits):
        if limit.name.endswith(("_per_minute", "_per_person")) and getattr(settings.limits, limit.name) == 0:
            yield warning("settings", f"The limit {limit.name} is off.", "Set it again, unless you are measuring.")


def _poor_secrets(settings: Settings) -> Iterator[Finding]:
    """Values from the environment are taken as they are. Some cannot be masked well."""
    names.keep(reserved_names(FAMILIES))
    for name, value in settings.variables.items():
        if sounds_secret(name) and (why := refusal(value)) is not None:
            said = f"The variable {name} of the settings is used as a secret, but cannot be masked well. {why[0]}"
            yield warning("settings", said, "Give it another value, or another name if it is no secret.")


def _readable_files(settings: Settings) -> Iterator[Finding]:
    """A file that holds a token or a password should be for one user."""
    for path in (Path(".env"), Path("bullpen.toml"), settings.data / "bullpen.toml"):
        if path.is_file() and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH) and _holds_secret(path):
            yield warning("settings", f"Other users may read {path}, which holds secrets.", f"`chmod 600 {path}`.")


def _holds_secret(path: Path) -> bool:
    text = path.read_text(errors="replace").lower()
    return any(word in text for word in ("token", "api_key", "password", "://", "secret"))


def meaning(settings: Settings) -> Finding:
    """What turns texts into vectors. How far it is behind, the database knows."""
    chosen = settings.embeddings
    if chosen.provider == "openai":
        where = chosen.url or settings.openai_base_url or "OpenAI"
        if not minilm.has_numpy():
            return problem("meaning", "Search by meaning needs the extra.", "Install `bullpen[embeddings]`.")
        return ok("meaning", f"Vectors come from {where}, to which texts and questions are sent.")
    if minilm.is_installed(chosen.weights) and chosen.provider != "none":
        return ok("meaning", "Vectors are made by MiniLM on this machine.")
    if chosen.provider == "minilm":
        return problem("meaning", "BULLPEN_EMBEDDINGS__PROVIDER is minilm, but it is not installed.", minilm.INSTALL)
    return ok("meaning", "No model for search by meaning is set: searches are by words.")


def keys(environ: Mapping[str, str]) -> Finding:
    found = [name for name in KEYS if environ.get(name)]
    if not found:
        return ok("keys", "No key of a model provider is set: agents run on the offline `script` models.")
    return ok("keys", f"Keys that are set: {', '.join(found)}.")
