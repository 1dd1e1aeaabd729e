"""An answer whose request a restored backup lacks is on record and counted, and never waits in a file."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from core.domain.ids import RequestId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import Cost
from core.domain.requests.request import (
    Content,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
)
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.sync.notifications import RequestFailed
from core.exchange.integrity.session import problems_of_calls, problems_of_requests
from core.exchange.session_export import read_body
from core.storage.changes import Changes
from db.backups.dump import backup, restore
from db.store import PostgresStore, open_store
from tests.engine.windows import GatedModel, listening, play, playable, streaming, window
from tests.store import chapters
from tests.store.servers import plain_url
from tests.torture.readers.reader import check_session

pytestmark = pytest.mark.anyio


Make = Callable[[Session], Request]


@asynccontextmanager
async def start(url: str, folder: Path) -> AsyncIterator[PostgresStore]:
    async with aclosing(await open_store(url, folder / "unstored")) as store:
        yield store


def files(folder: Path) -> list[Path]:
    return sorted((folder / "unstored").glob("*.json"))


async def test_a_prompt_that_a_restore_removed_while_it_was_answered_comes_back_with_its_answer(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        session_id = await playable(store)
        await backup(url, tmp_path / "b.dump")
        model = GatedModel()
        async with window(store, model, session_id) as session:
            async with listening(session) as ears:
                request_id = await streaming(session, ears)
                await restore(url, tmp_path / "b.dump", replace=True)
                model.gate.set()
                failed = await ears.hear(RequestFailed)
            assert not files(tmp_path), "nothing waits to be stored once more"
            assert "backup" in failed.error.message
            assert session.snapshot.unsent == {Slot.RED: "One"}
            await session.takes.keep_partial(request_id)
            assert session.snapshot.unsent == {}
            canon = await session.reads.canon()
            assert [event.role for event in canon] == [Role.USER, Role.AGENT]
            assert len(canon[1].text) > len("I"), "all of the answer"
            model.gate.set()
            await play(session, 1)
        assert len(model.calls) == 2, "nothing was asked for twice"
        with psycopg.connect(plain_url(url)) as connection:
            check_session(connection, session_id, may_be_late=True)


def answered(request: Request, cost: str) -> Changes:
    """Return what stores the answer to a request, which cost so much."""
    sent, got = Content.of("[]"), Content.of("An answer.")
    call = replace(chapters.artifact(request, sent, got), cost=Cost(amount=Decimal(cost), source="test"))
    return Changes(
        session_id=request.session_id, requests=(request,), artifacts=(call,), contents=(sent, got)
    )


def a_prompt(session: Session) -> ReplyRequest:
    return chapters.request(session, attempts=1, state=RequestState.DONE, prompts=PromptRange(1, 1))


def a_prompt_of_another_cast(session: Session) -> Request:
    return replace(a_prompt(session), slot=Slot.VIOLET)


def a_further_reply(session: Session) -> Request:
    return chapters.request(
        session, attempts=1, state=RequestState.DONE, prompts=PromptRange(1, 1), follows=True
    )


def a_summary(session: Session) -> Request:
    return SummaryRequest(prompts=PromptRange(1, 7), **_shared(session))


def a_lock(session: Session) -> Request:
    return LockRequest(**_shared(session))


def a_narrative(session: Session) -> Request:
    return NarrativeRequest(viewpoint=Slot.VIOLET, **_shared(session))


def _shared(session: Session) -> dict[str, Any]:
    now = chapters.NOW
    return {
        "id": RequestId(new_uuid()),
        "session_id": session.id,
        "attempts": 1,
        "state": RequestState.DONE,
        "created_at": now,
        "updated_at": now,
    }


KINDS = (a_prompt, a_prompt_of_another_cast, a_further_reply, a_summary, a_lock, a_narrative)


async def kept_over_a_restore(
    url: str, folder: Path, make: Make, *, is_locked: bool, has_request: bool
) -> tuple[Session, Changes]:
    """Keep the answer to a request, and restore a backup that lacks the request."""
    async with start(url, folder) as store:
        if is_locked:
            session, lease = await chapters.locked_session(store, slots=(Slot.RED, Slot.ORANGE))
            await lease.aclose()
        else:
            session = chapters.new_session(slots=(Slot.RED, Slot.ORANGE))
            await store.chapters.create(chapters.creation(session))
        await backup(url, folder / "b.dump")
        changes = answered(make(session), "0.25")
        if not has_request:  # as where a call is stored before its request is settled
            changes = replace(changes, requests=())
        await store.keep(changes, 1, session.updated_at)
        await restore(url, folder / "b.dump", replace=True)
    return session, changes


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "before the lock"])
@pytest.mark.parametrize(
    ("make", "has_request"),
    [(a_prompt, False), *((make, True) for make in KINDS)],
    ids=["a call alone", *(make.__name__ for make in KINDS)],
)
async def test_an_answer_of_any_kind_whose_request_a_backup_lacks_is_counted_with_its_chapter(
    url: str, tmp_path: Path, make: Make, *, is_locked: bool, has_request: bool
) -> None:
    session, changes = await kept_over_a_restore(
        url, tmp_path, make, is_locked=is_locked, has_request=has_request
    )
    async with start(url, tmp_path) as store:
        lease = await chapters.taken(store, session.id)
        assert not files(tmp_path)
        assert await store.calls.spent(session.id) == Decimal("0.25")
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
        [request] = [one for one in await store.calls.requests(session.id) if one.error_message]
        comes_back = make is a_prompt and is_locked and has_request
        assert request.state is (RequestState.FAILED if comes_back else RequestState.CANCELLED)
        snapshot = await store.load(session.id)
        assert snapshot.unsent == ({Slot.RED: "And then?"} if comes_back else {})
        assert snapshot.session.state is (SessionState.ACTIVE if is_locked else SessionState.DRAFT_TAB1)
        body = await read_body(store, session.id)
        found = list(problems_of_requests(body.session, body.requests, body.events))
        found += problems_of_calls(body.artifacts, body.contents, body.requests)
        assert not found, "the chapter can be exported and imported"
        await lease.aclose()


async def test_the_text_of_a_prompt_that_a_backup_lacks_stands_in_front_of_what_was_typed_since(
    url: str, tmp_path: Path
) -> None:
    session, _ = await kept_over_a_restore(url, tmp_path, a_prompt, is_locked=True, has_request=True)
    async with aclosing(await open_store(url)) as elsewhere:
        lease = await chapters.taken(elsewhere, session.id)
        await elsewhere.commit(Changes(session_id=session.id, unsent={Slot.RED: "Typed since"}), lease)
        await lease.aclose()
    async with start(url, tmp_path) as store, window(store, session_id=session.id) as opened:
        assert opened.snapshot.unsent == {Slot.RED: "And then?\n\nTyped since"}
        [failed] = opened.snapshot.failed(ReplyRequest)
        assert await opened.takes.has_partial(failed), "the answer can be kept as the reply"
