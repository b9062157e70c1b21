"""A model with others behind it: whoever is there answers.

Asked in their order, each once; whoever drives the run asks again later if none of them is there. What a model declines
to do is not asked of another.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bullpen.errors import ModelDeclined, ModelError, ModelUnavailable
from bullpen.llm.types import (
    Discarded,
    Model,
    OnDelta,
    Reply,
    ToolSpec,
    Transcript,
    needs_values,
    takes_pictures,
)
from bullpen.variables.types import Value
from bullpen.wire.nouns import VariableDefinition

logger = logging.getLogger("bullpen.llm")


@dataclass(frozen=True, slots=True)
class FallbackModel:
    models: Sequence[tuple[str, Model]]  # what each is called, and the model

    @property
    def variables(self) -> list[VariableDefinition]:
        needy = [model for _, model in self.models if needs_values(model)]
        return list({each.name: each for model in needy for each in model.variables}.values())

    @property
    def takes_pictures(self) -> bool:
        return any(takes_pictures(model) for _, model in self.models)

    def named(self, name: str) -> Model | None:
        """The one that answered under this name."""
        return next((model for each, model in self.models if each == name), None)

    def given(self, values: Mapping[str, Value]) -> FallbackModel:
        return FallbackModel(
            [(name, model.given(values) if needs_values(model) else model) for name, model in self.models]
        )

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        failed: ModelError | None = None
        for name, model in self.models:
            try:
                reply = await model.ask(transcript, tools, on_delta)
            except ModelDeclined:
                raise
            except ModelError as error:
                logger.warning("%s", error.message)
                if failed is None or _sooner(error, failed):
                    failed = error
                if on_delta is not None:
                    on_delta(Discarded())
            else:
                return replace(reply, model=name)
        assert failed is not None
        raise failed


def _sooner(error: ModelError, other: ModelError) -> bool:
    """Is this one worth waiting for rather than the other? Who refused is not, whoever may be there later."""
    if not isinstance(error, ModelUnavailable) or not isinstance(other, ModelUnavailable):
        return isinstance(error, ModelUnavailable) and not isinstance(other, ModelUnavailable)
    return (error.retry_after or 0.0) < (other.retry_after or 0.0)
