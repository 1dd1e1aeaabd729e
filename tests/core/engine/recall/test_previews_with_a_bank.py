"""What a command shows of an input that draws on the memory bank: no reply waits for it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.kinds.bank.embedding import all_texts_of, meaning_of
from core.engine.recall import reading
from core.gateway.embedding_service import EmbeddingPlan
from core.providers.embedding.base import Embedder
from core.providers.embedding.scripted import ScriptedEmbedder
from core.providers.scripted.provider import ScriptedProvider
from tests.core.values.bank import fact
from tests.engine.windows import CHOICES
from tests.store import chapters
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
PATIENCE = 60.0


class LateEmbedder(ScriptedEmbedder):
    """Has started only where somebody waits for that: an input that is sent at once finds it starting."""

    def __init__(self) -> None:
        super().__init__()
        self._is_waited_for = asyncio.Event()

    async def is_here(self) -> bool:
        self._is_waited_for.set()
        return await super().is_here()

    async def start(self) -> None:
        await self._is_waited_for.wait()


class FarEmbedder(ScriptedEmbedder):
    """A service."""

    base_url: str | None = "https://vectors.example"


async def banked(store: MemoryStore) -> tuple[SessionId, Item]:
    """Store a chapter with one item, which its inputs recall."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 9)
    await lease.aclose()
    key = replace(fact(1, session_id=session.id, prompt_index=1), is_by_gm=True)
    await store.bank.put([key])
    return session.id, key


def engine_with(store: MemoryStore, make: Callable[[], Embedder]) -> Engine:
    choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    plan = EmbeddingPlan(choice, make)
    return Engine(store, ScriptedProvider(), CHOICES, label="test", embedding=plan)


async def test_an_input_that_is_only_shown_asks_no_service_and_says_so() -> None:
    store = MemoryStore()
    session_id, _ = await banked(store)
    engine = engine_with(store, FarEmbedder)
    made = await engine.preview(session_id, Slot.RED, "Where did Kara put the brass key?")
    assert made.recalled
    assert reading.BY_WORDS_ALONE in made.left_out
    await engine.aclose()


async def test_a_command_waits_for_the_model_of_meanings_and_for_the_bank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    session_id, key = await banked(store)
    engine = engine_with(store, LateEmbedder)
    model, texts = engine.embeddings.model, all_texts_of([key])
    assert model is not None
    vectors = (await ScriptedEmbedder().embed(texts, PATIENCE)).vectors
    made = meaning_of(key, dict(zip(texts, vectors, strict=True)))
    assert made is not None
    await store.bank.put_vectors(model, [made])
    monkeypatch.setattr(reading, "LONGEST_WAIT", 0.0)
    question = "Where did Kara put the brass key?"

    at_once = await engine.preview(session_id, Slot.RED, question)
    assert reading.NOT_IN_TIME in at_once.left_out
    waited = await engine.preview(session_id, Slot.RED, question, start_seconds=PATIENCE)
    assert reading.NOT_IN_TIME not in waited.left_out
    assert reading.BY_WORDS_ALONE not in waited.left_out
    [why] = [note.why for note in waited.lore]
    assert "its meaning is near" in why
    await engine.aclose()
