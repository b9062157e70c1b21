"""What turns texts into vectors: MiniLM on this machine, and servers that speak as OpenAI does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from bench import retrieval
from bullpen.app import open_egress, open_embedder
from bullpen.errors import CannotStart, EgressDenied, ModelError, ModelRefused, ModelUnavailable
from bullpen.llm.embedding import Embedder, Vector, to_unit
from bullpen.llm.minilm import MiniLm
from bullpen.settings import load_settings
from bullpen.storage import Store
from bullpen.testing.embedding import DIMENSIONS, TinyEmbedder
from bullpen.testing.embedding_server import KEY, EmbeddingServer, Says, embedding_server
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from tests.memory.minilm import find_weights

pytestmark = pytest.mark.one_database


def nearness(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# ── a server ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as made:
        yield made


@pytest.fixture
async def asks(server: EmbeddingServer, store: Store, tmp_path: Path) -> AsyncIterator[Embedder]:
    """As an operator sets it up, over the real way out."""
    async with asking(server, store, tmp_path) as made:
        yield made


class asking:  # noqa: N801  reads as a verb
    def __init__(self, server: EmbeddingServer, store: Store, folder: Path, **more: Any) -> None:
        chosen = {"provider": "openai", "url": server.url, "model": "tiny-1", **more}
        self.settings = load_settings({}, data=folder, variables={"OPENAI_API_KEY": KEY}, embeddings=chosen)
        self.store, self.egress = store, open_egress(self.settings)
        self.vault = Vault(Keys(folder / "keys.json"), self.settings.variables)

    async def __aenter__(self) -> Embedder:
        made = open_embedder(self.settings, self.store, lambda: self.egress, self.vault)
        assert made is not None
        return made

    async def __aexit__(self, *_: object) -> None:
        await self.egress.aclose()


async def test_a_server_gives_unit_vectors_in_order(asks: Embedder, server: EmbeddingServer) -> None:
    texts = [f"text {n}" for n in range(70)]
    found = await asks.embed(texts)
    assert [len(asked["input"]) for asked in server.asked] == [32, 32, 6]
    for text, vector in zip(texts, found, strict=True):
        assert nearness(vector, vector) == pytest.approx(1, abs=1e-5)
        assert nearness(vector, TinyEmbedder().vector(text)) == pytest.approx(1, abs=1e-5)


async def test_the_official_client_reads_the_same_vectors(asks: Embedder, server: EmbeddingServer) -> None:
    async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0) as client:
        theirs = await client.embeddings.create(model="tiny-1", input=["one", "two"])
    ours = await asks.embed(["one", "two"])
    for one, other in zip(ours, theirs.data, strict=True):
        assert list(one) == pytest.approx(other.embedding, abs=1e-6)


async def test_dimensions_are_asked_for_and_checked(server: EmbeddingServer, store: Store, tmp_path: Path) -> None:
    async with asking(server, store, tmp_path, dimensions=32) as asks:
        assert [len(vector) for vector in await asks.embed(["one"])] == [32]
        server.behaviours.append(Says({"data": [{"embedding": [1.0] * 31}]}))
        with pytest.raises(ModelUnavailable, match="31 dimensions instead of 32"):
            await asks.embed(["one"])
    assert server.asked[0]["dimensions"] == 32


def listed(*vectors: Any, **more: Any) -> Says:
    return Says({"data": [{"embedding": vector, **more} for vector in vectors]})


GOOD = [1.0, 2.0, 3.0]
NONSENSE: dict[str, tuple[Says, str]] = {
    "too few": (listed(GOOD), "not with 2 vectors"),
    "too many": (listed(GOOD, GOOD, GOOD), "not with 2 vectors"),
    "no list": (Says({"data": "x"}), "not with 2 vectors"),
    "no object": (Says([1, 2]), "no list of vectors"),
    "no json": (Says(b"<html>"), "no list of vectors"),
    "not a number": (Says(b'{"data":[{"embedding":[NaN]},{"embedding":[1]}]}'), "no list of vectors"),
    "infinite": (Says(b'{"data":[{"embedding":[1e999]},{"embedding":[1]}]}'), "answers, but"),
    "too large to square": (listed([1e200], [1e200]), "no vector"),
    "nothing": (listed([0.0, 0.0], [0.0, 0.0]), "no vector"),
    "empty": (listed([], []), "not with vectors"),
    "words": (listed(["a"], ["b"]), "not with numbers"),
    "booleans": (listed([True], [True]), "not with numbers"),
    "of two widths": (listed(GOOD, [1.0]), "1 dimensions instead of 3"),
    "too wide": (listed([1.0] * 8193, GOOD), "not with vectors"),
    "not base64": (listed("!!!!", "!!!!"), "not with vectors"),
    "half a number": (listed("AAAA", "AAAA"), "not with vectors"),
    "the same twice": (listed(GOOD, GOOD, index=0), "one vector twice"),
    "of nobody": (listed(GOOD, GOOD, index=7), "nobody sent"),
    "nested": (Says(b"[" * 5000 + b"]" * 5000), "no list of vectors"),
}


@pytest.mark.parametrize("case", NONSENSE)
async def test_nonsense_is_refused_whole_and_asked_again(asks: Embedder, server: EmbeddingServer, case: str) -> None:
    says, why = NONSENSE[case]
    server.behaviours.append(says)
    with pytest.raises(ModelUnavailable, match=why):
        await asks.embed(["one", "two"])


async def test_an_endless_answer_is_cut_off(asks: Embedder, server: EmbeddingServer) -> None:
    server.behaviours.append(Says(b'{"data":[' + b" " * 10_000_000))
    with pytest.raises(ModelRefused, match="answers without end"):
        await asks.embed(["one"])


FAILURES: dict[str, tuple[Says, type[ModelError], str]] = {
    "busy": (Says({"error": {"message": "slow down"}}, 429, {"Retry-After": "7"}), ModelUnavailable, "slow down"),
    "broken": (Says(b"", 500), ModelUnavailable, "500"),
    "wrong key": (Says({"error": {"message": f"bad {KEY}"}}, 401), ModelRefused, "the variable OPENAI_API_KEY"),
    "refused": (Says({"error": {"message": "no"}}, 400), ModelRefused, "does not take the request"),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_failures_come_to_one_of_our_errors(asks: Embedder, server: EmbeddingServer, case: str) -> None:
    says, kind, why = FAILURES[case]
    server.behaviours.append(says)
    with pytest.raises(kind, match=why) as found:
        await asks.embed(["one"])
    assert KEY not in str(found.value)
    assert getattr(found.value, "retry_after", None) == (7 if case == "busy" else None)


async def test_the_address_is_listed_for_embeddings_alone(
    server: EmbeddingServer, store: Store, tmp_path: Path
) -> None:
    asks = asking(server, store, tmp_path)
    async with asks as embedder:
        await embedder.embed(["one"])
        for use in ("web", "model", "gateway:weather", "service:other"):
            with pytest.raises(EgressDenied):
                await asks.egress.request(use, "GET", server.url)


# ── MiniLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def minilm() -> AsyncIterator[MiniLm]:
    made = MiniLm(str(find_weights()))
    yield made
    await made.aclose()


async def test_paraphrases_are_nearer_than_strangers(minilm: MiniLm) -> None:
    pairs = [
        ("How do I reset my password?", "I forgot my login and cannot sign in any more."),
        ("The cat sat on the mat.", "A kitten was resting on the rug."),
        ("Revenue grew by nine percent.", "Sales rose in the last quarter."),
    ]
    found = await minilm.embed([text for pair in pairs for text in pair])
    assert all(nearness(vector, vector) == pytest.approx(1, abs=1e-4) for vector in found)
    assert [len(vector) for vector in found] == [384] * 6
    for n in range(len(pairs)):
        others = [nearness(found[2 * n], found[m]) for m in range(6) if m // 2 != n]
        assert nearness(found[2 * n], found[2 * n + 1]) > max(others) + 0.1


async def test_a_vector_does_not_depend_on_its_company(minilm: MiniLm) -> None:
    alone = await minilm.embed(["The cat sat on the mat."])
    among = await minilm.embed(["Hi", "The cat sat on the mat.", "word " * 3000, "", "日本語のテキスト"])
    assert nearness(alone[0], among[1]) == pytest.approx(1, abs=1e-5)


def test_weights_that_are_missing_are_explained(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"python -m tools\.minilm folder"):
        MiniLm(str(tmp_path))


# ── choosing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="one of none, minilm, openai"):
        load_settings({"BULLPEN_EMBEDDINGS__PROVIDER": "magic"}, data=tmp_path)


def test_a_vector_has_the_length_one() -> None:
    assert to_unit([3.0, 4.0]).tolist() == pytest.approx([0.6, 0.8])
    assert len(TinyEmbedder().vector("")) == DIMENSIONS


async def test_retrieval_by_both_is_not_worse_than_by_words(store: Store, minilm: MiniLm) -> None:
    """A part of bench/retrieval: whatever the language, and better than either alone in English."""
    judged = await retrieval.judge(store, minilm)
    found = retrieval.figures(judged)
    assert found["retrieval.lead"] < 0
    assert found["retrieval.loss"] <= 0
