"""What the command palette offers: every command by its name, when it is possible."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.await_complete import AwaitComplete
from textual.command import CommandInput, CommandList, CommandPalette, SearchIcon
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, LoadingIndicator, OptionList

from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.option_pages import EarlyKeys

if TYPE_CHECKING:
    from storyengine_tui.shell.overlay_app import OverlayApp

DEEDS: Final = (
    ("setup", "retry", "Retry the lock", "Try again to lock world and cast"),
    ("setup", "reset", "Reset Chapter", "Archive this chapter and begin it anew, after a question"),
    ("play", "cancel", "Stop", "Stop the call that runs; the text is in its panel again"),
    ("play", "retry", "Retry", "Send again what failed"),
    ("play", "take_back", "Take back", "Have the prompt that was queued last back in its panel"),
    (
        "play",
        "end_chapter",
        "End Chapter",
        "Summarise what is left and go on to tab 3, after a question",
    ),
    ("narrative", "build", "Build Narrative", "Have the chapter written"),
    ("narrative", "correct", "Correct memory", "Say what is true instead of what is remembered"),
    ("narrative", "cancel", "Stop writing", "Stop the chapter that is being written; earlier versions stay"),
    ("narrative", "retry", "Retry the narrative", "Try again to have the chapter written"),
    ("narrative", "download", "Download Chapter", "Write the version that shows into a text file"),
)
"""What is done on a tab: the tab, the action, how it is called, and what it does."""


class Commands(EarlyKeys, CommandList):
    """The commands that were found."""


class StoryPalette(CommandPalette, OverlayScreen[None]):
    """Textual's command palette, for keys that come faster than it is composed, laid out or removed.

    It runs one command: Textual's takes a second Enter for another choice. Textual's also raises where its
    list is not there yet or any more, and where a page is turned in a list that is not laid out.
    """

    _has_chosen = False

    @property
    def _has_list(self) -> bool:
        """Whether it is open and composed."""
        return self in self.app.screen_stack and bool(self.query(CommandList))

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, and look for no more commands."""
        self._cancel_gather_commands()
        self._stop_busy_countdown()
        self._stop_no_matches_countdown()
        return super().dismiss(result)

    def compose(self) -> ComposeResult:
        """Compose as Textual does, with a list of our own."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield CommandInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield Commands()
                yield LoadingIndicator()

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]  # as Textual's own
        # Textual asks what lies there, and raises where nothing does: before the first layout.
        event.prevent_default()
        if event.widget is self:
            self._action_escape()

    def _action_command_list(self, action: str) -> None:
        if self._has_list:
            super()._action_command_list(action)

    def _action_cursor_down(self) -> None:
        if self._has_list:
            super()._action_cursor_down()

    async def _watch__show_busy(self) -> None:
        if self._has_list:
            await super()._watch__show_busy()

    @on(Input.Changed)
    def _search_while_open(self, event: Input.Changed) -> None:
        if not self._has_list:
            event.stop()
            event.prevent_default()

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    @on(Button.Pressed)
    def _choose_once(self, event: OptionList.OptionSelected | Input.Submitted | Button.Pressed) -> None:
        if self._has_chosen:
            event.stop()
            event.prevent_default()
        self._has_chosen = self._has_chosen or isinstance(event, OptionList.OptionSelected)


def commands_of(app: "OverlayApp", leave: Callable[[], object]) -> Iterator[SystemCommand]:
    """Yield the commands that are possible now."""
    if app.engine is not None:
        yield SystemCommand(
            "Chapters", "Open, start, rename, archive or restore a chapter", app.action_chapters
        )
        yield SystemCommand("New chapter", "Start with an empty world", app.action_new_chapter)
        yield SystemCommand(
            "Example", "Open an example chapter, or start with an empty one", app.action_welcome
        )
        yield SystemCommand("Model", "Who answers, and how to connect another model", app.action_model)
    if app.session is not None:
        for tab, name, text in (
            ("setup", "World", "Tab 1: world, chapter and cast"),
            ("play", "Play", "Tab 2: prompt the characters"),
            ("narrative", "Chapter", "Tab 3: memory, and the written chapter"),
        ):
            yield SystemCommand(name, text, lambda tab=tab: app.chapter.action_tab(tab))
        for tab, action, name, text in DEEDS:
            if app.chapter.may_do(tab, action):
                yield SystemCommand(name, text, partial(app.chapter.do_there, tab, action))
        if not app.session.is_read_only:
            # Not by a name that would stand first: Enter alone is no wish to lose sight of a chapter.
            yield SystemCommand(
                "Set aside (Archive)", "Take this chapter off the list; nothing is lost", app.action_archive
            )
        yield SystemCommand(
            "Calls", "Everything that was sent to a model, and what came back", app.action_provenance
        )
    yield SystemCommand("Help", "The keys that work here", app.action_help)
    yield SystemCommand("Quit", "Everything is stored", leave)
