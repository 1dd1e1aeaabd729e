"""Tab 3: a text that streams in, and what is said of one that did not come to its end."""

from dataclasses import replace
from uuid import UUID

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import RequestId
from core.domain.requests.request import NarrativeRequest, RequestState
from core.engine.decisions.recovery import INTERRUPTED_BUILD
from storyengine_tui.screens.narrative.narrative_view import failure_banner, narrative_view
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import chapter_page, make_ended

pytestmark = pytest.mark.anyio


async def test_the_first_words_of_a_draft_are_not_joined_to_those_after_them(desktop: Desktop) -> None:
    async with chapter_page(desktop, make_ended) as page:
        page.draft.begin()
        for piece in ("\n\nThe sea rose, ", "and fell.\n\n", "It", " was late."):
            page.draft.stream(piece)
        await page.until(lambda: page.chapter == "The sea rose, and fell.\n\nIt was late.")


async def test_a_build_that_was_killed_says_that_its_part_is_not_kept_and_names_no_call(
    desktop: Desktop,
) -> None:
    async with chapter_page(desktop, make_ended) as page:
        view = narrative_view(page.session)
    at = view.session.created_at
    build = NarrativeRequest(
        id=RequestId(UUID(int=1)), session_id=view.session.id, created_at=at, updated_at=at
    )
    stopped = replace(build, state=RequestState.FAILED, error_code=ErrorCode.LLM_CANCELLED)
    killed = replace(stopped, error_message=INTERRUPTED_BUILD)
    by_kill, by_key = (failure_banner(replace(view, failed=one)) for one in (killed, stopped))
    assert by_kill is not None
    assert by_key is not None
    assert (by_kill.sentence, by_kill.hint) == (
        INTERRUPTED_BUILD,
        "Retry continues after the finished parts.",
    )
    assert "kept under Calls (F7)" in by_key.hint
