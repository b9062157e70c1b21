"""From what an agent says its model is, to the model.

A string `provider:name`, or an object with `provider`. (What names a connection has been looked up before.) Checked
when an agent is defined, so that a misspelt provider is a clear error then, and not a silent agent later. Providers
other than `script` are added by whoever puts the server together, so that nothing of theirs is imported before an agent
uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import yaml
from pydantic import ValidationError

from bullpen.errors import Invalid
from bullpen.llm.fallback import FallbackModel
from bullpen.llm.script import Script, ScriptModel
from bullpen.llm.types import Model, needs_values
from bullpen.variables.types import Value
from bullpen.wire.nouns import VariableDefinition

Build = Callable[[dict[str, Any]], Model]
MOST_FALLBACKS = 5
USE: Final = "model"  # as egress.listed has it
# For whoever names a provider alone.
DEFAULT_NAMES: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-5.5",
    "openai-chat": "gpt-5.5",
    "script": "echo",
}
# The variable that holds the key of a provider, when it is asked at its own address.
USUAL_KEYS: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
}


class Models:
    """Builds models from their specs, once each."""

    def __init__(self, scripts: Path | None = None) -> None:
        self._scripts = scripts
        self._providers: Mapping[str, Build] = {"script": self._script}
        self._built: dict[bytes, Model] = {}

    def add(self, provider: str, build: Build) -> None:
        """One more provider; `build` gets the spec as an object."""
        self._providers = {**self._providers, provider: build}

    def variables(self, spec: Any) -> Sequence[VariableDefinition]:
        """What a model must be given before it can be asked."""
        model = self.resolve(spec)
        return model.variables if needs_values(model) else ()

    def resolve(self, spec: Any, values: Mapping[str, Value] | None = None) -> Model:
        """The model, with the values that it needs; or Invalid with the field and what to do."""
        model = self._built_once(spec)
        return model.given(values) if values and needs_values(model) else model

    def check_choice(self, provider: str | None, name: Any) -> None:
        """Refuse what no agent of a space could think with. A name alone is the agent's own provider's business."""
        chosen = in_space(_NO_MODEL, provider, name)
        if chosen != _NO_MODEL and chosen["provider"] != _NO_MODEL["provider"]:
            self.resolve(chosen)

    def _built_once(self, spec: Any) -> Model:
        key = orjson.dumps(spec)
        model = self._built.get(key)
        if model is None:
            if len(self._built) > 10_000:
                self._built.clear()
            model = self._built[key] = self._build(spec)
        return model

    def _build(self, spec: Any) -> Model:
        if isinstance(spec, str):
            provider, sign, name = spec.partition(":")
            if not sign or not name:
                raise _invalid(f"A model is written `provider:name`, for example `script:echo`, not {spec!r}.")
            spec = {"provider": provider, "name": name}
        if isinstance(spec, dict) and "connection" in spec:
            raise _invalid(f"There is no connection {spec['connection']!r} any more. Give the agent another model.")
        if not isinstance(spec, dict) or "provider" not in spec:
            raise _invalid("A model is a string `provider:name` or an object with `provider`.")
        if "fallback" in spec:
            return self._with_fallback({**spec}, spec["fallback"])
        build = self._providers.get(spec["provider"]) if isinstance(spec["provider"], str) else None
        if build is None:
            known = ", ".join(sorted(self._providers))
            raise _invalid(f"There is no model provider {spec['provider']!r}. Known here: {known}.")
        return build(spec)

    def _with_fallback(self, spec: dict[str, Any], others: Any) -> Model:
        del spec["fallback"]
        if not isinstance(others, list) or len(others) > MOST_FALLBACKS:
            raise _invalid(f"fallback is a list of at most {MOST_FALLBACKS} models, asked in their order.")
        if any(isinstance(other, dict) and "fallback" in other for other in others):
            raise _invalid("A model that others fall back to has no fallback of its own. Write them in one list.")
        return FallbackModel([(name_of(each), self._build(each)) for each in (spec, *others)])

    def _script(self, spec: dict[str, Any]) -> Model:
        if "turns" not in spec:
            spec = self._named_script(spec.get("name"))
        try:
            return ScriptModel(Script.model_validate(spec))
        except ValidationError as error:
            fields = {"model." + ".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}
            raise Invalid("The script of this model cannot be played.", fields=fields) from None

    def _named_script(self, name: Any) -> dict[str, Any]:
        if isinstance(name, str) and name in NAMED:
            return NAMED[name]
        if self._scripts is not None and isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum():
            path = self._scripts / f"{name}.yaml"
            if path.is_file():
                found = yaml.safe_load(path.read_text())
                return {"provider": "script", **found} if isinstance(found, dict) else {"turns": found}
        known = ", ".join(sorted(NAMED))
        raise _invalid(
            f"There is no script named {name!r}. Known: {known}, and files `scripts/NAME.yaml` in the data folder."
        )


_NO_MODEL: Mapping[str, str] = {"provider": ""}


def in_space(spec: Any, provider: str | None, name: Any) -> Any:
    """The model of an agent in a space that has a provider or a model of its own.

    A space chooses among models and no more: where they are asked and with which key is for whoever manages agents.
    """
    if isinstance(name, Mapping):
        provider, name = name.get("provider", provider), name.get("name")
    provider, name = (each if isinstance(each, str) else "" for each in (provider, name))
    if not provider and not name:
        return spec
    own = spec.partition(":")[0] if isinstance(spec, str) else spec.get("provider")
    if isinstance(spec, dict) and "connection" in spec and not provider and name.partition(":")[0] not in DEFAULT_NAMES:
        return {**spec, "name": name}
    if not provider and name.partition(":")[0] in DEFAULT_NAMES and ":" in name:
        provider, _, name = name.partition(":")
    provider = provider or own
    if provider != own:
        return {"provider": provider, "name": name or DEFAULT_NAMES.get(provider, "")}
    if not name:
        return spec
    kept = spec if isinstance(spec, dict) else {}
    return {**{field: value for field, value in kept.items() if field != "turns"}, "provider": own, "name": name}


def name_of(spec: Any) -> str:
    """A model as one word: `provider:name`."""
    return spec if isinstance(spec, str) else f"{spec.get('provider')}:{spec.get('name', '')}".rstrip(":")


def _invalid(message: str) -> Invalid:
    return Invalid(message, fields={"model": message})


NAMED: Mapping[str, dict[str, Any]] = {
    "echo": {"turns": [{"steps": [{"calls": [{"tool": "send_message", "args": {"text": "{{trigger.text}}"}}]}]}]},
    "silent": {"turns": [{"steps": [{"calls": [{"tool": "do_nothing", "args": {}}]}]}]},
}
