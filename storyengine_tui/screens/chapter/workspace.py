"""The engine, the one open session of this window, and the commands that change which session is open."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING

from core.config.files.paths import Paths
from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.ids import SessionId
from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.chapter.last_session import (
    LastPanel,
    last_file,
    read_last_session,
    write_last_session,
)
from storyengine_tui.screens.shared.kept_text import KeptText

if TYPE_CHECKING:
    from core.domain.story.save_point import SavePoint
    from core.engine.engine import Engine
    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.screens.system.example_chapters import ExampleChapter
    from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

log = logging.getLogger(__name__)

STARTING = "The database and the models are being started; nothing was changed. Try again in a moment."

NOT_SAVED = "Not saved yet: {}. What you typed is there when you open it again."


class Workspace:
    """Opens one session at a time; stores everything typed before it opens another."""

    def __init__(self, chapter: ChapterScreen, paths: Paths) -> None:
        self._chapter = chapter
        self.paths = paths
        self._mutex = asyncio.Lock()
        self.engine: Engine | None = None
        self.session: SessionHandle | None = None
        self.editors: list[Callable[[], Awaitable[None]]] = []
        """Each stores what is typed in one screen over the chapter; raises StoryEngineError."""
        self._is_closed = False
        self._question: ConfirmModal | None = None
        self._opening: set[asyncio.Task[None]] = set()
        """Tasks that open a session; `close` waits for them by the mutex."""

    def require_engine(self) -> "Engine":
        """Return the engine; raise IllegalCommandError while it starts, also with new settings."""
        if self.engine is None:
            raise IllegalCommandError(STARTING)
        return self.engine

    async def open_last(self) -> bool:
        """Open the session that was open last, else the one played last, else a new one.

        Return whether there was no session at all, as on the first start.
        """
        engine = self.require_engine()
        known = [summary.id for summary in await engine.sessions() if summary.is_readable]
        last = read_last_session(self.paths)
        wanted = last if last in known else next(iter(known), None)
        await self.open(wanted or await engine.create())
        return not known

    async def open(self, session_id: SessionId) -> None:
        """Store what is typed, close the open session and open another; nothing after `close_for_good`.

        Where that stops calls, the GM is asked first, and the worker is cancelled if they stay.
        """
        if self.session is not None and self.session.id != session_id:
            await self.ask_to_leave()
        await self._open_unasked(session_id)

    async def ask_to_leave(self) -> None:
        """Store what is typed, and ask before calls of the open chapter are stopped.

        To be called before a chapter is made that is to be opened. Raises CancelledError if the GM stays in
        this one, and StoryEngineError if something typed cannot be stored.
        """
        await self._chapter.flush_or_raise()
        if not await self.may_stop_calls("Leave this chapter?", "Leave"):
            raise asyncio.CancelledError

    async def may_stop_calls(self, question: str, confirm: str) -> bool:
        """Return whether the calls of the open chapter may be stopped, after asking; true without any."""
        if self.session is None:
            return True
        from storyengine_tui.screens.chapter.stopped_calls import stopped_by_leaving

        if not (stopped := stopped_by_leaving(self.session)):
            return True
        from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

        self._question = dialog = ConfirmModal(question, stopped, confirm=confirm, cancel="Stay")
        try:
            return await self._chapter.app.push_screen_wait(dialog)
        finally:
            self._question = None

    def withdraw_question(self) -> None:
        """Take back the question whether calls may be stopped: the program ends, and stops them."""
        if self._question is not None:
            self._question.dismiss(False)

    async def _open_unasked(self, session_id: SessionId) -> None:
        await self._to_the_end(self._open(session_id))

    async def _to_the_end(self, work: Coroutine[None, None, None]) -> None:
        """Do this to the end although the screen that asked for it is closed meanwhile.

        No session would be open then.
        """
        self._chapter.is_left_empty = False
        opening = asyncio.create_task(work)
        self._opening.add(opening)
        opening.add_done_callback(self._opened)
        await asyncio.shield(opening)

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        self._chapter.is_left_empty = self.session is None
        if not opening.cancelled() and (error := opening.exception()) is not None:
            log.warning("a chapter could not be opened or archived: %r", error)

    async def _open(self, session_id: SessionId) -> None:
        async with self._mutex:
            if self._is_closed or (self.session is not None and self.session.id == session_id):
                return
            await self._store_editors(insists=False)  # What cannot be stored stays on its screen.
            await self._chapter.flush_or_raise()
            await self._close()
            if self.engine is None:  # It restarts with new settings, and then this chapter opens.
                write_last_session(self.paths, session_id)
                return
            self._chapter.feedback.show_progress("Opening the chapter …")
            try:
                self.session = await self.engine.open(session_id)
            finally:
                self._chapter.feedback.end_progress()
            await self._chapter.attach(self.session)
            self._say_begun(self.session)
            self.remember()

    def _say_begun(self, session: "SessionHandle") -> None:
        """Say what the GM had begun in a dialog when the program was killed."""
        begun = KeptText.begun_since(session.id, self.paths.data, last_file(self.paths))
        if begun and not session.is_read_only:
            self._chapter.notify(NOT_SAVED.format(", ".join(begun)), markup=False)

    def remember(self) -> None:
        """Write down which session and which panel the next start opens."""
        if self.session is not None:
            panel = LastPanel.of(self.session.snapshot.session)
            write_last_session(self.paths, self.session.id, panel)

    async def close(self, *, insists: bool = False) -> None:
        """Store unsaved text, settle running requests, and release the writer's lock.

        With `insists`, raise StoryEngineError if typed text cannot be stored; else it is logged and lost.
        """
        async with self._mutex:
            await self._store_editors(insists=insists)
            if insists:
                await self._chapter.flush_or_raise()
            await self._close(insists=insists)

    async def _store_editors(self, *, insists: bool) -> None:
        for store in tuple(self.editors):
            try:
                await store()
            except StoryEngineError as error:
                if insists:
                    raise
                log.error("what is typed over the chapter could not be stored: %s", error)

    async def close_for_good(self, *, insists: bool = False) -> None:
        """Close as `close` does; then a start that is still running opens no session."""
        self._is_closed = True
        try:
            await self.close(insists=insists)
        except BaseException:  # a bug, or cancelled
            self._is_closed = not insists  # With `insists` the GM goes on in this chapter, or opens another.
            raise

    async def _close(self, *, insists: bool = True) -> None:
        if self.session is None:
            return
        await self._chapter.detach(insists=insists)
        self.remember()
        session, self.session = self.session, None
        await session.aclose()

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived chapter for good, with its data outside of the store."""
        await self.require_engine().purge(session_id)
        KeptText.forget_all_of(session_id, self.paths.data)

    async def open_new(self) -> None:
        """Continue with an empty chapter: the open one if it is empty, else a new one."""
        if await self._is_untouched():
            self._chapter.action_tab("setup")
        else:
            await self.ask_to_leave()
            await self._open_unasked(await self.require_engine().create())

    async def open_example(self, example: "ExampleChapter") -> None:
        """Set up an example in the open chapter if it is empty, else in a new one."""
        from core.engine.scripts.player import tab1_of

        await self.open_new()
        session = self.session
        if session is None:
            return
        script = example.script
        await session.edits.edit_tab1(tab1_of(script))
        if script.secrets:
            await session.scene.edit_secrets(script.secrets)
        await session.edits.define_narrative(script.definition, script.target_words)
        await self._chapter.show_again()

    async def archive(self, session_id: SessionId) -> None:
        """Archive a session; if it is the open one, open another.

        Raises SessionLockedError, and changes nothing, when another window writes in it.
        """
        session = self.session
        if session is None or session.id != session_id:
            await self.require_engine().archive(session_id)
            return
        await self.ask_to_leave()
        await self._store_editors(insists=True)
        await self._to_the_end(self._archive(session))

    async def _archive(self, session: "SessionHandle") -> None:
        async with self._mutex:
            if self.session is not session:  # A key came twice, or it was left while the GM was asked.
                await self.require_engine().archive(session.id)
                return
            # Archive before closing: a window that waits to take over would become its writer in between.
            await session.archive()
            await self._store_editors(insists=False)
            await self._close(insists=False)
        await self.open_last()

    async def keep_save_point(self, session_id: SessionId, name: str) -> "SavePoint":
        """Save a session under a name; of the open one, store first what was just typed."""
        if self.session is not None and self.session.id == session_id:
            await self._chapter.flush()
        return await self.require_engine().save_points.keep(session_id, name)

    async def restore_save_point(self, session_id: SessionId, point: "SavePoint") -> None:
        """Restore a save point into a new session, and open that.

        Raises ChangedElsewhereError where a newer one has replaced it since it was read.
        """
        await self.ask_to_leave()
        points = self.require_engine().save_points
        await self._open_unasked(await points.restore(session_id, point.number, seen=point))

    async def branch(self, at: int) -> None:
        """Open a new session with the open one's prompts 1 to `at`; raises StoryEngineError."""
        session = self.session
        if session is not None:
            await self.ask_to_leave()
            await self._open_unasked(await self.require_engine().branch(session.id, at))

    async def open_next(
        self, session_id: SessionId, *, again: bool = False, only_if_read: bool = False
    ) -> None:
        """Store the chapter after a session and open it, after `ask_to_leave`; raises StoryEngineError.

        Where the book goes on already that is BookGoesOnError, unless it is asked for `again`; with
        `only_if_read` UnreadPartsError where the bank of the session has not all of it yet.
        """
        books = self.require_engine().library.books
        await self._open_unasked(await books.next_chapter(session_id, again=again, only_if_read=only_if_read))

    async def retitle(self, session_id: SessionId, title: str) -> None:
        """Give a session another title."""
        if self.session is not None and self.session.id == session_id:
            await self.session.edits.retitle(title)
        else:
            await self.require_engine().retitle(session_id, title)

    async def _is_untouched(self) -> bool:
        from core.domain.session.state_machine import Command

        session = self.session
        if session is None or not session.can(Command.EDIT_TAB1):
            return False
        await self._chapter.flush()
        snapshot = session.snapshot
        return snapshot.tab1.is_blank and not any(one.has_identity for one in snapshot.cast.values())
