"""Sends prompts from the panels, stores what is typed, and returns texts that failed (design 6)."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.text.composer_text import merged, without
from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.play_view import is_played
from storyengine_tui.screens.play.scene.hearing_view import USUAL, Delivery, choice_of, delivery_of
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.screens.shared.autosave import Autosave, unstored
from storyengine_tui.screens.shared.kept_fields import Fields
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


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
        self.autosave = Autosave(self._save, page.say_unsaved, page.say_saved, page.kept_fields.keep)

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
        edited = await self._return_edits()
        snapshot, composer = self._session.snapshot, self._composer
        failed = snapshot.failed(ReplyRequest)
        self._returned = {request.id: request.slot for request in failed if not is_played(request)}
        await composer.set_cast(snapshot.session, snapshot.unsent, is_new=is_new)
        if is_new:
            slots = {slot.colour: slot for slot in snapshot.session.slots}
            for colour, kept_text in self._page.take_kept().items():
                if colour in slots:
                    composer.area(slots[colour]).resume(*kept_text)
                self.autosave.touch()  # Also if it is stored already: the file is deleted then.
            for request in failed:
                text = composer.area(request.slot).text
                is_there = str(request.id) in edited or without(text, request.text) is not None
                if request.id in self._returned and is_there:
                    composer.choose(request.slot, delivery_of(snapshot.session, request))
            kept = self._page.kept_text("hearers")
            if kept is not None and not self._session.is_read_only:
                composer.keep_hearers(kept)
            composer.show(next(iter(self._returned.values()), snapshot.session.next_slot))
        if not all(area.is_stored for area in composer):
            self.autosave.touch()

    async def _return_edits(self) -> set[str]:
        """Put the text of a prompt that waited and was being edited into its panel; return the requests' ids.

        It waits no more after the program was killed, and nothing else leads to that text.
        """
        session, folder = self._session, self._page.folder
        if folder is None or session.is_read_only:
            return set()
        requests = {str(one.id): one for one in session.snapshot.requests if isinstance(one, ReplyRequest)}
        returned: set[str] = set()
        for request_id, (slot, kept) in KeptText.prompts_of(session.id, folder).items():
            text, request = kept.read(), requests.get(request_id)
            is_waiting = request is not None and request.state.is_open
            if is_waiting or not text or slot not in session.snapshot.session.slots:
                continue
            unsent = session.snapshot.unsent.get(slot, "")
            later = None if request is None else without(unsent, request.text)
            try:
                await session.edits.save_unsent(slot, merged(text, unsent if later is None else later))
            except StoryEngineError:  # The next opening tries again.
                continue
            kept.forget()
            returned.add(request_id)
        return returned

    # Storing what is typed

    def touch(self) -> None:
        """Schedule storing after a change."""
        if self._page.has_session and not self._session.is_read_only:
            self.autosave.touch()

    @property
    def typed_fields(self) -> Fields:
        """The texts of the panels that are not stored, by their colours."""
        return {
            area.slot.colour: (area.stored, area.text) for area in self._composer if area.text != area.stored
        }

    @property
    def has_unsaved(self) -> bool:
        """Whether a text of a panel can be stored and is not yet, or is being sent."""
        return not self._session.is_read_only and not all(area.is_stored for area in self._composer)

    async def flush(self) -> None:
        """Wait for texts that are being sent, and store unsaved ones.

        Raises:
            SessionLockedError: Another window writes here.
            StoryEngineError: It cannot be stored.
        """
        await self._composer.all_sent()
        if all(area.is_stored for area in self._composer):
            return
        if self._session.is_read_only:
            raise unstored("the text in your panel")
        self.autosave.touch()
        await self.autosave.flush()

    async def _save(self) -> None:
        if not self._page.has_session or self._session.is_read_only:
            return
        session = self._session  # Another chapter may be open before all of it is stored.
        for area in tuple(self._composer):
            text = area.text
            if not area.sending and text != area.stored:
                await session.edits.save_unsent(area.slot, text)
                area.stored = text

    # Sending

    def send(self, slot: Slot, text: str, delivery: Delivery) -> None:
        """Send a text that was removed from a panel, and scroll the transcript to its end."""
        self._composer.choose(slot, USUAL)
        self._composer.show_next_present((slot, *delivery.then)[-1])
        self._page.query_one(TranscriptPanel).go("end")
        if not self._page.has_session:
            # Enter was pressed while the chapter was closing, after the panel's text was stored.
            self._composer.refused(slot, text, delivery)
            return
        command = self._session.submit_prompt(slot, text, heard_by=delivery.heard_by, then=delivery.then)
        self._submit(slot, text, delivery, command)

    def send_again(self, request: ReplyRequest) -> None:
        """Send a failed prompt again, with the edits made in its panel; one that is played has no text there.

        If the panel has no other text, it is sent as the panel says; else as before.
        """
        if is_played(request):
            self._page.do(self._session.retry(request.id))
            return
        slot, text, session = request.slot, request.text, self._session
        area = self._composer.area(slot)
        if text in area.sending:  # The key came twice.
            return
        delivery, chapter = area.delivery, session.snapshot.session
        if not self._composer.remove_text(slot, text) and not area.is_blank:
            area.action_submit()
            return
        area.sending.append(text)  # Even if the GM has deleted it from the panel.
        heard_by, then = delivery.heard_by, delivery.then
        as_before = request.audience, request.then
        if area.is_blank and (chapter.hearers_of(slot, heard_by, *then), then) != as_before:
            self._composer.choose(slot, USUAL)
            command = session.submit_prompt(slot, text, heard_by=heard_by, then=then, is_typed=False)
        else:
            delivery = delivery_of(chapter, request)
            command = session.retry(request.id)
        self._submit(slot, text, delivery, command)

    def _submit(self, slot: Slot, text: str, delivery: Delivery, command: Awaitable[object]) -> None:
        self._returned = {one: where for one, where in self._returned.items() if where is not slot}
        self.has_picked = False
        if self._composer.slot is slot and self._composer.area(slot).is_blank:
            self._composer.show_next_present((slot, *delivery.then)[-1])
        work = self._settle(self._session, slot, text, delivery, command)
        self._page.run_worker(work, group="send", exit_on_error=False)

    async def _settle(
        self, session: "SessionHandle", slot: Slot, text: str, delivery: Delivery, command: Awaitable[object]
    ) -> None:
        """Wait until the engine has accepted the text; put a refused text back into its panel."""
        composer = self._composer
        try:
            await command
        except Exception as error:  # a bug too: the text goes back into its panel
            composer.refused(slot, text, delivery)
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
            self.put_back(request)

    async def withdraw_all(self, requests: Sequence[ReplyRequest]) -> None:
        """Return queued prompts to their panels, the newest first: each is put before the next."""
        for request in reversed(requests):
            with suppress(IllegalCommandError):  # It has begun meanwhile.
                await self.withdraw(request)

    def put_back(self, request: ReplyRequest) -> None:
        """Return the text of a prompt that no longer waits to its panel."""
        if not is_played(request):
            delivery = delivery_of(self._session.snapshot.session, request)
            self._composer.put_back(request.slot, request.text, delivery)
            self._show_unless_writing(request.slot)

    def _show_unless_writing(self, slot: Slot) -> None:
        shown = self._composer.shown
        if shown is None or shown.is_blank:
            self._composer.show(slot)

    def fail(self, request: ReplyRequest) -> None:
        """Return the text of a failed prompt to its panel."""
        if not (self._session.is_read_only or is_played(request)):
            self._returned[request.id] = request.slot
            self.put_back(request)

    def restore(self, slot: Slot, text: str, audience: Audience, then: Sequence[Slot]) -> None:
        """Return the text of an undone prompt to its panel with who heard and answered it, and show that."""
        heard_by = choice_of(self._session.snapshot.session, slot, audience, then)
        self._composer.put_back(slot, text, Delivery(heard_by, tuple(then)))
        self._composer.show(slot)

    def remove_restored(self, slot: Slot, text: str) -> None:
        """Remove the text of a prompt that counts again from its panel, unless it was edited there."""
        self._composer.remove_text(slot, text)
        self._show_unless_writing(self._session.snapshot.session.next_slot)

    def move_text(self, source: Slot, target: Slot) -> None:
        """Move the text of a panel into another one, in front of its text."""
        area = self._composer.area(source)
        text, delivery = area.text, area.delivery
        area.clear()
        self._composer.choose(source, USUAL)
        then = tuple(slot for slot in delivery.then if slot is not target)
        self._composer.put_back(target, text, replace(delivery, then=then))
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
