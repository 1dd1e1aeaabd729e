"""Asks for the password, if one is set, before the engine is started."""

import asyncio
from typing import ClassVar

from pydantic import SecretStr
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from core.config.password import PasswordGate, PasswordRefusedError
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.fields.one_line import EntryField


class PasswordScreen(OverlayScreen[None]):
    """Closes when the correct password was entered; no key closes it otherwise."""

    CSS_PATH = "password_screen.tcss"
    AUTO_FOCUS = "#password"
    HELP = "Enter tries what you typed. After a wrong password the next one is taken only a while later."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "try", "Try", priority=True)]

    def __init__(self, gate: PasswordGate, typed: str = "") -> None:
        """Make the page; `typed` is what was typed before it could show."""
        super().__init__()
        self._gate = gate
        self._typed = SecretStr(typed.partition("\n")[0])

    def compose(self) -> ComposeResult:
        """Compose the field, and below it why the last try was refused."""
        with Vertical(id="gate"):
            yield Static("Story Engine is locked.", id="title")
            typed = self._typed.get_secret_value()
            yield EntryField(
                typed, password=True, placeholder="Password", id="password", select_on_focus=False
            )
            yield Static("Enter tries it, Ctrl+Q leaves.", id="said", markup=False)

    def action_try(self) -> None:
        """Try the typed password."""
        self.run_worker(self._try(), group="password", exclusive=False, exit_on_error=False)

    async def _try(self) -> None:
        field = self.query_one("#password", Input)
        if not field.value or field.disabled:
            return
        given, field.value, field.disabled = SecretStr(field.value), "", True
        is_right = False
        try:
            # In a thread: the hash deliberately takes a tenth of a second.
            await asyncio.to_thread(self._gate.check, given)
            is_right = True
        except PasswordRefusedError as refused:
            self._say(f"{refused.message} {refused.hint}".strip())
        except OSError as error:
            self._say(f"The try could not be counted, so it was not taken: {error.strerror}.")
        finally:  # whatever went wrong: the next try must be possible
            if not is_right:
                field.disabled = False
                field.focus()
        if is_right:
            self.dismiss()

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(text)
