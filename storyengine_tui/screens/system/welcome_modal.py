"""The first screen of a newcomer: an example, an empty chapter, or a model to connect."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.domain.agent_role import AgentRole
from core.exchange.scripts.chapter_script import ChapterScriptError
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.model_labels import model_label_for
from storyengine_tui.screens.models.models_here_screen import FoundModel, ModelsHereScreen
from storyengine_tui.screens.models.permission.local_weights import local_models, shown_size
from storyengine_tui.screens.system.example_chapters import ExampleChapter, find_examples
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal

INTRO = (
    "You are the Game Master: you set up a world and a cast, then prompt one character at a time, and "
    "each answers in its own voice. At the end a narrator writes the chapter as prose."
)


@dataclass(frozen=True, slots=True)
class StartEmpty:
    """The GM starts with an empty world."""


@dataclass(frozen=True, slots=True)
class ConnectModel:
    """The GM connects a model first, perhaps one that was found on this machine."""

    found: FoundModel | None = None


@dataclass(frozen=True, slots=True)
class UseModel:
    """The GM put a better local model to use, and these settings hold from now on."""

    configuration: Configuration


Choice = ExampleChapter | StartEmpty | ConnectModel | UseModel
MODELS_HERE = "models-here"
"""Id of the option that leads to the models of this machine."""


class WelcomeModal(BoxModal[Choice]):
    """Ends with the GM's choice; Esc changes nothing."""

    HELP = "Choose with the arrow keys and Enter, or with the mouse. Later, F5 lists your chapters."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration
        self._choices: dict[str, Choice] = {"empty": StartEmpty(), "model": ConnectModel()}

    def compose(self) -> ComposeResult:
        """Compose the greeting and the choices."""
        player = model_label_for(self._configuration, AgentRole.CHARACTER)
        with Vertical(classes="dialog--box"):
            yield Static("Welcome to Story Engine", classes="dialog--title")
            yield Static(Content("\n" + INTRO), classes="dialog--text")
            yield Static(
                Content(f"\nNow the characters are played by {player.model} {player.where}."),
                classes="dialog--muted",
            )
            yield GuardedOptionList(id="choices", markup=False)
            yield Static("↑ ↓ and Enter choose · Esc closes · F1 helps", classes="dialog--muted")

    async def on_mount(self) -> None:
        """Offer the examples that can be read."""
        choices = self.query_one(OptionList)
        try:
            examples = await asyncio.to_thread(find_examples)
        except ChapterScriptError:
            examples = []
        for number, example in enumerate(examples):
            self._choices[f"example-{number}"] = example
            choices.add_option(
                Option(f"Open an example: {example.title} ({example.cast})", id=f"example-{number}")
            )
        choices.add_option(Option("Start an empty chapter", id="empty"))
        choices.add_option(Option("Connect a model", id="model"))
        choices.highlighted = 0
        choices.focus()
        if self._configuration.settings.active().provider == "local":
            self.run_worker(self._offer_models(), exit_on_error=False)

    async def _offer_models(self) -> None:
        """Add a line for better models than the bundled one, if there are any; nothing is fetched."""
        from core.providers.discovery import find_servers

        found = [server for server in await find_servers() if server.models]
        models = await local_models(self._configuration)
        better = [model for model in models[1:] if model.is_offered and not model.is_in_use]
        if found:
            count = len(found[0].models)
            text = f"Use a model of {found[0].kind} on this machine ({count} found)"
        elif better and models[0].is_in_use:
            best = better[-1].entry
            text = f"Use a better local model: {best.title} ({shown_size(best.megabytes)})"
        else:
            return
        if self.is_attached:
            self.query_one(OptionList).add_option(Option(text, id=MODELS_HERE))

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id == MODELS_HERE and self.is_active:  # Enter may come twice.
            self.app.push_screen(ModelsHereScreen(self._configuration), self._use)
        elif (choice := self._choices.get(event.option.id or "")) is not None:
            self.dismiss(choice)

    def _use(self, choice: Configuration | FoundModel | None) -> None:
        match choice:
            case Configuration():
                self.dismiss(UseModel(choice))
            case FoundModel():
                self.dismiss(ConnectModel(choice))
