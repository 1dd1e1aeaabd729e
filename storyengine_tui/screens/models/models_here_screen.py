"""The models of this machine: servers that run on it, and models that can be fetched (design 8)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.domain.errors import StoryEngineError
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
from storyengine_tui.screens.models.permission.local_weights import LocalModel, local_models, shown_size, use
from storyengine_tui.screens.models.trying_screen import SavingScreen
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.banner import Banner, Tone
from storyengine_tui.widgets.dialogs.confirm_modal import ask_first
from storyengine_tui.widgets.key_line import KeyLine

if TYPE_CHECKING:
    from core.providers.discovery import FoundServer

HEADING = "Models of this machine: no text leaves it"
FOUND = "Found on this machine"
NONE_FOUND = "No server answers here (Ollama, LM Studio, llama.cpp, vLLM, …)."
FETCHED = "Models to fetch, which then answer here without a server and without a key"
NO_MODEL = "no model is loaded"
WANTS_KEY = "wants a key"
TOO_LARGE = "{title} needs {memory} of memory, which this machine does not have; nothing was changed."
NO_ROOM = "The disk has no room for {title}, which is {size}; nothing was changed."
LEAST_NAME = 28
"""Cells that the name of a model has at least."""
_FACTS = 44


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model of a server that runs on this machine; without a model, the server alone."""

    address: str
    model: str = ""
    kind: str = field(default="", compare=False)
    """The likely kind of the server, such as Ollama."""


class ModelsHereScreen(SavingScreen[Configuration | FoundModel | None]):
    """Ends with a found model to connect, or with the settings after a model was put to use."""

    CSS_PATH = "models_here_screen.tcss"
    HELP = (
        "Enter on a found model puts it on the model page, where F9 connects it, and makes an account of its "
        "server, so that single characters can use it beside another. Enter on a "
        "model of the second list fetches it, after a question, and lets it answer from then on; the small "
        "model that comes with the program ends that. Servers are looked for on this machine alone."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose", "Use", key_display="⏎"),
        Binding("r", "look", "Look again"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration
        self._servers: list[FoundServer] | None = None  # None until they were looked for
        self._models: list[LocalModel] = []
        self._choices: dict[str, FoundModel | LocalModel] = {}

    def compose(self) -> ComposeResult:
        """Compose the list below what it shows."""
        yield Static(HEADING, id="heading", markup=False)
        yield Banner(id="result")
        yield GuardedOptionList(id="models", markup=False)
        yield KeyLine(offers_palette=False)

    def on_mount(self) -> None:
        """Look for the first time."""
        self.query_one(OptionList).focus()
        self.action_look()

    def action_look(self) -> None:
        """Look at this machine again."""
        self.run_worker(self._look(), group="look", exclusive=True, exit_on_error=False)

    async def _look(self) -> None:
        from core.providers.discovery import find_servers

        self._models = await local_models(self._configuration)
        self._servers = await find_servers()
        self._show_list()

    def on_resize(self) -> None:
        """Give the names the room there is."""
        if self._servers is not None:
            self._show_list()

    def _show_list(self) -> None:
        choices = self.query_one(OptionList)
        option = choices.highlighted_option
        before = self._choices.get(option.id or "") if option is not None else None
        choices.clear_options()
        self._choices.clear()
        choices.add_options([_heading(FOUND), *self._found_options(), _heading(""), _heading(FETCHED)])
        choices.add_options(self._model_options())
        kept = next((key for key, choice in self._choices.items() if _is_same(choice, before)), None)
        kept = kept or self._first_choice()
        if kept is not None:
            choices.highlighted = choices.get_option_index(kept)

    def _first_choice(self) -> str | None:
        """Return what the cursor begins at: the first line that would change who answers."""
        useful = (
            key
            for key, choice in self._choices.items()
            if isinstance(choice, FoundModel) or (choice.is_offered and not choice.is_in_use)
        )
        return next(useful, next(iter(self._choices), None))

    def _found_options(self) -> Iterator[Option]:
        if not self._servers:
            yield _heading(f"  {NONE_FOUND}")
        width = max((len(server.kind) for server in self._servers or ()), default=0)
        for server in self._servers or ():
            remark = WANTS_KEY if server.wants_key else NO_MODEL
            for model in server.models or ("",):
                found = FoundModel(server.address, model, server.kind)
                yield self._option(found, model or remark, f"{server.kind:<{width}}  {server.address}")

    def _model_options(self) -> Iterator[Option]:
        for model in self._models:
            entry = model.entry
            state = model.place if model.is_here else model.verdict
            facts = f"{shown_size(entry.megabytes):>6}  {shown_size(entry.memory):>6} memory  "
            yield self._option(model, entry.title, f"{facts}{entry.licence:<10}  {state}")

    def _option(self, choice: FoundModel | LocalModel, name: str, facts: str) -> Option:
        key = f"choice-{len(self._choices)}"
        self._choices[key] = choice
        room = max(LEAST_NAME, self.size.width - _FACTS - 6)
        shown = clean_line(name)
        if cell_len(shown) > room:
            shown = set_cell_size(shown, room - 1).rstrip() + "…"
        is_in_use = isinstance(choice, LocalModel) and choice.is_in_use
        line = Text(f"  {set_cell_size(shown, room)}  {facts}", style="bold" if is_in_use else "")
        return Option(line, id=key)

    def action_choose(self) -> None:
        """Take what is highlighted."""
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if not self.is_active:  # Enter may come twice.
            return
        match self._choices.get(event.option.id or ""):
            case FoundModel() as found:
                self.dismiss(found)
            case LocalModel() as model:
                self._use_or_fetch(model)

    def _use_or_fetch(self, model: LocalModel) -> None:
        entry = model.entry
        facts = {
            "title": entry.title,
            "memory": shown_size(entry.memory),
            "size": shown_size(entry.megabytes),
        }
        if model.is_here:
            self._begin_use(model)
        elif model.fit == "too large":
            self._say(TOO_LARGE.format(**facts))
        elif not model.has_room:
            self._say(NO_ROOM.format(**facts))
        else:
            dialog = FetchModal(self._configuration.paths, entry)
            ask_first(self.app, dialog, lambda: self._begin_use(model))

    def _begin_use(self, model: LocalModel) -> None:
        self.run_worker(self._use(model), group="use", exclusive=True, exit_on_error=False)

    async def _use(self, model: LocalModel) -> None:
        try:
            async with self._writing:
                configuration, note = await use(model.entry, self._configuration)
                self._saved = configuration
        except StoryEngineError as error:
            self._say(error.message, hint=error.hint)
            return
        if note:
            self.app.notify(note, severity="warning", markup=False)
        self.dismiss(configuration)

    def _say(self, text: str, *, hint: str = "") -> None:
        self.query_one("#result", Banner).show(text, hint=hint, tone=Tone.WARNING)


def _is_same(one: FoundModel | LocalModel, other: FoundModel | LocalModel | None) -> bool:
    """Whether both are the same model; what is known of one that can be fetched may have changed."""
    if isinstance(one, LocalModel) and isinstance(other, LocalModel):
        return one.entry == other.entry
    return one == other


def _heading(text: str) -> Option:
    return Option(Text(text), disabled=True)
