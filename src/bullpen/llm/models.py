"""From what an agent says its model is, to the model.

A string `provider:name`, or an object with `provider`. Checked when an agent is defined, so that a misspelt provider is
a clear error then, and not a silent agent later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml
from pydantic import ValidationError

from bullpen.errors import Invalid
from bullpen.llm.script import Script, ScriptModel
from bullpen.llm.types import Model

Build = Callable[[dict[str, Any]], Model]


class Models:
    """Builds models from their specs, once each."""

    def __init__(self, scripts: Path | None = None) -> None:
        self._scripts = scripts
        self._providers: Mapping[str, Build] = {"script": self._script}
        self._built: dict[bytes, Model] = {}

    def add(self, provider: str, build: Build) -> None:
        """One more provider; `build` gets the spec as an object."""
        self._providers = {**self._providers, provider: build}

    def resolve(self, spec: Any) -> Model:
        """The model, or Invalid with the field and what to do."""
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
        if not isinstance(spec, dict) or "provider" not in spec:
            raise _invalid("A model is a string `provider:name` or an object with `provider`.")
        build = self._providers.get(spec["provider"]) if isinstance(spec["provider"], str) else None
        if build is None:
            known = ", ".join(sorted(self._providers))
            raise _invalid(f"There is no model provider {spec['provider']!r}. Known here: {known}.")
        return build(spec)

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


def _invalid(message: str) -> Invalid:
    return Invalid(message, fields={"model": message})


NAMED: Mapping[str, dict[str, Any]] = {
    "echo": {"turns": [{"steps": [{"calls": [{"tool": "send_message", "args": {"text": "{{trigger.text}}"}}]}]}]},
    "silent": {"turns": [{"steps": [{"calls": [{"tool": "do_nothing", "args": {}}]}]}]},
}
