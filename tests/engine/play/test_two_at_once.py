"""The same command twice at once, as a key held down while the store is slow: it is carried out once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from core.domain.bank.item import Item
from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import ReplyRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.queue.worker import RequestWorker
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import WriterChanged
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Fault
from tests.engine.windows import chapter, engine_on, failing, listening, play, playable, scripted
from tests.store.in_memory.memory_bank import MemoryBank
from tests.store.in_memory.memory_database import MemoryDatabase, give_way
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


class SecondFails:
    """A model whose second call fails; `count` is how many there were."""

    name = "counting"
    base_url = None

    def __init__(self) -> None:
        self._inner = ScriptedProvider()
        self.count = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.count += 1
        if self.count == 2:
            raise ProviderError(ErrorCode.LLM_SERVER_ERROR)
        async for item in self._inner.stream(request):
            yield item

    async def aclose(self) -> None:
        """Release nothing."""


async def failed_further_reply(session: SessionHandle) -> ReplyRequest:
    """Call three characters, of whom the second one fails, and return its request."""
    await session.submit_prompt(Slot.RED, "Who goes?", then=(Slot.ORANGE, Slot.YELLOW))
    await session.wait_idle()
    further = session.snapshot.further_reply
    assert further is not None
    assert further.has_failed
    return further


async def test_a_failed_prompt_that_is_retried_twice_at_once_is_played_once() -> None:
    async with chapter(MemoryStore(), scripted(failing(RequestKind.REPLY, Fault.SERVER_ERROR))) as session:
        request_id = await session.submit_prompt(Slot.RED, "Who goes?")
        assert (await session.wait(request_id)).state is RequestState.FAILED
        both = await asyncio.gather(session.retry(request_id), session.retry(request_id))
        await session.wait_idle()
        assert set(both) == {request_id}
        assert session.snapshot.session.prompt_index == 1


async def test_a_further_reply_that_is_retried_twice_at_once_is_paid_for_once() -> None:
    model = SecondFails()
    async with chapter(MemoryStore(), model) as session:
        failed = await failed_further_reply(session)
        await asyncio.gather(session.retry(failed.id), session.retry(failed.id))
        await session.wait_idle()
        assert model.count == 4, "the first, the one that failed, that one again, and the third"


async def test_a_reply_that_is_left_out_twice_at_once_has_the_next_character_called_once() -> None:
    model = SecondFails()
    async with chapter(MemoryStore(), model) as session:
        failed = await failed_further_reply(session)
        takes = session.takes
        await asyncio.gather(takes.leave_out(failed.id), takes.leave_out(failed.id), return_exceptions=True)
        await session.wait_idle()
        assert [event.slot for event in session.snapshot.recent] == [None, Slot.RED, Slot.YELLOW]
        assert model.count == 3


async def test_a_stopped_reply_that_is_kept_twice_at_once_is_played_once() -> None:
    async with chapter(MemoryStore(), scripted(failing(RequestKind.REPLY, Fault.CUT))) as session:
        request_id = await session.submit_prompt(Slot.RED, "Who goes?")
        assert (await session.wait(request_id)).state is RequestState.FAILED
        takes = session.takes
        first, second = await asyncio.gather(
            takes.keep_partial(request_id), takes.keep_partial(request_id), return_exceptions=True
        )
        assert first is None
        assert isinstance(second, IllegalCommandError)
        assert session.snapshot.session.prompt_index == 1


async def test_words_that_are_kept_twice_at_once_are_one_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    async with chapter(MemoryStore()) as session:
        behind = MemoryBank.items

        async def items(bank: MemoryBank, session_id: SessionId, **asked: Any) -> Sequence[Item]:
            found = await behind(bank, session_id, **asked)
            await give_way()
            return found

        monkeypatch.setattr(MemoryBank, "items", items)
        await session.keeping.keep(is_on=True)
        await play(session, 1)
        reply, chosen = session.snapshot.recent[-1], session.snapshot.session
        both = (session.bank.quote(chosen, reply, reply.text) for _ in range(2))
        kept, refused = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(refused, IllegalCommandError)
        assert await session.bank.items() == [kept]


async def test_a_window_that_takes_over_twice_at_once_is_never_shown_as_another_one() -> None:
    database = MemoryDatabase()
    session_id = await playable(MemoryStore(database))
    first = await engine_on(MemoryStore(database)).open(session_id)
    second = await engine_on(MemoryStore(database), label="second window").open(session_id)
    await first.aclose()
    async with listening(second) as ears:
        assert all(await asyncio.gather(second.take_over(), second.take_over()))
        await ears.hear(WriterChanged)
        assert [told.holder for told in ears.all(WriterChanged)] == [None]
    await second.aclose()


async def test_a_summary_that_is_given_up_as_soon_as_it_has_begun_leaves_the_play_going(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with chapter(MemoryStore(), chunk_size=1) as session:
        begin = RequestWorker._begin

        async def begin_and_undo(worker: RequestWorker, request_id: RequestId) -> None:
            await begin(worker, request_id)
            if session.snapshot.session.state is SessionState.SUMMARIZING:
                monkeypatch.undo()
                await session.takes.undo()

        monkeypatch.setattr(RequestWorker, "_begin", begin_and_undo)
        await session.wait(await session.submit_prompt(Slot.RED, "Who goes?"))
        await session.wait_idle()
        await play(session, 1)
        assert session.snapshot.session.boundary == 1


async def test_a_chapter_that_this_window_opens_during_its_own_command_on_it_is_open_for_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    session_id = await playable(store)
    engine = engine_on(store)
    behind = MemoryStore.commit

    async def commit(*arguments: Any) -> None:
        await give_way()
        await behind(*arguments)

    monkeypatch.setattr(MemoryStore, "commit", commit)
    titles = (engine.closed(session_id).edits.retitle(title) for title in ("Ash", "Salt"))
    *_, opened = await asyncio.gather(*titles, engine.open(session_id))
    assert isinstance(opened, SessionHandle)
    assert not opened.is_read_only
    assert opened.snapshot.session.title == "Salt", "the commands wait for each other too"
    await opened.aclose()
