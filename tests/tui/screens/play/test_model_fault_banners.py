"""Every fault of a model, for every kind of request, one after the other in one window: what the banner says,
that nothing else has changed, and that Retry succeeds in the end."""

import os
from collections.abc import Callable

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from tests.engine.faults.test_faults import TWO_CALLS
from tests.tui.engine_app import Desktop, make_draft, until
from tests.tui.rooms.chapter_page import NARRATIVE, chapter_page, make_ended
from tests.tui.rooms.play_table import Table, at_table
from tests.tui.rooms.play_table import gate as gate
from tests.tui.screens.setup.test_locking import LOCK, ask, lock_banner, state

pytestmark = pytest.mark.anyio

SENTENCES = {
    Fault.TIME_OUT: ErrorCode.LLM_TIMEOUT.sentence,
    Fault.RATE_LIMITED: ErrorCode.LLM_RATE_LIMITED.sentence,
    Fault.AUTH: ErrorCode.LLM_AUTH_ERROR.sentence,
    Fault.CREDIT_EXHAUSTED: ErrorCode.LLM_CREDIT_EXHAUSTED.sentence,
    Fault.SERVER_ERROR: ErrorCode.LLM_SERVER_ERROR.sentence,
    Fault.REQUEST_ERROR: ErrorCode.LLM_REQUEST_ERROR.sentence,
    Fault.CONTEXT_OVERFLOW: ErrorCode.LLM_CONTEXT_OVERFLOW.sentence,
    Fault.CUT: "The connection to the model's service broke off within the answer",
    Fault.EMPTY: "The model returned an empty answer",
    Fault.WHITE_SPACE: "The model answered with nothing that can be seen",
    Fault.REASONING_ONLY: "The model thought, but did not write an answer",
    Fault.TRUNCATED: ErrorCode.LLM_TRUNCATED.sentence,
    Fault.CONTENT_FILTERED: ErrorCode.LLM_CONTENT_FILTERED.sentence,
}
"""What the banner says after each fault that a reply can meet; a hang ends as a time-out does."""


OF_JSON = SENTENCES | dict.fromkeys(
    (Fault.INVALID_JSON, Fault.WRONG_SHAPE), ErrorCode.LLM_INVALID_JSON.sentence
)
"""The same for a lock, whose answer has a shape as well."""
OF_DELTA = OF_JSON | {Fault.BLOATED_JSON: ErrorCode.LLM_INVALID_JSON.sentence}
"""The same for a summary, which has to be shorter than what it distils, too."""
IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"


def shown(sentences: dict[Fault, str], first: int) -> dict[Fault, str]:
    """Return all of them in `make torture`, else some: other ones for each kind of request."""
    return sentences if IS_WHOLE else dict(list(sentences.items())[first::4])


SHOWN = shown(SENTENCES, 2)


def script() -> Script:
    faults = (
        Entry(match=ScriptMatch(schema="text", last=f"now {number}."), fault=fault, times=1)
        for number, fault in enumerate(SHOWN, start=1)
    )
    return Script(reply=(*faults, Entry(match=ScriptMatch(schema="text"), text="I see.")))


async def meet(table: Table, number: int, sentence: str) -> None:
    """Send a prompt that fails, look at the screen, and send it again."""
    slot, before, text = table.slot(), table.transcript.text, f"now {number}."
    await table.send(text)
    await table.until(table.banner, f"no banner: {sentence}")
    name = table.stored.name_of(slot)
    assert f"{int(slot)} {name} did not answer." in table.banner()
    assert sentence in table.banner()
    assert f"Your text is back in the panel of {int(slot)} {name}." in table.banner()
    assert (table.slot(), table.text(slot)) == (slot, text)
    assert table.transcript.text == before, "no prompt was numbered"
    await table.pilot.press("ctrl+r")
    await table.until(lambda: table.played(number))
    await table.until(lambda: table.stored.unsummarised != 7 and not table.snapshot.requests)
    assert table.banner() == ""
    assert table.text(slot) == ""


async def test_the_banner_names_every_fault_and_the_text_waits_in_its_panel(
    desktop: Desktop,
) -> None:
    desktop.script = script()
    async with at_table(desktop) as table:
        for number, sentence in enumerate(SHOWN.values(), start=1):
            await meet(table, number, sentence)
        texts = [event.text for event in await table.events() if event.ordinal == 0]
        assert texts == [f"now {number}." for number in range(1, len(SHOWN) + 1)]


def in_turn(match: ScriptMatch, faults: dict[Fault, str]) -> Script:
    """A script in which each of these comes once, in this order; what is repaired comes twice."""
    return Script(
        reply=tuple(Entry(match=match, fault=fault, times=2 if fault in TWO_CALLS else 1) for fault in faults)
    )


def has_failed(session: SessionHandle, kind: RequestKind, times: int) -> Callable[[], bool]:
    """Return whether the request of this kind has failed so often."""
    return lambda: any(
        one.kind is kind and one.state is RequestState.FAILED and one.attempts == times
        for one in session.snapshot.requests
    )


async def test_the_banner_of_a_lock_names_every_fault_and_tab_1_is_as_it_was(desktop: Desktop) -> None:
    faults = shown(OF_JSON, 0)
    desktop.script = in_turn(LOCK, faults)
    async with desktop.window(make_draft) as (pilot, app):
        assert app.session is not None
        session = app.session
        before = session.snapshot.tab1
        await ask(pilot)
        await pilot.press("tab", "enter")
        for number, (fault, sentence) in enumerate(faults.items(), start=1):
            await until(pilot, has_failed(session, RequestKind.LOCK, number), fault)
            await until(pilot, lambda: app.screen is app.chapter and lock_banner(app).is_shown, fault)
            content = lock_banner(app).content
            assert content is not None
            assert sentence in content.sentence, fault
            assert [action.label for action in content.actions] == ["Retry", "Edit"]
            assert (state(app), app.chapter.active_tab) == (SessionState.DRAFT_TAB1, "setup")
            assert session.snapshot.tab1 == before
            await pilot.press("ctrl+r")
        await until(pilot, lambda: app.chapter.active_tab == "play")
        assert state(app) is SessionState.ACTIVE


async def test_the_banner_of_a_summary_names_every_fault_and_the_play_goes_on(desktop: Desktop) -> None:
    faults = shown(OF_DELTA, 1)
    desktop.script = in_turn(ScriptMatch(schema="turn_delta"), faults)
    desktop.backoff = 3_600.0  # none is tried again by itself while the test looks
    async with at_table(desktop, prompts=6) as table:
        await table.play("The seventh.")
        story = table.transcript.text
        for number, (fault, sentence) in enumerate(faults.items(), start=1):
            await table.until(has_failed(table.session, RequestKind.SUMMARY, number), fault)
            await table.until(lambda: table.banner("summary-failed"), f"no banner: {fault}")
            said = table.banner("summary-failed")
            assert "The summary of prompts 1–7 was not made." in said
            assert sentence in said, fault
            assert "You can play on" in said
            assert (table.state(), table.stored.boundary) == (SessionState.ACTIVE, 0)
            assert table.transcript.text == story
            assert not table.area(table.slot()).read_only, "the next prompt can be typed"
            await table.pilot.press("ctrl+r")
        await table.until(lambda: table.stored.boundary == 7)
        assert table.banner("summary-failed") == ""


async def test_the_banner_of_a_narrative_names_every_fault_and_the_draft_comes_in_the_end(
    desktop: Desktop,
) -> None:
    faults = shown(SENTENCES, 3)
    desktop.script = in_turn(NARRATIVE, faults)
    async with chapter_page(desktop, make_ended) as page:
        await page.pilot.press("f8")
        for number, (fault, sentence) in enumerate(faults.items(), start=1):
            await page.until(has_failed(page.session, RequestKind.NARRATIVE, number), fault)
            await page.until(lambda: page.banner, f"no banner: {fault}")
            assert sentence in page.banner, fault
            assert "Retry continues after the finished parts" in page.banner
            assert page.session.snapshot.session.state is SessionState.ENDED
            assert list(page.draft.drafts) == [], "no version of it, and none was there before"
            await page.pilot.press("ctrl+r")
        await page.until(lambda: page.draft.drafts)
        assert page.banner == ""
