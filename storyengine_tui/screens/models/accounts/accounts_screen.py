"""The accounts beside the profile's own: shown, added, changed and tried out (design 18)."""

import asyncio
from typing import ClassVar

from pydantic import SecretStr
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Select, Static

from core.engine.session.session_handle import SessionHandle
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.accounts.typed_account import TypedAccount, account_as_typed, said_of_key
from storyengine_tui.screens.models.connection import run_test_call
from storyengine_tui.screens.models.permission.call_permission import ask
from storyengine_tui.screens.models.trying_screen import NOTHING_SENT, TryingScreen, key_field
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.one_line import FormField, labelled
from storyengine_tui.widgets.key_line import KeyLine

NEW = ""
FIELDS = {
    "name": ("Name", "a plain word, such as openrouter"),
    "base_url": ("Address", "https://host/v1"),
    "model": ("Default model", "what NAME: alone means"),
    "token_limit": ("Token limit", "what its models hold; unknown"),
    "concurrency": ("Calls at once", "any number"),
    "requests_per_minute": ("Calls a minute", "any number, besides the limits of the agents"),
}


class AccountsScreen(TryingScreen[Configuration | None]):
    """Ends with the configuration that holds from now on, or None when nothing was saved."""

    CSS_PATH = "../model_screen.tcss"
    HELP = (
        "An account is one more service. Write NAME:MODEL as the model of an agent or a character, and it "
        "answers there. Save writes the account to config.toml and its key to the system's keyring."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "test", "Test"),
        Binding("f9", "save", "Save"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, configuration: Configuration, session: SessionHandle | None = None) -> None:
        """Make the page; `session` records tests."""
        super().__init__()
        self._configuration = configuration
        self._session = session

    def compose(self) -> ComposeResult:
        """Compose the list over the fields of one account."""
        yield Static("Accounts", id="heading", markup=False)
        with VerticalScroll(id="form", can_focus=False):
            yield Static("", id="list", markup=False)
            choice = GuardedSelect(self._options, value=NEW, allow_blank=False, compact=True, id="account")
            yield labelled("Account", choice, id="choice")
            for name, (label, hint) in FIELDS.items():
                field = FormField(compact=True, id=name, placeholder=hint, select_on_focus=False)
                yield labelled(label, field)
            yield labelled("New key", key_field())
            answers = [("yes", True), ("no", False)]
            switch = GuardedSelect(answers, value=True, allow_blank=False, compact=True, id="enabled")
            yield labelled("Switched on", switch)
        yield BusyLine(id="trying")
        yield Banner(id="result")
        with Horizontal(id="actions"):
            yield Button("Test (F8)", id="test", action="screen.test", compact=True)
            yield Button("Save (F9)", id="save", action="screen.save", compact=True)
        yield KeyLine()

    @property
    def _options(self) -> list[tuple[str, str]]:
        return [("A new one", NEW), *((name, name) for name in sorted(self._configuration.settings.accounts))]

    def on_mount(self) -> None:
        """Show the accounts that there are."""
        self.query_one("#account", Select).focus()
        self._show_list()

    def _show_list(self) -> None:
        self.run_worker(self._list(), group="list", exclusive=True, exit_on_error=False)

    async def _list(self) -> None:
        lines = [
            f"{name}  {settings.base_url}  {await said_of_key(name, settings)}"
            + ("" if settings.enabled else "  switched off")
            for name, settings in sorted(self._configuration.settings.accounts.items())
        ]
        text = "\n".join(lines) or "There is no account yet besides the service of “Who answers”."
        self.query_one("#list", Static).update(Content(text + "\n"))

    @on(Select.Changed, "#account")
    def _show(self, event: Select.Changed) -> None:
        event.stop()
        name = str(event.value)
        settings = self._configuration.settings.accounts.get(name)
        shown = TypedAccount(name="", base_url="") if settings is None else account_as_typed(name, settings)
        for field in FIELDS:
            self.query_one(f"#{field}", Input).value = getattr(shown, field)
        self.query_one("#name", Input).disabled = settings is not None
        self.query_one("#key", Input).value = ""
        self.query_one("#enabled", Select).value = shown.is_enabled

    @property
    def _typed(self) -> TypedAccount:
        texts = {field: self.query_one(f"#{field}", Input).value.strip() for field in FIELDS}
        key = self.query_one("#key", Input).value.strip()
        return TypedAccount(
            **texts,
            is_enabled=self.query_one("#enabled", Select).value is True,
            key=SecretStr(key) if key else None,
            is_new=self.query_one("#account", Select).value == NEW,
        )

    def action_test(self) -> None:
        """Make one tiny call to the default model."""
        self.do(self._test())

    def action_save(self) -> None:
        """Write the account to the settings."""
        self.do(self._save())

    async def _test(self) -> None:
        typed = self._typed
        accounts, choices = typed.for_test(self._configuration)
        account = accounts.of(typed.name)
        if not self._configuration.consent.is_granted(account.base_url) and not await ask(
            self.app, self._configuration, choices, account, typed.key
        ):
            self.say(NOTHING_SENT)
            return
        self.begin_waiting("Waiting for an answer")
        self.say_test_call(await run_test_call(accounts, choices, self._configuration, self._session))

    async def _save(self) -> None:
        typed = self._typed
        async with self._writing:
            self._configuration = await asyncio.to_thread(typed.save, self._configuration)
            self._saved = self._configuration
        choice = self.query_one("#account", Select)
        choice.set_options(self._options)
        choice.value = typed.name
        self.query_one("#key", Input).value = ""
        self._show_list()
        self.say(f"Saved. Write {typed.name}:MODEL as the model of an agent or a character.")
