"""Keeps what is typed about the narrative: stored within a second of the last key (design 10)."""

from textual import on

from core.domain.errors import StoryEngineError
from core.domain.state_machine import Command
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea


class DefiningPane(SessionTab):
    """A page with a `DefinitionCell`, whose text is stored by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._autosave = Autosave(self._save, self._say_unsaved, self._say_saved)

    def on_mount(self) -> None:
        """Watch what is typed."""
        self._autosave.start()

    async def on_unmount(self) -> None:
        """Watch no more."""
        await self._autosave.stop()

    @property
    def cell(self) -> DefinitionCell:
        """Where it is typed."""
        return self.query_one(DefinitionCell)

    def field_for_typing(self) -> CappedTextArea | None:
        """What is typed beside the fields says how the chapter is to be written."""
        return None if self.cell.area.read_only else self.cell.area

    async def flush(self) -> None:
        """Store what was typed and is not stored yet."""
        if self.session.can(Command.DEFINE_NARRATIVE) and self._is_unsaved:
            self._autosave.touch()
            await self._autosave.flush()

    async def focus_first_invalid(self) -> str:
        """Go to a target that is no number of words."""
        if not self.session.can(Command.DEFINE_NARRATIVE):
            return ""
        problem = self.cell.typed.problem
        if problem:
            self.cell.focus_target()
        return problem

    @property
    def _is_unsaved(self) -> bool:
        typed = self.cell.typed
        stored = self.session.snapshot.session
        return typed.text != stored.definition if typed.problem else typed.differs_from(stored)

    async def _save(self) -> None:
        if self.has_session and self._is_unsaved:
            typed = self.cell.typed
            target = self.session.snapshot.session.target_words if typed.problem else typed.target_words
            await self.session.define_narrative(typed.text, target)

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self.cell.say_saved("not stored")
        self.post_message(self.CommandFailed(error))

    def _say_saved(self) -> None:
        if self.cell.typed.problem:
            self.cell.say_saved("not stored")
            return
        self.cell.say_saved("stored")
        self.post_message(self.Stored(is_whole=True))

    @on(DefinitionCell.Edited)
    def _handle_edit(self, event: DefinitionCell.Edited) -> None:
        event.stop()
        if self.has_session and self.session.can(Command.DEFINE_NARRATIVE):
            self.cell.say_saved("storing …")
            self._autosave.touch()
