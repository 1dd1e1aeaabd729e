"""A command palette for keys that come faster than it is composed or removed (`Part.COMMAND_PALETTE`)."""

from contextlib import suppress

from textual import events, on, work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.command import Command, CommandInput, CommandList, CommandPalette, SearchIcon
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, LoadingIndicator, OptionList
from textual.worker import Worker, WorkerError

from storyengine_tui.textual_ext.parts import Part, is_enabled, tested_or
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptions


class GuardedCommands(GuardedOptions, CommandList):
    """The commands that were found."""


@tested_or(CommandPalette)
class GuardedCommandPalette(CommandPalette):
    """Runs one command: Textual accepts a second Enter as another choice.

    Textual raises where the list is not composed yet or is removed, and where a page is turned in a list that
    is not laid out. Enter right behind the words runs what these find: the list still has what was there
    before.
    """

    _has_chosen = False
    _kept: str | None = None
    """The command that keeps the cursor while the same words are searched again, also where it is gone."""

    @property
    def _has_list(self) -> bool:
        """Whether it is open and composed; always true where the part is off."""
        if not is_enabled(Part.COMMAND_PALETTE):
            return True
        return self in self.app.screen_stack and bool(self.query(CommandList))

    @property
    def _search(self) -> Worker[object] | None:
        """The search that still runs."""
        running = (
            one for one in self.workers if one.node is self and one.group == self._GATHER_COMMANDS_GROUP
        )
        return next((one for one in running if not one.is_finished), None)

    @work(group="submit", exclusive=True)
    async def _submit_once_found(self) -> None:
        while (search := self._search) is not None:
            with suppress(WorkerError):  # replaced by a search for more words
                await search.wait()
        if self._has_list:
            self._point_or_run()

    def _point_or_run(self) -> None:
        """Run the command with the cursor; Textual runs the only other one where there is no cursor."""
        if self._kept is not None and self.query_one(CommandList).highlighted is None:
            self._action_cursor_down()
        else:
            self._select_or_command()

    def search_again(self) -> None:
        """Search once more for the words that are there; the cursor stays on its command.

        Where that is gone there is no cursor, so that an Enter meant for it runs no other command.
        """
        if self._has_list and not self._has_chosen:
            cursor = self.query_one(CommandList).highlighted
            # While other words are searched the list is that of the words before, whose cursor means nothing.
            if cursor is not None and self._search is None:
                self._kept = self._title(cursor)
            self._cancel_gather_commands()
            self._stop_no_matches_countdown()
            self._gather_commands(self.query_one(CommandInput).value.strip())

    def _title(self, index: int) -> str:
        return str(self.query_one(CommandList).get_option_at_index(index).prompt)

    def _refresh_command_list(
        self, command_list: CommandList, commands: list[Command], clear_current: bool
    ) -> None:
        if not self._has_list:
            return
        if self._kept is not None and command_list.highlighted is not None:
            self._kept = self._title(command_list.highlighted)  # moved during the search
        super()._refresh_command_list(command_list, commands, clear_current)
        if self._kept is not None:
            titles = [self._title(index) for index in range(command_list.option_count)]
            command_list.highlighted = titles.index(self._kept) if self._kept in titles else None

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, and stop searching for commands."""
        self._cancel_gather_commands()
        self._stop_busy_countdown()
        self._stop_no_matches_countdown()
        return super().dismiss(result)

    def compose(self) -> ComposeResult:
        """Compose as Textual does, with a guarded list."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield CommandInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield GuardedCommands()
                yield LoadingIndicator()

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]  # as Textual's own
        # Textual looks up the widget at the position, and raises before the first layout.
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
        self._kept = None
        if not self._has_list:
            event.stop()
            event.prevent_default()

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    @on(Button.Pressed)
    def _choose_once(self, event: OptionList.OptionSelected | Input.Submitted | Button.Pressed) -> None:
        is_enter = isinstance(event, Input.Submitted)
        if (self._has_chosen or is_enter) and is_enabled(Part.COMMAND_PALETTE):
            event.stop()
            event.prevent_default()
            if is_enter and not self._has_chosen:
                self._point_or_run() if self._search is None else self._submit_once_found()
        self._has_chosen = self._has_chosen or isinstance(event, OptionList.OptionSelected)
