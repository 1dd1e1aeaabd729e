"""From the panels to the engine and back: sending, storing what is typed, returning texts (design 6)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from core.domain.errors import SessionLockedError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.request import ReplyRequest
from core.domain.slot import Slot
from storyengine_tui.screens.play.composer import Composer
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle


class PromptSender:
    """Keeps the session in step with the panels of a page.

    What stands in the panels is the truth while this window writes, and what is stored follows it. So the
    engine's notices about unsent texts need no comparing: a text that failed is put back by its request.
    """

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self._returned: dict[RequestId, Slot] = {}
        """Failed prompts whose text is back in its panel."""
        self.has_picked = False
        """The GM chose a panel since the last prompt was sent."""
        self.autosave = Autosave(self._save, page.say_unsaved, page.say_saved)

    @property
    def _composer(self) -> Composer:
        return self._page.query_one(Composer)

    @property
    def _session(self) -> "SessionHandle":
        return self._page.session

    async def show_cast(self, *, is_new: bool) -> None:
        """Create the panels of the session, with their stored and their unsaved texts.

        The first to show is that of a prompt that failed, else that of the next character.
        """
        snapshot, composer = self._session.snapshot, self._composer
        self._returned = {request.id: request.slot for request in snapshot.failed(ReplyRequest)}
        await composer.set_cast(snapshot.session, snapshot.unsent, is_new=is_new)
        if is_new:
            composer.show(next(iter(self._returned.values()), snapshot.session.next_slot))
        if not all(area.is_stored for area in composer):
            self.autosave.touch()

    # Storing what is typed

    def touch(self) -> None:
        """Something was typed: it is stored soon."""
        if self._page.has_session and not self._session.is_read_only:
            self.autosave.touch()

    async def flush(self) -> None:
        """Store what was typed and is not stored yet; what is being sent is waited for.

        Raises:
            SessionLockedError: Another window writes here.
            StoryEngineError: It cannot be stored.
        """
        await self._composer.all_sent()
        if all(area.is_stored for area in self._composer):
            return
        if self._session.is_read_only:
            raise SessionLockedError(
                "Another window writes in this chapter, so the text in your panel cannot be stored.",
                "Copy it before you leave.",
            )
        self.autosave.touch()
        await self.autosave.flush()

    async def _save(self) -> None:
        if not self._page.has_session or self._session.is_read_only:
            return
        for area in tuple(self._composer):
            text = area.text
            if not area.sending and text != area.stored:
                await self._session.save_unsent(area.slot, text)
                area.stored = text

    # Sending

    def send(self, slot: Slot, text: str) -> None:
        """Send what was taken out of a panel."""
        if not self._page.has_session:
            # Enter came while the chapter was being closed, after the text was stored with its panel.
            self._composer.refused(slot, text)
            return
        self._submit(slot, text, self._session.submit_prompt(slot, text))

    def send_again(self, request: ReplyRequest) -> None:
        """Send a failed prompt again, with the edits made in its panel."""
        slot = request.slot
        area = self._composer.area(slot)
        if not area.resend(request.text):
            if not area.is_blank:
                area.action_submit()
                return
            area.sending.append(request.text)  # Deleted, and wanted after all.
        self._submit(slot, request.text, self._session.retry(request.id))

    def _submit(self, slot: Slot, text: str, command: Awaitable[object]) -> None:
        self._returned = {one: where for one, where in self._returned.items() if where is not slot}
        self.has_picked = False
        if self._composer.slot is slot and self._composer.area(slot).is_blank:
            self._composer.show_next(slot)
        work = self._settle(self._session, slot, text, command)
        self._page.run_worker(work, group="send", exit_on_error=False)

    async def _settle(
        self, session: "SessionHandle", slot: Slot, text: str, command: Awaitable[object]
    ) -> None:
        """Wait until the engine has the text; what it refuses is back in its panel."""
        composer = self._composer
        try:
            await command
        except Exception as error:
            composer.refused(slot, text)
            self._show_unless_writing(slot)
            if not isinstance(error, StoryEngineError):
                raise
            self._page.post_message(SessionTab.CommandFailed(error))
        else:
            composer.accepted(slot, text, session.snapshot.unsent.get(slot, ""))
        finally:
            self.autosave.touch()

    # Coming back

    async def withdraw(self, request: ReplyRequest) -> None:
        """Return a queued prompt to its panel; raises StoryEngineError when it has begun."""
        session = self._session
        await session.withdraw(request.id)
        if self._page.shows(session):
            self._give_back(request)

    def _give_back(self, request: ReplyRequest) -> None:
        self._composer.area(request.slot).put_back(request.text)
        self._show_unless_writing(request.slot)

    def _show_unless_writing(self, slot: Slot) -> None:
        shown = self._composer.shown
        if shown is None or shown.is_blank:
            self._composer.show(slot)

    def fail(self, request: ReplyRequest) -> None:
        """Return the text of a failed prompt to its panel."""
        if not self._session.is_read_only:
            self._returned[request.id] = request.slot
            self._give_back(request)

    def remove_resent(self, request: ReplyRequest) -> None:
        """A returned prompt is sent again: its text no longer waits in the panel."""
        if self._returned.pop(request.id, None) is not None and not self._session.is_read_only:
            self._composer.area(request.slot).remove_text(request.text)

    def move_on(self, replier: Slot | None) -> None:
        """After a reply the next panel shows, unless the GM is writing, has chosen one, or is ahead."""
        snapshot, shown = self._session.snapshot, self._composer.shown
        is_done_here = shown is None or (shown.is_blank and shown.slot is replier)
        if self._session.is_read_only or (is_done_here and not snapshot.open_prompts and not self.has_picked):
            self._composer.show(snapshot.session.next_slot)
