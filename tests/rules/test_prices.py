"""Which price a model has, what an answer costs, and what is said of a list that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bullpen.errors import CannotStart
from bullpen.llm import prices
from bullpen.llm.models import DEFAULT_NAMES
from bullpen.llm.prices import Price, Prices
from bullpen.llm.types import TokenUsage

LISTED = Prices(
    {
        "gpt-5": Price(1, 2, 3, 4),
        "openai-chat:gpt-5": Price(9, 9, 9, 9),
        "local-*": Price(0, 0, 0, 0),
        "Big-Model": Price(5, 5, 5, 5),
    }
)


@pytest.mark.parametrize(
    "model, found",
    [
        ("openai:gpt-5", 1),
        ("openai:gpt-5-2025-08-07", 1),
        ("openai:gpt-5-20250807", 1),
        ("openai:gpt-5-latest", 1),
        ("openai:GPT-5", 1),
        ("openai-chat:gpt-5", 9),
        ("openai-chat:gpt-5-latest", 9),
        ("openai:gpt-5-mini", None),
        ("openai:gpt-5.5", None),
        ("openai:my-gpt-5", None),
        ("openai-chat:local-llama", 0),
        ("openai-chat:big-model", 5),
        ("openai-chat:maker/gpt-5", 1),
        ("openai-chat:maker/big.model", 5),
        ("openai-chat:gpt-5/another", None),
        ("script", None),
    ],
)
def test_a_price_needs_the_full_model_name_to_match(model: str, found: float | None) -> None:
    price = LISTED.find(model)
    assert (None if price is None else price.input) == found


def test_each_kind_of_token_has_its_price() -> None:
    usage = TokenUsage(input_tokens=1000, output_tokens=10, cached_tokens=600, written_tokens=300)
    assert LISTED.cost("openai:gpt-5", usage) == ((100 * 1 + 600 * 3 + 300 * 4 + 10 * 2) * 1000, True)
    assert LISTED.cost("openai:else", usage) == (0, False)
    assert LISTED.cost("script:echo", usage) == (0, True)
    assert LISTED.cost("openai:else", TokenUsage(cost=0.25)) == (250_000_000, True)


def test_default_models_have_a_price(tmp_path: Path) -> None:
    ours = prices.load(tmp_path)
    for provider, name in DEFAULT_NAMES.items():
        if provider != "script":
            assert ours.find(f"{provider}:{name}") is not None, name
    for named in ("anthropic:claude-haiku-5-5", "openai-chat:anthropic/claude-sonnet-4.5"):  # in our guides
        assert ours.find(named) is not None, named


def test_prices_in_the_data_folder_override_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("gpt-5: {in: 7, out: 8}\nmine: {in: 0, out: 0}\n")
    ours = prices.load(tmp_path)
    assert ours.find("openai:gpt-5") == Price(7, 8, 7, 7)
    assert ours.cost("openai-chat:mine", TokenUsage(5, 5)) == (0, True)
    assert ours.find("anthropic:claude-haiku-4-5") is not None


@pytest.mark.parametrize(
    "text, said",
    [
        ("gpt-5: 3", "needs `in` and `out`"),
        ("gpt-5: {in: 3}", "needs `in` and `out`"),
        ("gpt-5: {in: 3, out: 4, each: 5}", "needs `in` and `out`"),
        ("gpt-5: {in: cheap, out: 4}", "dollars for a million tokens"),
        ("gpt-5: {in: -1, out: 4}", "dollars for a million tokens"),
        ("gpt-5: {in: .nan, out: 4}", "dollars for a million tokens"),
        ("gpt-5: {in: true, out: 4}", "dollars for a million tokens"),
        ("- gpt-5", "names models and what they cost"),
        ("gpt-5: {", "is no YAML"),
    ],
)
def test_an_unreadable_price_list_is_refused_with_a_clear_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(CannotStart, match=said):
        prices.load(tmp_path)
