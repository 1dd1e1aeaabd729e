"""The part of tab 3 about the chapter: has it written, says how that goes, and hands a draft on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import NarrativeRequest
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.engine.sync import notifications
from core.ledger.sums import dollars
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.download_row import DeliveryRow
from storyengine_tui.screens.narrative.draft_cell import DraftCell, LiveDraft
from storyengine_tui.screens.narrative.narrative_view import NarrativeView, failure_banner, narrative_view
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.text_line import show_line

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class ChapterBuild:
    """Builds drafts of the chapter from the cells of a page; its actions are the page's."""

    @dataclass
    class DownloadWanted(Message):
        """The GM wants a draft as a text file; the receiver decides where, and calls `show_delivered`."""

        build: "ChapterBuild"
        draft: NarrativeDraft
        title: str

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self._one_by_one = asyncio.Lock()
        self._request_id: RequestId | None = None
        """The build whose text streams in."""

    @property
    def _banner(self) -> Banner:
        return self._page.query_one("#build-banner", Banner)

    @property
    def _busy(self) -> BusyLine:
        return self._page.query_one("#building", BusyLine)

    @property
    def _definition(self) -> DefinitionCell:
        return self._page.query_one(DefinitionCell)

    @property
    def _draft(self) -> DraftCell:
        return self._page.query_one(DraftCell)

    # What is going on

    def show_drafts(self, drafts: Sequence[NarrativeDraft], running: NarrativeRequest | None) -> None:
        """Show the drafts that were read, of which one may be written now: what came of that stays."""
        is_known = running is not None and running.id == self._request_id
        live = self._draft.live if is_known else None
        self._request_id = running.id if running else None
        self._draft.show_drafts(drafts, (live or LiveDraft()) if running else None)

    def forget(self) -> None:
        """Drop what was said of the session before."""
        self.say("")
        self._say_left_out(())

    def show(self, before: NarrativeView | None, view: NarrativeView) -> None:
        """Say that the chapter is being written or why that failed, and what a build costs."""
        self._draft.set_target(view.session.target_words)
        if view.is_being_written:
            self._begin_waiting()
        else:
            self._busy.end()
        self._busy.display = self._busy.is_busy
        if before is None or before.failed != view.failed or before.is_writer != view.is_writer:
            self._banner.content = failure_banner(view)
        if before is None or before.can_build != view.can_build:
            work = self._forecast(view)
            run_in_background(self._page, work, group="forecast", exclusive=True)

    def note(self, notification: notifications.Notification) -> None:
        """Show the text that streams in, and what became of it."""
        match notification:
            case notifications.DraftStored(draft):
                self._draft.settle(draft)
                self._banner.hide()
                self.say(f"Draft {draft.version} is stored.")
            case notifications.CallStarted(NarrativeRequest()):
                self._begin_call(notification)
            case notifications.TextArrived(request_id, text) if request_id == self._request_id:
                self._draft.stream(text)
            case notifications.RequestFailed(NarrativeRequest()):
                self._draft.fail()

    def _begin_call(self, started: notifications.CallStarted) -> None:
        if self._request_id != started.request.id or started.call == 1:
            self._request_id = started.request.id
            self._draft.begin()
            self.say("")
        self._draft.begin_part()
        self._banner.hide()
        part = f", part {started.call}" if started.call > 1 else ""
        self._begin_waiting()
        self._busy.say(f"{started.model} is writing the chapter{part}")
        self._say_left_out(started.left_out)
        if started.call == 1:
            self._page.expect(started, self._show_expected)

    def _begin_waiting(self) -> None:
        if not self._busy.is_busy:
            is_writer = not self._page.session.is_read_only
            self._busy.begin("The chapter is being written", cancel="Esc cancels" if is_writer else "")

    def _show_expected(self, request_id: RequestId, expected: str) -> None:
        """Show how long the call may take, unless another build has begun."""
        if self._request_id == request_id:
            self._busy.expect(expected)

    async def _forecast(self, view: NarrativeView) -> None:
        """Say what a build costs at most, in a chapter that has cost money."""
        session, text = self._page.session, ""
        if view.can_build and session.snapshot.spent:
            try:
                amount = await session.money.of_build()
            except StoryEngineError:
                amount = None  # The build itself says what is wrong.
            if amount:
                spent = dollars(session.snapshot.spent)
                text = f"A build costs up to {dollars(amount)}; the chapter has cost {spent} so far."
        if self._page.shows(session):
            self._definition.show_forecast(text)

    def _say_left_out(self, left_out: tuple[str, ...]) -> None:
        text = "Left out of the input: " + "; ".join(left_out) if left_out else ""
        show_line(self._page, "#left-out", text)

    # Building

    def action_build(self) -> None:
        """Build a new draft."""
        self._begin(None)

    def action_retry(self) -> None:
        """Build a draft again that failed, from the same viewpoint."""
        failed = narrative_view(self._page.session).failed
        self._begin(failed.viewpoint if failed is not None else None)

    def action_cancel(self) -> None:
        """Stop the build, or what is rebuilt of memory; earlier drafts stay as they are."""
        view = narrative_view(self._page.session)
        running = view.running or view.rebuilt
        if running is not None:
            self._page.do(self._page.session.cancel(running.id), group="cancel")

    def _begin(self, viewpoint: Slot | None) -> None:
        if self._page.has_session and narrative_view(self._page.session).can_build:
            self._page.do(self.build(self._page.session, viewpoint), group="build")

    async def build(self, session: "SessionHandle", viewpoint: Slot | None) -> None:
        """Store what is typed, and build a draft as this character knows the story; None: as the GM."""
        if not self._page.shows(session):
            return
        if self._definition.typed.problem:
            self._definition.focus_target()
            return
        async with self._one_by_one:  # A key may come twice.
            await self._page.flush()
            if not narrative_view(session).can_build:
                return
            await session.build_narrative(viewpoint=viewpoint)
        if self._page.shows(session):
            self._draft.view.focus(scroll_visible=False)
            self._page.call_after_refresh(self._scroll_to_draft)

    def _scroll_to_draft(self) -> None:
        """Scroll to the new draft, unless it has failed: then the banner that says why is in view."""
        if self._page.has_session and narrative_view(self._page.session).running is not None:
            self._draft.scroll_visible(animate=False)

    # Handing a draft on

    def action_download(self) -> None:
        """Ask for a text file of the draft that shows."""
        draft = self._draft.shown
        if draft is not None:
            title = self._page.session.snapshot.title
            self._page.post_message(self.DownloadWanted(self, draft, title))

    def show_delivered(self, draft: NarrativeDraft, path: Path | None) -> None:
        """Say where a draft was written, of a chapter that may be left by now; without a path the browser
        downloads it."""
        where = f"Draft {draft.version} is in {path}" if path else "Your browser takes the file."
        if not self._page.has_session or draft.session_id != self._page.session.id:
            self._page.notify(where, markup=False)
            return
        self.say(where, path=str(path or ""))

    def say(self, text: str, *, path: str = "") -> None:
        """Say below the chapter what was done with it; offer to copy `path`, if there is one."""
        self._page.query_one(DeliveryRow).say(text, path=path)
