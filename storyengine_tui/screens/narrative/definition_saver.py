"""Keeps what is typed about the narrative: stored within a second of the last key (design 10)."""

from core.domain.errors import StoryEngineError
from core.domain.state_machine import Command
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.session_tab import SessionTab


class DefinitionSaver:
    """Stores what stands in the `DefinitionCell` of a page."""

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self.autosave = Autosave(self._save, self._say_unsaved, self._say_saved)

    @property
    def _cell(self) -> DefinitionCell:
        return self._page.query_one(DefinitionCell)

    @property
    def _may_save(self) -> bool:
        return self._page.has_session and self._page.session.can(Command.DEFINE_NARRATIVE)

    def touch(self) -> None:
        """Something was typed: it is stored soon."""
        if self._may_save:
            self._cell.say_saved("storing …")
            self.autosave.touch()

    async def flush(self) -> None:
        """Store what was typed and is not stored yet; raises StoryEngineError."""
        if self._may_save and self._is_unsaved:
            self.autosave.touch()
            await self.autosave.flush()

    def focus_invalid(self) -> str:
        """Go to a target that is no number of words, and return what is wrong with it."""
        problem = self._cell.typed.problem if self._may_save else ""
        if problem:
            self._cell.focus_target()
        return problem

    @property
    def _is_unsaved(self) -> bool:
        typed, stored = self._cell.typed, self._page.session.snapshot.session
        return typed.text != stored.definition if typed.problem else typed.differs_from(stored)

    async def _save(self) -> None:
        if self._page.has_session and self._is_unsaved:
            typed, session = self._cell.typed, self._page.session
            target = session.snapshot.session.target_words if typed.problem else typed.target_words
            await session.define_narrative(typed.text, target)

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self._cell.say_saved("not stored")
        self._page.say_unsaved(error)

    def _say_saved(self) -> None:
        if self._cell.typed.problem:
            self._cell.say_saved("not stored")
            return
        self._cell.say_saved("stored")
        self._page.say_saved(is_complete=True)
