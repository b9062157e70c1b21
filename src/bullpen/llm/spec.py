"""What an agent may say about a model that is elsewhere, checked when the agent is defined."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from bullpen.errors import EgressDenied, Invalid
from bullpen.net import urls
from bullpen.variables import rules


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class ModelSettings(_Strict):
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    # How much it thinks before it answers: whether at all, or at most so many tokens.
    thinking: bool | Annotated[int, Field(ge=1024, le=1_000_000)] | None = None
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    timeout: Annotated[float, Field(gt=0, le=3600)] | None = None  # seconds without a byte
    images: bool | None = None  # does it take pictures and documents?


class ModelSpec(_Strict):
    provider: str
    name: Annotated[str, Field(min_length=1, max_length=200)]
    base_url: str | None = None
    api_key_variable: str | None = None
    settings: ModelSettings = ModelSettings()

    @model_validator(mode="before")
    @classmethod
    def _key(cls, spec: Any) -> Any:
        """`key: "{{var:NAME}}"` says the same as `apiKeyVariable: NAME`. The key itself has no place here."""
        if not isinstance(spec, dict) or "key" not in spec:
            return spec
        names = rules.references(spec["key"])
        if len(names) != 1 or rules.replaced(spec["key"], lambda _: "").strip():
            raise ValueError('key is a reference like "{{var:MY_KEY}}": put the key itself into a secret variable')
        return {**{name: value for name, value in spec.items() if name != "key"}, "api_key_variable": names[0]}

    @field_validator("api_key_variable")
    @classmethod
    def _variable(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                rules.check_name(name)
            except Invalid:
                raise ValueError("is the name of a variable, not the key itself") from None
        return name

    @field_validator("base_url")
    @classmethod
    def _url(cls, url: str | None) -> str | None:
        if url is not None:
            try:
                parsed = urls.parse(url)
            except EgressDenied as error:
                raise ValueError(error.message) from None
            if parsed.query:
                raise ValueError("a base URL has no query")
        return url


def read(spec: dict[str, Any]) -> ModelSpec:
    try:
        return ModelSpec.model_validate(spec)
    except ValidationError as error:
        fields = {".".join(["model", *map(str, e["loc"])]): e["msg"] for e in error.errors()}
        raise Invalid("This model cannot be used as it is written.", fields=fields) from None
