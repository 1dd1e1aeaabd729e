"""A paid answer that the database does not take before the program ends is stored by the next writer."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from shutil import copytree

import psycopg
import pytest

from core.agents.assist import AssistRequest, Field, Task
from core.domain.agent_role import AgentRole
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import StorageRecovered, StorageTrouble
from core.engine.sync.session_writer import Decide, SessionWriter
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from db.store import PostgresStore, open_store
from tests.engine.windows import CHOICES, Ears, GatedModel, listening, play, playable, streaming, window
from tests.store.servers import PlainServer, plain_server, plain_url
from tests.torture.readers.reader import Reader, check_session

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def plain() -> Iterator[PlainServer]:
    with plain_server() as server:
        yield server


@asynccontextmanager
async def opened(plain: PlainServer, folder: Path | None) -> AsyncIterator[PostgresStore]:
    """Open the store as a start of the program does; without a folder as one of another machine."""
    async with aclosing(await open_store(plain.url, folder and folder / "unstored")) as store:
        yield store


def files(folder: Path) -> list[Path]:
    return sorted((folder / "unstored").glob("*"))


ASKED = AssistRequest(task=Task.SUGGEST, field=Field.WORLD, text="A sea of glass.", limit=4_000)
BESIDE = "work beside the play"


class TwoGates(GatedModel):
    """A model whose reply and whose help beside the play wait, each behind a gate of its own."""

    def __init__(self) -> None:
        super().__init__(ScriptedProvider())
        self.gates = {"reply": asyncio.Event(), BESIDE: asyncio.Event()}
        self.both = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.calls.append(request)
        if len(self.calls) == 2:
            self.both.set()
        answer = self._inner.stream(request)
        yield await anext(answer)
        is_reply = request.model == CHOICES[AgentRole.CHARACTER].model
        await self.gates["reply" if is_reply else BESIDE].wait()
        async for item in answer:
            yield item

    async def aclose(self) -> None:
        for gate in self.gates.values():
            gate.set()


class CountedPaid:
    """Tells when so many changes with calls in them were to be stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.all = asyncio.Event()
        behind, calls = SessionWriter.apply_paid, 0

        async def apply_paid(writer: SessionWriter, decide: Decide) -> Changes:
            nonlocal calls
            calls += 1
            if calls == count:
                self.all.set()
            return await behind(writer, decide)

        monkeypatch.setattr(SessionWriter, "apply_paid", apply_paid)


async def end_in_an_outage(plain: PlainServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SessionId:
    """Stop the server while a reply comes, end the program before it is back; return the chapter."""
    model = GatedModel()
    async with opened(plain, folder) as store:
        session_id = await playable(store)
        with monkeypatch.context() as patience:
            patience.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
            patience.setattr("core.engine.queue.worker.Worker.patience", 0.1)
            async with window(store, model, session_id) as session, listening(session) as ears:
                await streaming(session, ears)
                await asyncio.to_thread(plain.stop)
                model.gate.set()
                await ears.hear(StorageTrouble)
                # It is there before the program ends, so that a killed one loses as little.
                assert len(files(folder)) == 1
    await asyncio.to_thread(plain.start)
    assert len(model.calls) == 1
    return session_id


async def test_a_paid_reply_is_in_the_story_although_the_program_ended_before_the_server_was_back(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await end_in_an_outage(plain, tmp_path, monkeypatch)
    [file] = files(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    async with opened(plain, tmp_path) as store:
        model = GatedModel()
        async with window(store, model, session_id) as session:
            assert not files(tmp_path)
            assert session.snapshot.session.prompt_index == 1
            model.gate.set()
            await play(session, 1)
        assert len(model.calls) == 1, "the kept reply was not asked for again"
        assert [event.text for event in await store.log(session_id)][::2] == ["One", "What now, prompt 2?"]
        assert [one.state for one in await store.calls.requests(session_id)] == [RequestState.DONE] * 3
        assert len(await store.calls.artifacts(session_id)) == 3
        assert (await store.load(session_id)).unsent == {}
    await asyncio.to_thread(Reader().check, plain_url(plain.url))


async def test_where_another_window_went_on_meanwhile_the_call_is_on_record_and_the_story_as_it_is(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await end_in_an_outage(plain, tmp_path, monkeypatch)
    async with opened(plain, None) as elsewhere, window(elsewhere, session_id=session_id) as session:
        assert list(session.snapshot.unsent.values()) == ["One"]
        await play(session, 1)
        story = await elsewhere.log(session_id)
        calls = await elsewhere.calls.artifacts(session_id)
    async with opened(plain, tmp_path) as store:
        async with window(store, session_id=session_id):
            assert not files(tmp_path)
        assert await store.log(session_id) == story
        [kept] = [one for one in await store.calls.artifacts(session_id) if one not in calls]
        assert kept.error_code is None
        assert kept.output_ref is not None
        assert (await store.calls.contents(session_id, [kept.output_ref]))[kept.output_ref]
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session_id, may_be_late=True)


async def test_a_prompt_that_is_sent_again_has_the_answer_of_which_only_the_call_is_on_record(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await end_in_an_outage(plain, tmp_path, monkeypatch)
    async with opened(plain, None) as elsewhere, window(elsewhere, session_id=session_id):
        """What is opened there puts the text back into its composer."""
    async with opened(plain, tmp_path) as store:
        model = GatedModel()
        async with window(store, model, session_id) as session:
            assert list(session.snapshot.unsent.values()) == ["One"]
            sent = await session.submit_prompt(Slot.RED, "One")
            assert (await session.wait(sent)).state is RequestState.DONE
        assert model.calls == []
        prompt, reply = await store.log(session_id)
        [kept] = [one for one in await store.calls.artifacts(session_id, request_id=sent) if one.output_ref]
        assert kept.output_ref is not None
        texts = await store.calls.contents(session_id, [kept.output_ref])
        assert texts[kept.output_ref].endswith(reply.text)
        assert prompt.text == "One"
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session_id)


@pytest.mark.parametrize("first", ["reply", BESIDE])
async def test_two_paid_answers_that_wait_behind_each_other_are_both_kept_whole(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    model, behind = TwoGates(), CountedPaid(monkeypatch, 2)
    async with opened(plain, tmp_path) as store:
        session_id = await playable(store)
        monkeypatch.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
        monkeypatch.setattr("core.engine.queue.worker.Worker.patience", 0.1)
        async with window(store, model, session_id) as session, listening(session) as ears:
            await streaming(session, ears)
            await session.background.add(session.assist.new(ASKED))
            await model.both.wait()
            await asyncio.to_thread(plain.stop)
            model.gates[first].set()
            await ears.hear(StorageTrouble)
            await model.aclose()
            await behind.all.wait()
    assert len(files(tmp_path)) == 2
    await asyncio.to_thread(plain.start)
    async with opened(plain, tmp_path) as store:
        again = GatedModel()
        again.gate.set()
        async with window(store, again, session_id) as session:
            assert not files(tmp_path)
            await session.wait_idle()
        assert again.calls == [], "nothing is to be sent again"
        assert {one.state for one in await store.calls.requests(session_id)} == {RequestState.DONE}
        assert (await store.load(session_id)).session.prompt_index == 1
        assert len([one for one in await store.calls.artifacts(session_id) if one.output_ref]) == 3
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session_id)


class KeptCalls:
    """Tells when the calls of so many changes are on the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.all, kept = asyncio.Event(), set[object]()
        behind = PostgresStore.keep

        async def keep(
            store: PostgresStore, changes: Changes, epoch: int, since: datetime, *after: Changes
        ) -> None:
            await behind(store, changes, epoch, since, *after)
            kept.add(frozenset(call.id for call in changes.artifacts))
            if len(kept) == count:
                self.all.set()

        monkeypatch.setattr(PostgresStore, "keep", keep)


@asynccontextmanager
async def two_kept(
    plain: PlainServer, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str, *, is_late: bool
) -> AsyncIterator[tuple[PostgresStore, SessionHandle, Ears]]:
    """Stop the server while two answers come, and go on once both are on the disk, while they wait."""
    model, kept = TwoGates(), KeptCalls(monkeypatch, 2)
    async with opened(plain, folder) as store:
        session_id = await playable(store)
        async with window(store, model, session_id) as session, listening(session) as ears:
            await streaming(session, ears)
            await session.background.add(session.assist.new(ASKED))
            await model.both.wait()
            await asyncio.to_thread(plain.stop)
            model.gates[first].set()
            if is_late:
                await ears.hear(StorageTrouble)
            await model.aclose()
            async with asyncio.timeout(60):
                await kept.all.wait()
            assert len(files(folder)) == 2
            yield store, session, ears


async def check_both_stored(store: PostgresStore, session_id: SessionId) -> None:
    assert {one.state for one in await store.calls.requests(session_id)} == {RequestState.DONE}
    assert (await store.load(session_id)).session.prompt_index == 1
    assert len([one for one in await store.calls.artifacts(session_id) if one.output_ref]) == 3


ORDERS = pytest.mark.parametrize(
    ("first", "is_late"), [(first, is_late) for first in ("reply", BESIDE) for is_late in (False, True)]
)


@ORDERS
async def test_two_paid_answers_are_kept_whole_as_soon_as_they_wait_so_that_a_kill_loses_none(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, is_late: bool
) -> None:
    # No second try comes: the answers are kept when the first fails, or when they come.
    monkeypatch.setattr("core.engine.sync.session_writer.FIRST_BACKOFF_SECONDS", 3600.0)
    async with two_kept(plain, tmp_path, monkeypatch, first, is_late=is_late) as (_, session, _):
        with monkeypatch.context() as killed:
            killed.setattr(PostgresStore, "keep", nothing)
            killed.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
            killed.setattr("core.engine.queue.worker.Worker.patience", 0.1)
            await session.aclose()
    await asyncio.to_thread(plain.start)
    async with opened(plain, tmp_path) as store:
        again = GatedModel()
        again.gate.set()
        async with window(store, again, session.id) as reopened:
            assert not files(tmp_path)
            await reopened.wait_idle()
        assert again.calls == [], "nothing is to be sent again"
        await check_both_stored(store, session.id)
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session.id)


async def nothing(*_: object) -> None:
    """Do as a program that was killed."""


@ORDERS
async def test_two_paid_answers_that_were_kept_are_each_stored_once_where_the_server_comes_back(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, is_late: bool
) -> None:
    async with two_kept(plain, tmp_path, monkeypatch, first, is_late=is_late) as (store, session, ears):
        await asyncio.to_thread(copytree, tmp_path / "unstored", tmp_path / "killed" / "unstored")
        await asyncio.to_thread(plain.start)
        await ears.hear(StorageRecovered)
        await session.wait_idle()
        assert not files(tmp_path)
        await check_both_stored(store, session.id)
    # A kill between a commit and the removal of its file leaves the file; nothing comes of it.
    async with opened(plain, tmp_path / "killed") as store, window(store, None, session.id):
        assert not files(tmp_path / "killed")
        await check_both_stored(store, session.id)
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session.id)


async def test_a_paid_reply_is_stored_once_where_the_server_is_back_before_the_program_ends(
    plain: PlainServer, tmp_path: Path
) -> None:
    model = GatedModel()
    async with opened(plain, tmp_path) as store:
        session_id = await playable(store)
        async with window(store, model, session_id) as session, listening(session) as ears:
            await streaming(session, ears)
            await asyncio.to_thread(plain.stop)
            model.gate.set()
            await ears.hear(StorageTrouble)
            await asyncio.to_thread(plain.start)
            await ears.hear(StorageRecovered)
            assert session.snapshot.session.prompt_index == 1
            await play(session, 1)
        assert not files(tmp_path)
        assert [event.text for event in await store.log(session_id)][::2] == ["One", "What now, prompt 2?"]
        assert {request.state for request in await store.calls.requests(session_id)} == {RequestState.DONE}
    assert len(model.calls) == 2, "the reply was not asked for again"
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session_id)


DAMAGED = (
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN RAISE EXCEPTION 'the table is damaged' USING ERRCODE = 'XX001'; END$$",
    "CREATE TRIGGER refusing BEFORE INSERT ON llm_artifact FOR EACH ROW EXECUTE FUNCTION refuse()",
)
REPAIRED = ("DROP TRIGGER refusing ON llm_artifact", "DROP FUNCTION refuse")


def run(plain: PlainServer, statements: tuple[str, ...]) -> None:
    with psycopg.connect(plain_url(plain.url), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


async def test_an_answer_whose_call_the_database_refused_is_used_once_it_can_be_stored(
    plain: PlainServer, tmp_path: Path
) -> None:
    """What is refused for good fails, and its text is back; nothing of the call is in the database then."""
    model = GatedModel()
    async with opened(plain, tmp_path) as store:
        session_id = await playable(store)
        async with window(store, model, session_id) as session, listening(session) as ears:
            request_id = await streaming(session, ears)
            await asyncio.to_thread(run, plain, DAMAGED)
            model.gate.set()
            assert (await session.wait(request_id)).state is RequestState.FAILED
            assert session.snapshot.unsent == {Slot.RED: "One"}
        await asyncio.to_thread(run, plain, REPAIRED)
        assert not await store.calls.artifacts(session_id, request_id=request_id)
    async with opened(plain, tmp_path) as store:
        again = GatedModel()
        async with window(store, again, session_id) as session:
            assert not files(tmp_path)
            sent = await session.submit_prompt(Slot.RED, "One")
            assert (await session.wait(sent)).state is RequestState.DONE
        assert again.calls == [], "it is not paid for twice"
        assert len([one for one in await store.calls.artifacts(session_id) if one.output_ref]) == 2
    with psycopg.connect(plain_url(plain.url)) as connection:
        check_session(connection, session_id, may_be_late=True)


async def test_an_answer_that_is_refused_but_for_its_call_leaves_no_file(
    plain: PlainServer, tmp_path: Path
) -> None:
    model = GatedModel()
    on_event = tuple(one.replace("llm_artifact", "event") for one in DAMAGED)
    async with opened(plain, tmp_path) as store:
        session_id = await playable(store)
        async with window(store, model, session_id) as session, listening(session) as ears:
            request_id = await streaming(session, ears)
            await asyncio.to_thread(run, plain, on_event)
            try:
                model.gate.set()
                assert (await session.wait(request_id)).state is RequestState.FAILED
            finally:
                repaired = tuple(one.replace("llm_artifact", "event") for one in REPAIRED)
                await asyncio.to_thread(run, plain, repaired)
            [call] = await store.calls.artifacts(session_id, request_id=request_id)
            assert call.output_ref
            assert not files(tmp_path)
