"""Sends prompts from the panels, stores what is typed, and returns texts that failed (design 6)."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.text.composer_text import without
from storyengine_tui.screens.play.composer import Composer
from storyengine_tui.screens.play.play_view import is_take
from storyengine_tui.screens.play.scene.hearing_view import choice_of
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle


class PromptSender:
    """Synchronises the session with the panels of a page.

    While this window is the writer, the panels are authoritative and the store follows them. So the engine's
    notifications about unsent texts can be ignored: a failed text is put back because its request failed.
    """

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self._returned: dict[RequestId, Slot] = {}
        """Failed prompts whose text is back in its panel."""
        self.has_picked = False
        """Whether the GM chose a panel since the last prompt was sent."""
        self.autosave = Autosave(self._save, page.say_unsaved, page.say_saved)

    @property
    def _composer(self) -> Composer:
        return self._page.query_one(Composer)

    @property
    def _session(self) -> "SessionHandle":
        return self._page.session

    async def show_cast(self, *, is_new: bool) -> None:
        """Create the panels of the session, with their stored and their unsaved texts.

        Show the panel of a prompt that failed first, else that of the next character.
        """
        snapshot, composer = self._session.snapshot, self._composer
        failed = snapshot.failed(ReplyRequest)
        self._returned = {request.id: request.slot for request in failed if not is_take(request)}
        await composer.set_cast(snapshot.session, snapshot.unsent, is_new=is_new)
        if is_new:
            for request in failed:
                text = composer.area(request.slot).text
                if request.id in self._returned and without(text, request.text) is not None:
                    composer.choose_hearers(request.slot, self._choice(request.slot, request.audience))
            if self._page.folder is not None and not self._session.is_read_only:
                composer.keep_hearers(KeptText.hearers_of(self._session.id, self._page.folder))
            composer.show(next(iter(self._returned.values()), snapshot.session.next_slot))
        if not all(area.is_stored for area in composer):
            self.autosave.touch()

    # Storing what is typed

    def touch(self) -> None:
        """Schedule storing after a change."""
        if self._page.has_session and not self._session.is_read_only:
            self.autosave.touch()

    async def flush(self) -> None:
        """Wait for what is being sent, and store what is not stored yet.

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

    def send(self, slot: Slot, text: str, heard_by: Audience | None) -> None:
        """Send a text that was removed from a panel, to be heard by those present or by others."""
        if not self._page.has_session:
            # Enter was pressed while the chapter was closing, after the panel's text was stored.
            self._composer.refused(slot, text, heard_by)
            return
        command = self._session.submit_prompt(slot, text, heard_by=heard_by)
        self._submit(slot, text, heard_by, command)

    def send_again(self, request: ReplyRequest) -> None:
        """Send a failed prompt again, with the edits made in its panel; a take has no text there.

        If the panel has no other text, those hear it that the panel says; else those of before.
        """
        if is_take(request):
            self._page.do(self._session.retry(request.id))
            return
        slot, text, session = request.slot, request.text, self._session
        area = self._composer.area(slot)
        heard_by = area.heard_by
        if not self._composer.remove_text(slot, text) and not area.is_blank:
            area.action_submit()
            return
        area.sending.append(text)  # Even if the GM has deleted it from the panel.
        if area.is_blank and session.snapshot.session.hearers_of(slot, heard_by) != request.audience:
            self._composer.choose_hearers(slot, None)
            command = session.submit_prompt(slot, text, heard_by=heard_by, is_typed=False)
        else:
            heard_by = self._choice(slot, request.audience)
            command = session.retry(request.id)
        self._submit(slot, text, heard_by, command)

    def _choice(self, slot: Slot, audience: Audience) -> Audience | None:
        return choice_of(self._session.snapshot.session, slot, audience)

    def _submit(self, slot: Slot, text: str, heard_by: Audience | None, command: Awaitable[object]) -> None:
        self._returned = {one: where for one, where in self._returned.items() if where is not slot}
        self.has_picked = False
        if self._composer.slot is slot and self._composer.area(slot).is_blank:
            self._composer.show_next_present(slot)
        work = self._settle(self._session, slot, text, heard_by, command)
        self._page.run_worker(work, group="send", exit_on_error=False)

    async def _settle(
        self,
        session: "SessionHandle",
        slot: Slot,
        text: str,
        heard_by: Audience | None,
        command: Awaitable[object],
    ) -> None:
        """Wait until the engine has accepted the text; put a refused text back into its panel."""
        composer = self._composer
        try:
            await command
        except Exception as error:
            composer.refused(slot, text, heard_by)
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
        """Return a queued prompt to its panel; raises StoryEngineError when it is running already."""
        session = self._session
        await session.withdraw(request.id)
        if self._page.shows(session):
            self._put_back(request)

    async def withdraw_all(self, requests: Sequence[ReplyRequest]) -> None:
        """Return queued prompts to their panels, the newest first: each is put before the next."""
        for request in reversed(requests):
            with suppress(IllegalCommandError):  # It has begun meanwhile.
                await self.withdraw(request)

    def _put_back(self, request: ReplyRequest) -> None:
        if not is_take(request):
            heard_by = self._choice(request.slot, request.audience)
            self._composer.put_back(request.slot, request.text, heard_by)
            self._show_unless_writing(request.slot)

    def _show_unless_writing(self, slot: Slot) -> None:
        shown = self._composer.shown
        if shown is None or shown.is_blank:
            self._composer.show(slot)

    def fail(self, request: ReplyRequest) -> None:
        """Return the text of a failed prompt to its panel."""
        if not (self._session.is_read_only or is_take(request)):
            self._returned[request.id] = request.slot
            self._put_back(request)

    def restore(self, slot: Slot, text: str, audience: Audience) -> None:
        """Return the text of an undone prompt to its panel with who heard it, and show that."""
        self._composer.put_back(slot, text, self._choice(slot, audience))
        self._composer.show(slot)

    def remove_restored(self, slot: Slot, text: str) -> None:
        """Remove the text of a prompt that counts again from its panel, unless it was edited there."""
        self._composer.remove_text(slot, text)
        self.move_on(slot)

    def move_draft(self, source: Slot, target: Slot) -> None:
        """Move the text of a panel into another one, in front of what is there."""
        area = self._composer.area(source)
        text, heard_by = area.text, area.heard_by
        area.clear()
        self._composer.choose_hearers(source, None)
        self._composer.put_back(target, text, heard_by)
        self.has_picked = True
        self._composer.show(target, takes_focus=True)

    def remove_resent(self, request: ReplyRequest) -> None:
        """Remove the text of a returned prompt from its panel: the prompt is sent again."""
        if self._returned.pop(request.id, None) is not None and not self._session.is_read_only:
            self._composer.remove_text(request.slot, request.text)

    def move_on(self, replier: Slot | None) -> None:
        """Show the next panel after a reply, unless the GM is writing, chose a panel, or queued prompts."""
        snapshot, shown = self._session.snapshot, self._composer.shown
        is_done_here = shown is None or (shown.is_blank and shown.slot is replier)
        if self._session.is_read_only or (is_done_here and not snapshot.open_prompts and not self.has_picked):
            self._composer.show(snapshot.session.next_slot)
