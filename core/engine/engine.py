"""The engine, which opens sessions for screens, scripts and tests alike."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole
from core.domain.clock import Clock, utc_now
from core.domain.ids import SessionId
from core.domain.session.profile import Profiles
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.decisions import commands
from core.engine.engine_settings import CallRules, PlaySettings
from core.engine.kinds.bank.requests import is_extraction
from core.engine.kinds.base import input_of
from core.engine.queue.chapter import ChapterQueue
from core.engine.queue.control import QueueControl, QueueSwitch
from core.engine.queue.queue_commands import request_for_vectors
from core.engine.recall.asking import Meaning, RecallRequest
from core.engine.recall.reading import BY_WORDS_ALONE, BankReader
from core.engine.recall.search import Searched, search
from core.engine.recall.texts import KeptTexts
from core.engine.scene.scene_commands import due_reveals
from core.engine.services.bank.keeping import keep_bank, material
from core.engine.session.engine_parts import EngineParts
from core.engine.session.money import ReadingForecast, forecast_of_reading
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.session_writer import SessionWriter
from core.engine.sync.subscriptions import Listeners
from core.gateway.cashier import Cashier
from core.gateway.embedding_service import EmbeddingPlan, EmbeddingService
from core.gateway.lanes import Lanes
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import CeilingGuard
from core.providers.base import Provider
from core.storage.session_store import Lease, SessionStore, WriterInfo
from core.storage.snapshot import Snapshot


class Engine(SessionCatalog):
    """Opens, changes and lists the sessions of one store, with the accounts that answer.

    `provider` is that of the profile's own account, `lanes` are the ways to the others by name. Without
    `embedding` no vectors are made.
    """

    def __init__(
        self,
        store: SessionStore,
        provider: Provider,
        choices: ModelAssignments,
        *,
        label: str,
        lanes: Lanes | None = None,
        rules: CallRules | None = None,
        play: PlaySettings | None = None,
        embedding: EmbeddingPlan | None = None,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__(store, choices, label=label, clock=clock)
        rules, switch = rules or CallRules(), QueueSwitch()
        self._bank = BankReader(store.bank, most_items=self._most_recalled, fades_at=self._fades_at)
        self._lanes = lanes or {}
        for name, lane in self._lanes.items():
            lane.share(name, store.queue)
        self.queue = QueueControl(store.queue, switch, choices, clock, self.closed, self._wake_lane)
        limits, tell = rules.ceilings, store.calls.tell_open_costs
        self._guard = CeilingGuard(limits, store.calls.spent, clock, tell, rules.spending) if limits else None
        self._gateway = ModelGateway(
            provider,
            choices,
            rules.consent,
            clock,
            lanes=lanes,
            cashier=Cashier(rules.prices, self._guard, clock),
            rates=store.queue,
        )
        self.embeddings = EmbeddingService(self._gateway, embedding, clock)
        self._parts = EngineParts(
            gateway=self._gateway,
            embeddings=self.embeddings,
            bank=self._bank,
            save_points=self.save_points,
            switch=switch,
            guard=self._guard,
            play=play or PlaySettings(),
        )

    async def open(self, session_id: SessionId) -> SessionHandle:
        """Open a session for writing, or read-only when another window is the writer."""
        acquired = await self._leases.acquire(session_id)
        try:
            snapshot = await self._store.load(session_id, recent_prompts=self.choices.recent_prompts)
            opened = self._opened(snapshot, acquired)
        except BaseException:  # cancelled too: no other code would release the lock
            if not isinstance(acquired, WriterInfo):
                await acquired.aclose()
            raise
        if isinstance(acquired, WriterInfo):
            opened.begin_following()
            return opened
        try:
            await opened.begin_writing()
            await opened.vectors.ask_for_items()
        except BaseException:  # cancelled too: no other code would close the session
            await opened.aclose()
            raise
        return opened

    def _most_recalled(self, slot: Slot) -> int:
        """Return how many items an input of a character recalls at most."""
        return self.choices.of(AgentRole.CHARACTER, slot).recall_items

    def _fades_at(self) -> datetime | None:
        """Return the time that it is, where items of the memory bank fade by hours."""
        return self._clock() if self.choices.recall_fading == "hours" else None

    def _opened(self, snapshot: Snapshot, acquired: Lease | WriterInfo) -> SessionHandle:
        writer = SessionWriter(
            store=self._store,
            listeners=Listeners(),
            label=self._leases.label,
            snapshot=snapshot,
            clock=self._clock,
            lease=None if isinstance(acquired, WriterInfo) else acquired,
            holder=acquired if isinstance(acquired, WriterInfo) else None,
        )
        opened = SessionHandle(writer, self._parts)
        chapter = ChapterQueue(writer, opened.cancel, opened.retry, opened.background.put_back)
        self.queue.add(chapter)
        opened.on_closed = partial(self.queue.remove, chapter)
        return opened

    def _wake_lane(self, account: str) -> None:
        if account in self._lanes:
            self._lanes[account].wake()

    def choice_of(self, profiles: Profiles, slot: Slot) -> ModelConfig:
        """Return how the character in a slot of a chapter is called."""
        return self.choices.for_cast(profiles).of(AgentRole.CHARACTER, slot)

    async def preview(
        self, session_id: SessionId, slot: Slot, prompt_text: str, *, start_seconds: float = 0.0
    ) -> Context:
        """Return the exact input for the character in `slot`, without sending it.

        Where the chapter keeps a bank, it waits so many seconds longer than a reply for the model of meanings
        to start, and for the bank: a window that plays has both at hand.
        """
        snapshot = await self.reader(session_id).load(
            recent_prompts=self.choices.recent_prompts, with_memory=True
        )
        commands.require_cast(snapshot.session, slot)
        snapshot = snapshot.after(due_reveals(snapshot, self._clock()))
        profiles = snapshot.tab1.profiles
        await self._gateway.look_up_models(profiles)
        builder = ContextBuilder(self.choices).for_chapter(snapshot.prompt_blocks, profiles)
        recent_from = builder.recent_from(snapshot.session)
        embed = partial(self._meaning_of, session_id, start_seconds=start_seconds)
        asked = RecallRequest(text=prompt_text, recent_from=recent_from, embed=embed)
        bank = await self._bank.read(snapshot, slot, asked, more_seconds=start_seconds)
        if bank.recalled and not self.embeddings.stays_here:
            bank = replace(bank, left_out=(*bank.left_out, BY_WORDS_ALONE))
        knowledge = snapshot.known_to(slot, bank)
        return await input_of(builder, knowledge, prompt_text)

    async def forecast_of_bank(self, session_id: SessionId) -> ReadingForecast:
        """Return what it costs at most to read a chapter for a memory bank that is switched on now.

        Raises StoryEngineError where it cannot be switched on, as where a window has the chapter open.
        """
        await self.closed(session_id).require_closed()
        snapshot = await self.reader(session_id).load(with_memory=True)
        canon, read = await material(self._store, session_id)
        changes = keep_bank(snapshot, self._clock(), is_on=True, events=canon, read=read)
        unread = tuple(filter(is_extraction, changes.requests))
        return await forecast_of_reading(self._gateway, snapshot, canon, unread)

    def keep_texts(self) -> KeptTexts:
        """Return what keeps the texts of chapters for several searches."""
        return KeptTexts(self._store)

    def ceilings_of(self, session_id: SessionId | None) -> tuple[str, ...]:
        """Return the ceilings of a chapter, or those of all together, in words; empty where none is set."""
        return () if self._guard is None else self._guard.told(session_id)

    async def search(
        self,
        chapters: Sequence[SessionId],
        text: str,
        *,
        texts: KeptTexts | None = None,
        start_seconds: float = 0.0,
    ) -> Searched:
        """Return where words are in chapters, and items of their banks with such a meaning; for the GM.

        Of several searches `texts` has what the others have read. Where a chapter keeps a bank, it waits so
        many seconds for the model of meanings to start. Raises StorageError.
        """
        embed = partial(self._meaning_of, chapters[0], start_seconds=start_seconds) if chapters else None
        return await search(self._store, chapters, text, embed, texts)

    async def _meaning_of(
        self, session_id: SessionId, text: str, *, start_seconds: float = 0.0
    ) -> Meaning | None:
        """Return the vector of a text that no call is about; None where it would leave this machine."""
        model = self.embeddings.model
        if model is None or not self.embeddings.stays_here:
            return None
        if start_seconds:
            await self.embeddings.ready(start_seconds)
        made = await self.embeddings.embed_query(text, request_for_vectors(session_id, self._clock()))
        return None if made.vector is None else Meaning(made.vector, model, made.spans)

    async def aclose(self) -> None:
        """Close the providers and the store, after all open sessions."""
        await self.queue.aclose()
        await self.embeddings.aclose()
        await self._gateway.aclose()
        if self._guard is not None:
            await self._guard.aclose()
        await self._store.aclose()
