"""Settings of the models: provider, address, key and models, tried out and connected (design 8)."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import ClassVar, get_args

from pydantic import SecretStr
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Select, Static

from core.config.consent import InvalidAddressError
from core.config.models.accounts import OWN
from core.config.models.api_keys import store_api_key
from core.config.models.cast_models import CastModels, look_up, with_lacking
from core.config.sections import LONGEST_MODEL_NAME, ProviderName
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.engine.kinds.test_call import tested
from core.engine.session.session_handle import SessionHandle
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.accounts.typed_account import account_of_server
from storyengine_tui.screens.models.connection import (
    Connection,
    connect,
    connection_with,
    find_key,
    run_test_call,
)
from storyengine_tui.screens.models.model_fields import ModelFields
from storyengine_tui.screens.models.model_labels import said_of_consent, said_without_service
from storyengine_tui.screens.models.models_here_screen import FoundModel, ModelsHereScreen
from storyengine_tui.screens.models.permission.call_permission import ask, have_weights
from storyengine_tui.screens.models.permission.local_weights import are_missing
from storyengine_tui.screens.models.trying_screen import NOTHING_SENT, TryingScreen, key_field
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.one_line import FormField, labelled
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.text_line import show_line

PROVIDERS: tuple[tuple[str, ProviderName], ...] = (
    ("A model that this program runs itself (F4 has more)", "local"),
    ("An OpenAI-compatible service (OpenAI, Ollama, vLLM, …)", "openai"),
)
SCRIPTED: tuple[str, ProviderName] = ("A script, not a model", "scripted")
NO_WEIGHTS = "Nothing was changed: the small local model's weights are not here."
NOT_HERE = " Its weights are not here yet; Test (F8) offers to fetch them."


class ModelScreen(TryingScreen[Configuration | None]):
    """Ends with the configuration that holds from now on, or None when nothing was changed."""

    CSS_PATH = "model_screen.tcss"
    HELP = (
        "Test makes one tiny call with these settings; F7 lists it, and it is no part of the story. "
        "Connect writes them to config.toml, the key to the system's keyring, and uses that model from then "
        "on."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "test", "Test"),
        Binding("f9", "connect", "Connect"),
        Binding("ctrl+n", "accounts", "Accounts"),
        Binding("f4", "find", "Find models"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(
        self,
        configuration: Configuration,
        names: Mapping[Slot, str],
        session: SessionHandle | None = None,
        found: FoundModel | None = None,
    ) -> None:
        """Make the page. `names` are the open chapter's, `session` records tests, `found` is filled in."""
        super().__init__()
        self._configuration = configuration
        self._session = session
        self._names = names
        self._profiles = session.snapshot.tab1.profiles if session is not None else {}
        self._lacking: Mapping[str, str] = {}
        """Problems of accounts whose models characters of the chapter bring from the library."""
        self._now = configuration.settings.active().provider
        self._entered = {name: connection_with(name, configuration) for name in get_args(ProviderName)}
        """Current or last values of the fields for each provider."""
        self._found = found

    def compose(self) -> ComposeResult:
        """Compose the fields; those of a service show only for one."""
        options = [*PROVIDERS, *([SCRIPTED] if self._now == "scripted" else [])]
        yield Static("Who answers", id="heading", markup=False)
        with VerticalScroll(id="form", can_focus=False):
            provider = GuardedSelect(options, value=self._now, allow_blank=False, compact=True, id="provider")
            yield labelled("Provider", provider)
            address = self._entered["openai"].base_url
            field = FormField(address, compact=True, id="address", select_on_focus=False)
            yield labelled("Address", field, "service")
            yield self._note("consent", "service")
            yield self._note("key-source", "service")
            yield labelled("New key", key_field(), "service")
            yield Static("", id="models", markup=False)
            yield ModelFields(self._entered[self._now], self._names, id="fields")
            meaning = FormField(
                self._entered[self._now].embedding,
                compact=True,
                id="embedding",
                placeholder="empty: the bundled model; or off, or ACCOUNT:MODEL",
                max_length=LONGEST_MODEL_NAME,
            )
            yield labelled("Meaning", meaning, id="meaning")
            yield Static("", id="model-note", markup=False, classes="note")
        yield BusyLine(id="trying")
        yield Banner(id="result")
        with Horizontal(id="actions"):
            yield Button("Test (F8)", id="test", action="screen.test", compact=True)
            yield Button("Connect (F9)", id="connect", action="screen.connect", compact=True)
            yield Button("Accounts", id="accounts", action="screen.accounts", compact=True)
            yield Button("Find models (F4)", id="find", action="screen.find", compact=True)
        yield KeyLine()

    def _note(self, name: str, *classes: str) -> Horizontal:
        note = Static("", id=name, markup=False, classes="note")
        return Horizontal(Static("", classes="label"), note, classes=" ".join(("note-line", *classes)))

    def on_mount(self) -> None:
        """Show what holds now."""
        self.query_one("#provider", Select).focus()
        if self._found is not None:
            self._use_found(self._found)
        self._show_fields()

    @property
    def _typed(self) -> Connection:
        """The values of the fields; raises StoryEngineError when the address is invalid."""
        fields = self.query_one(ModelFields)
        key = self.query_one("#key", Input).value.strip()
        return Connection(
            provider=self._now,
            base_url=self.query_one("#address", Input).value,
            models=fields.models,
            characters=fields.characters,
            lengths=fields.lengths,
            temperatures=fields.temperatures,
            embedding=clean_line(self.query_one("#embedding", Input).value),
            key=SecretStr(key) if key and self._now == "openai" else None,
        )

    def _show_fields(self) -> None:
        typed = self._typed
        is_service = typed.provider == "openai"
        for widget in self.query(".service"):
            widget.display = is_service
        fields = self.query_one(ModelFields)
        fields.display = typed.provider != "scripted"
        fields.show_accounts(sorted(self._configuration.settings.accounts))
        models = self.query_one("#models", Static)
        models.display = not is_service
        if not is_service:
            models.update(Content(said_without_service(typed, self._configuration)))
        self._show_defaults()
        self._show_consent(typed)
        if any(profile.model for profile in self._profiles.values()):
            self._look_at_cast()
        (self._show_key if is_service else self._show_weights)(typed)
        self.refresh_bindings()

    @on(ModelFields.Edited)
    def _show_defaults(self) -> None:
        """Say in the empty fields what is sent, and beside them what a model's name does not say."""
        typed, configuration = self._typed, self._configuration
        unnumbered = replace(typed, lengths={}, temperatures={})
        note = ""
        try:
            note = typed.note_on_models(configuration)
            named = typed.without_numbers_of_characters().choices(configuration)
            cast = CastModels(with_lacking(named, self._lacking), self._profiles)
            note = "\n".join(filter(None, (note, *cast.not_played(self._names))))
            self.query_one(ModelFields).show_defaults(
                replace(unnumbered, models={}, characters={}).choices(configuration),
                unnumbered.choices(configuration),
                cast.choices,
                cast.played,
            )
        except InvalidAddressError:
            pass  # A message beside the address says so.
        except StoryEngineError as error:
            note = error.message
        show_line(self, "#model-note", note)

    def _show_consent(self, typed: Connection) -> None:
        self.query_one("#consent", Static).update(Content(said_of_consent(typed, self._configuration)))

    @work(group="key", exclusive=True, exit_on_error=False)
    async def _show_key(self, typed: Connection) -> None:
        """Say where the key comes from, and nothing else of it."""
        try:
            found = await find_key(typed.account(self._configuration))
        except StoryEngineError:
            return  # The address is invalid; a message beside it says so.
        text = f"Key: from the {found.source}; it is never shown." if found else "Key: none found."
        if found is not None and found.source != "keyring":
            text += " It is used in place of one in the keyring."
        self.query_one("#key-source", Static).update(Content(text))

    @work(group="cast", exclusive=True, exit_on_error=False)
    async def _look_at_cast(self) -> None:
        """Say whose model of the library cannot be called."""
        configuration = self._configuration
        choices, consent = configuration.choices, configuration.consent
        self._lacking = await asyncio.to_thread(look_up, choices, self._profiles, consent)
        self._show_defaults()

    @work(group="key", exclusive=True, exit_on_error=False)
    async def _show_weights(self, typed: Connection) -> None:
        if await are_missing(typed.profile(self._configuration), self._configuration.paths):
            text = said_without_service(typed, self._configuration) + NOT_HERE
            self.query_one("#models", Static).update(Content(text))

    @on(Select.Changed, "#provider")
    def _handle_provider(self, event: Select.Changed) -> None:
        event.stop()
        chosen = next((name for name in get_args(ProviderName) if name == event.value), self._now)
        if chosen != self._now:
            self._entered[self._now] = self._typed
            self._now = chosen
            self.query_one(ModelFields).load(self._entered[chosen])
        self._show_fields()

    @on(Input.Changed, "#address")
    def _handle_address(self, event: Input.Changed) -> None:
        event.stop()
        self._show_consent(self._typed)

    def action_find(self) -> None:
        """Show the models on this machine, and those that it could run."""
        if not self._is_busy:
            self.app.push_screen(ModelsHereScreen(self._configuration), self._go_on_with_model)

    def _go_on_with_model(self, choice: Configuration | FoundModel | None) -> None:
        if isinstance(choice, FoundModel):
            self._use_found(choice)
        elif choice is not None:
            self.dismiss(choice)

    def _use_found(self, found: FoundModel) -> None:
        """Fill the page in with a found model, and make an account of its server."""
        self._fill_in(found)
        self.run_worker(self._add_account(found), group="account", exit_on_error=False)

    async def _add_account(self, found: FoundModel) -> None:
        account = account_of_server(found.kind, found.address, found.model, self._configuration)
        if account is None:
            return
        try:
            async with self._writing:
                self._go_on_with_accounts(await asyncio.to_thread(account.save, self._configuration))
        except StoryEngineError as error:
            self.say(error.message, hint=error.hint, tone=Tone.WARNING)
        else:
            self.say(
                f"{account.name} is an account now; any agent can have {account.name}:MODEL as its model."
            )

    def _fill_in(self, found: FoundModel) -> None:
        """Put the address of a server in, and its model for every agent."""
        models = dict.fromkeys(AgentRole, found.model) if found.model else {}
        service = replace(self._entered["openai"], base_url=found.address, models=models, characters={})
        self._entered["openai"] = service
        self.query_one("#address", Input).value = found.address
        if self._now == "openai":
            self.query_one(ModelFields).load(service)
        self.query_one("#provider", Select).value = "openai"

    # Trying and connecting

    def action_test(self) -> None:
        """Make one tiny call with the values of the fields."""
        self.do(self._test())

    def action_connect(self) -> None:
        """Write what is entered here to the settings, and go on with it."""
        self.do(self._connect())

    def action_accounts(self) -> None:
        """Show the accounts, to add one or to change it."""
        from storyengine_tui.screens.models.accounts.accounts_screen import AccountsScreen

        self.app.push_screen(AccountsScreen(self._configuration, self._session), self._go_on_with_accounts)

    def _go_on_with_accounts(self, configuration: Configuration | None) -> None:
        if configuration is not None:
            self._configuration = self._saved = configuration
            self._show_fields()

    async def _test(self) -> None:
        self.query_one(ModelFields).check()
        typed = self._typed
        if not await self._may_call(typed, (tested(typed.choices(self._configuration)).account,)):
            return
        self.begin_waiting("Waiting for an answer")
        accounts, choices = typed.accounts(self._configuration), typed.choices(self._configuration)
        self.say_test_call(await run_test_call(accounts, choices, self._configuration, self._session))

    async def _connect(self) -> None:
        self.query_one(ModelFields).check()
        typed = self._typed
        embedding = typed.embedding_service(self._configuration)
        names = set(typed.choices(self._configuration).account_names)
        if not await self._may_call(typed, names | ({embedding.account.name} if embedding else set())):
            return
        self.begin_waiting("Connecting")
        if typed.key is not None:
            await asyncio.to_thread(store_api_key, typed.account(self._configuration), typed.key)
            self.query_one("#key", Input).value = ""
        async with self._writing:
            configuration, note = await asyncio.to_thread(connect, typed, self._configuration)
            self._saved = configuration
        if note:
            await self._read(note)
        self.dismiss(configuration)

    async def _may_call(self, typed: Connection, names: Collection[str]) -> bool:
        """Return whether these accounts can be called; ask for each address, and for weights to fetch."""
        accounts, choices = typed.accounts(self._configuration), typed.choices(self._configuration)
        for account in map(accounts.of, names):
            if account.provider == "local":
                if not await self._have_weights(typed):
                    self.say(NO_WEIGHTS)
                    return False
            elif account.provider == "openai" and not self._configuration.consent.is_granted(
                account.base_url
            ):
                key = typed.key if account.name == OWN else None
                embedding = typed.embedding_service(self._configuration)
                is_its = embedding is not None and embedding.account.name == account.name
                also = f"{embedding.model} (meaning of memories)" if embedding and is_its else ""
                if not await ask(self.app, self._configuration, choices, account, key, also):
                    self.say(NOTHING_SENT)
                    return False
                self._show_consent(typed)
        return True

    async def _have_weights(self, typed: Connection) -> bool:
        profile = typed.profile(self._configuration).model_copy(update={"provider": "local"})
        found = await have_weights(self.app, profile, self._configuration.paths)
        self._show_fields()
        return found

    async def _read(self, note: str) -> None:
        """Say this and wait until it is read."""
        self.end_waiting()
        self._noted = asyncio.Event()
        self.say(note, tone=Tone.WARNING, actions=(BannerAction("go-on", "Go on"),))
        self.query_one("#result Button", Button).focus()
        await self._noted.wait()

    _noted: asyncio.Event | None = None

    @on(Banner.ActionChosen, "#result")
    def _go_on(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if self._noted is not None:
            self._noted.set()
