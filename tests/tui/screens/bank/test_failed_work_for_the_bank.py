"""What could not be done for a memory bank is said on tab 3 and by the doctor, with what to do."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import SessionId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.changes.moves import new_work
from core.engine.engine import Engine
from core.engine.queue.entries import QueueEntry
from core.storage.changes import Changes
from storyengine_tui.cli.commands.system.doctor import TRY_AGAIN, _gave_up
from tests.core.values.sessions import NOW
from tests.tui.chapters.banked_chapter import keep
from tests.tui.engine_app import Desktop, make_active, screen_text
from tests.tui.rooms.bank_tab import tab3

pytestmark = pytest.mark.anyio


def failed(
    session_id: SessionId, kind: RequestKind, code: ErrorCode, state: RequestState = RequestState.FAILED
) -> BackgroundRequest:
    work = BackgroundRequest(**new_work(kind, session_id, NOW), attempts=1)
    prompts = PromptRange(1, 3) if kind is RequestKind.EXTRACTION else None
    return replace(work, state=state, error_code=code, error_message="No.", prompts=prompts)


def unread(session_id: SessionId) -> BackgroundRequest:
    return failed(session_id, RequestKind.EXTRACTION, ErrorCode.LLM_INVALID_JSON)


def without_vectors(session_id: SessionId) -> BackgroundRequest:
    return failed(session_id, RequestKind.EMBEDDING, ErrorCode.CONSENT_REQUIRED)


async def make_troubled(engine: Engine) -> SessionId:
    """Store a chapter with a bank of which two parts could not be read, and vectors were not made."""
    session_id = await keep(engine, await make_active(engine, 3))
    requests = (unread(session_id), unread(session_id), without_vectors(session_id))
    await engine.closed(session_id).apply(lambda _: Changes(session_id=session_id, requests=requests))
    return session_id


async def test_tab_3_says_what_could_not_be_read_until_it_is_retried(desktop: Desktop) -> None:
    async with tab3(desktop, make_troubled) as tab:
        said = "2 parts could not be read, vectors not made, F7"
        assert tab.count == f"2 items · {said} · 10 new in lists 3 to 7"
        await tab.press("1")
        assert said in screen_text(tab.app), "it is not cut off beside the blocks"
        session = tab.app.session
        assert session is not None
        for one in session.snapshot.failed(BackgroundRequest):
            await session.background.stop(one.id)
        await tab.until(lambda: "F7" not in tab.count)


async def test_tab_3_says_nothing_of_failures_where_nothing_failed_or_no_bank_is_kept(
    desktop: Desktop,
) -> None:
    async with tab3(desktop) as tab:
        assert "could not" not in tab.count
        session = tab.app.session
        assert session is not None
        await session._writer.apply(lambda _: Changes(session_id=session.id, requests=(unread(session.id),)))
        await tab.until(lambda: "1 part could not be read, F7" in tab.count)
        await session.keeping.keep(is_on=False)
        await tab.until(lambda: not tab.cell.keeps_bank)
        assert "could not" not in screen_text(tab.app)


def entries(requests: Iterable[BackgroundRequest]) -> list[QueueEntry]:
    return [QueueEntry(request=one, session_title="Low tide", lane="", waits_for="") for one in requests]


def test_the_doctor_names_each_chapter_whose_bank_lacks_something_and_says_what_to_do() -> None:
    here, there = (SessionId(new_uuid()) for _ in range(2))
    dead = failed(there, RequestKind.EMBEDDING, ErrorCode.LLM_SERVER_ERROR, RequestState.DEAD)
    other = failed(here, RequestKind.HEARTBEAT, ErrorCode.LLM_SERVER_ERROR, RequestState.DEAD)
    waiting = replace(unread(there), state=RequestState.PENDING)
    found = list(_gave_up(entries((unread(here), dead, unread(here), other, waiting)), shows_titles=True))
    assert [(one.subject, one.text, one.fix) for one in found] == [
        ("memory bank", "of “Low tide” 2 parts could not be read", TRY_AGAIN),
        ("memory bank", "of “Low tide” vectors not made", TRY_AGAIN),
        ("queue", "1 call has used up all tries; `storyengine queue list` names them", ""),
    ]
    assert not list(_gave_up(entries((waiting,)), shows_titles=True))


def test_the_doctor_names_no_title_that_a_password_guards() -> None:
    request = unread(SessionId(new_uuid()))
    [found] = _gave_up(entries((request,)), shows_titles=False)
    assert found.text == f"of the chapter {request.session_id} 1 part could not be read"
