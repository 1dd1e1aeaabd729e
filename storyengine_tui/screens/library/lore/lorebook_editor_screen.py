"""Base class of the screens over a lorebook: a line that says whether all is stored, and a banner."""

from abc import abstractmethod
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from core.domain.errors import ChangedElsewhereError, StoryEngineError
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.lore.lorebook_editor import LorebookEditor
from storyengine_tui.widgets.banner import DISMISS, Banner, BannerAction
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine

MEETING: Final = (BannerAction("store_over", "Save mine too"), BannerAction("take_stored", "Take that one"))
MEETING_HINT: Final = "Your text is still here; save it into the other one, entry by entry, or drop it."


class LorebookEditorScreen(OverlayScreen[None]):
    """A screen over an open lorebook; the one in front is told what became of a save."""

    CSS_PATH = "lore.tcss"
    READS_ONLY: ClassVar = "This book is in a format that is read and not written."

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.editor: LorebookEditor | None = None
        """The book, once it is read."""

    @abstractmethod
    def show_again(self) -> None:
        """Show the book as it is now; it was read again, or its screen is in front again."""

    def compose_foot(self) -> ComposeResult:
        """Compose the banner and the row of keys."""
        yield Banner(id="trouble")
        yield KeyLine(offers_palette=False)

    def on_screen_resume(self) -> None:
        """Be the one that is told; the base, which Textual calls as well, closes what was to be closed."""
        if self.editor is not None and self.is_active:
            self.editor.show_error, self.editor.show_saved = self.say_unsaved, self.say_saved
            self.say_state(self.editor.state)
            self.show_again()

    def say_unsaved(self, error: StoryEngineError) -> None:
        """Say why something is not stored, and what can be done."""
        self.say_state("not stored")
        is_meeting = isinstance(error, ChangedElsewhereError)
        hint = MEETING_HINT if is_meeting else error.hint
        actions = MEETING if is_meeting else (DISMISS,)
        if self.is_attached:
            self.query_one("#trouble", Banner).show(error.message, hint=hint, actions=actions)

    def say_saved(self) -> None:
        """Say that all is stored."""
        self.say_state("stored")

    def say_state(self, state: str) -> None:
        """Say at the right of the heading whether all is stored."""
        if self.editor is not None:
            self.editor.state = state
        if self.is_attached:
            self.query_one("#saved", Static).update(Content(state), layout=False)

    @on(Banner.ActionChosen)
    def _handle_banner(self, event: Banner.ActionChosen) -> None:
        event.stop()
        event.sender.hide()
        if event.action != "dismiss":
            is_over = event.action == "store_over"
            self.run_worker(self._meet(is_over=is_over), group="meet", exclusive=True, exit_on_error=False)

    async def _meet(self, *, is_over: bool) -> None:
        editor = self.editor
        if editor is None:
            return
        try:
            if is_over:
                editor.collect()
                await editor.store_over()
            else:
                await editor.take_stored()
        except StoryEngineError as error:
            self.say_unsaved(error)
        else:
            self.say_saved()
            self.after_meeting()

    def after_meeting(self) -> None:
        """Go on with the book as it is stored now."""
        self.show_again()
