"""From the panels to the engine and back: sending, storing what is typed, giving texts back (design 6)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from textual import on

from core.domain.errors import SessionLockedError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.request import ReplyRequest
from core.domain.slot import Slot
from storyengine_tui.screens.play.composer import Composer
from storyengine_tui.screens.play.prompt_area import PromptArea
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle


class PromptingPane(SessionTab):
    """A page with a composer.

    What stands in the panels is the truth while this window writes, and what is stored follows it. So the
    engine's notices about unsent texts need no comparing: a text that failed is put back by its request.
    """

    def __init__(self) -> None:
        super().__init__()
        self._returned: dict[RequestId, Slot] = {}
        """Failed prompts whose text is back in its panel."""
        self._has_picked = False
        """The GM chose a panel since the last prompt was sent."""
        self._autosave = Autosave(self._save, self._say_unsaved, self._say_saved)

    @property
    def composer(self) -> Composer:
        """The panels."""
        return self.query_one(Composer)

    def on_mount(self) -> None:
        """Watch what is typed."""
        self._autosave.start()

    async def on_unmount(self) -> None:
        """Watch no more."""
        await self._autosave.stop()

    def do(self, command: Awaitable[object]) -> None:
        """Do this in the background; what is refused becomes a banner."""
        self.run_worker(self.perform(command), group="do", exit_on_error=False)

    # Storing what is typed

    async def flush(self) -> None:
        """Store what was typed and is not stored yet; what is being sent is waited for."""
        await self.composer.all_sent()
        if all(area.is_stored for area in self.composer):
            return
        if self.session.is_read_only:
            raise SessionLockedError(
                "Another window writes in this chapter, so the text in your panel cannot be stored.",
                "Copy it before you leave.",
            )
        self._autosave.touch()
        await self._autosave.flush()

    async def show_cast(self, *, is_new: bool) -> None:
        """Create the panels of the session, with their stored and their unsaved texts.

        The first to show is that of a prompt that failed, else that of the next character.
        """
        snapshot = self.session.snapshot
        await self.composer.set_cast(snapshot.session, snapshot.unsent, is_new=is_new)
        if is_new:
            self.composer.show(next(iter(self._returned.values()), snapshot.session.next_slot))
        if not all(area.is_stored for area in self.composer):
            self._autosave.touch()

    async def _save(self) -> None:
        if not self.has_session or self.session.is_read_only:
            return
        for area in tuple(self.composer):
            text = area.text
            if not area.sending and text != area.stored:
                await self.session.save_unsent(area.slot, text)
                area.stored = text

    def _say_saved(self) -> None:
        self.post_message(self.Stored())

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self.post_message(self.CommandFailed(error))

    @on(Composer.Typed)
    def _touch(self, event: Composer.Typed) -> None:
        event.stop()
        if self.has_session and not self.session.is_read_only:
            self._autosave.touch()

    # Sending

    @on(PromptArea.Sent)
    def _send(self, event: PromptArea.Sent) -> None:
        event.stop()
        if not self.has_session:
            # Enter came while the chapter was being closed, after the text was stored with its panel.
            self.composer.refused(event.slot, event.text)
            return
        self._submit(event.slot, event.text, self.session.submit_prompt(event.slot, event.text))

    def send_again(self, request: ReplyRequest) -> None:
        """Send a failed prompt again, with the edits made in its panel."""
        slot = request.slot
        area = self.composer.area(slot)
        if not area.resend(request.text):
            if not area.is_blank:
                area.action_submit()
                return
            area.sending.append(request.text)  # Deleted, and wanted after all.
        self._submit(slot, request.text, self.session.retry(request.id))

    def _submit(self, slot: Slot, text: str, command: Awaitable[object]) -> None:
        self._returned = {one: where for one, where in self._returned.items() if where is not slot}
        self._has_picked = False
        if self.composer.slot is slot and self.composer.area(slot).is_blank:
            self.composer.show_next(slot)
        self.sent()
        self.run_worker(self._settle(self.session, slot, text, command), group="send", exit_on_error=False)

    def sent(self) -> None:
        """Something is on its way."""

    async def _settle(
        self, session: "SessionHandle", slot: Slot, text: str, command: Awaitable[object]
    ) -> None:
        """Wait until the engine has the text; what it refuses is back in its panel."""
        composer = self.composer
        try:
            await command
        except Exception as error:
            composer.refused(slot, text)
            if composer.shown is None or composer.shown.is_blank:
                composer.show(slot)
            if not isinstance(error, StoryEngineError):
                raise
            self.post_message(self.CommandFailed(error))
        else:
            composer.accepted(slot, text, session.snapshot.unsent.get(slot, ""))
        finally:
            self._autosave.touch()

    # Coming back

    def give_back(self, slot: Slot, text: str) -> None:
        """Return a text to its panel, and show that panel unless the GM writes in another."""
        self.composer.area(slot).put_back(text)
        if self.composer.shown is None or self.composer.shown.is_blank:
            self.composer.show(slot)

    def fail(self, request: ReplyRequest) -> None:
        """Give the text of a failed prompt back."""
        if not self.session.is_read_only:
            self._returned[request.id] = request.slot
            self.give_back(request.slot, request.text)

    def go_again(self, request: ReplyRequest) -> None:
        """A returned prompt is sent again: its text no longer waits in the panel."""
        if self._returned.pop(request.id, None) is not None and not self.session.is_read_only:
            self.composer.area(request.slot).remove_text(request.text)

    def move_on(self, replier: Slot | None) -> None:
        """After a reply the next panel shows, unless the GM is writing, has chosen one, or is ahead."""
        snapshot, shown = self.session.snapshot, self.composer.shown
        is_done_here = shown is None or (shown.is_blank and shown.slot is replier)
        if self.session.is_read_only or (is_done_here and not snapshot.open_prompts and not self._has_picked):
            self.composer.show(snapshot.session.next_slot)

    @on(Composer.Picked)
    def note_pick(self) -> None:
        """The GM's choice holds until the next prompt is sent."""
        self._has_picked = True
