"""The cell of tab 1 that lists the secrets of a chapter, once there are any (design 13)."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from storyengine_tui.screens.setup.secrets.secrets_view import rows_of
from storyengine_tui.screens.setup.setup_view import SetupView
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList


class SecretsCell(Vertical):
    """Lists the secrets; it is not shown while there are none."""

    HELP = (
        "A secret is known to some characters only. Enter opens one, n adds one, d deletes one. Once world "
        "and cast are locked they stay as they are; their reveals can be planned, and more can be added."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "add", "New secret"),
        Binding("d", "drop", "Delete"),
    ]

    @dataclass
    class Wanted(Message):
        """The GM wants to see or edit the secret with this number; behind the last one, to add one."""

        number: int

    @dataclass
    class DropWanted(Message):
        """The GM wants to delete the secret with this number."""

        number: int

    _list = getters.query_one(OptionList)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: SetupView | None = None
        self._count = 0
        self._has_new = False

    def compose(self) -> ComposeResult:
        """Compose the heading and the list."""
        yield Static("Secrets", classes="line label")
        yield GuardedOptionList(id="secret-list", markup=False, compact=True)

    def show(self, view: SetupView) -> None:
        """Show the secrets of a session; the cursor stays on its row, or goes to the one that was added."""
        before, self.view = self.view, view
        self.display = bool(view.secrets)
        if before is not None and before.secret_facts == view.secret_facts:
            return
        row = self._list.highlighted
        rows = rows_of(view.secrets, view.reveals, view.session)
        self._list.set_options(
            Content.assemble(text, "\n", (knowledge, "$cell-muted")) for text, knowledge in rows
        )
        if view.secrets:
            self._list.highlighted = min(row or 0, len(view.secrets) - 1)
        is_same = before is not None and before.session.id == view.session.id
        self._has_new = is_same and len(view.secrets) > self._count
        self._count = len(view.secrets)
        if self._has_new:
            self._list.highlighted = len(view.secrets) - 1
            # The editor of the secret is in front, and a list that was empty has no place yet.
            self.call_after_refresh(self.scroll_visible, animate=False)
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Bring an added secret into view, for which the cell has grown."""
        if self._has_new:
            self._has_new = False
            self.call_after_refresh(self.scroll_visible, animate=False)

    @property
    def _number(self) -> int:
        return (self._list.highlighted or 0) + 1

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Wanted(event.option_index + 1))

    def action_add(self) -> None:
        """Begin another secret."""
        if self.view is not None:
            self.post_message(self.Wanted(len(self.view.secrets) + 1))

    def action_drop(self) -> None:
        """Delete the secret under the cursor."""
        self.post_message(self.DropWanted(self._number))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        view = self.view
        match action:
            case "add":
                return view is not None and view.can_edit_secrets
            case "drop":
                return view is not None and view.can_edit_secrets and not view.is_locked
            case _:
                return True
