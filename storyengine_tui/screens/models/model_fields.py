"""The fields of the agents: model, length and temperature of each, and of each character (design 7)."""

from collections.abc import Collection, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.config.sections import LONGEST_MODEL_NAME, AgentSettings
from core.domain.agent_role import AGENT_NAMES, AgentRole
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.screens.models.connection import Agent, Connection
from storyengine_tui.theme import slot_class
from storyengine_tui.widgets.fields.one_line import FormField

ROLES = {**AGENT_NAMES, AgentRole.CHARACTER: "All characters"}
"""The agents in the order of the fields; the characters come last, for those of single ones follow."""
AGENTS: tuple[Agent, ...] = (*ROLES, *Slot)
COLUMNS = ("model", "length", "temperature")
NOT_SENT = "not sent"


class ModelFields(Vertical):
    """Fields for each role and each slot. An empty one leaves its agent to the default that it shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Agent above", show=False),
        Binding("down", "move(1)", "Agent below", show=False),
    ]
    DEFAULT_CSS = "ModelFields { height: auto; }"

    class Edited(Message):
        """A field was edited."""

    def __init__(self, connection: Connection, names: Mapping[Slot, str], *, id: str | None = None) -> None:
        """Make the fields of this connection; `names` are what the open chapter calls its characters."""
        super().__init__(id=id)
        self._connection = connection
        self._names = names

    def compose(self) -> ComposeResult:
        """Compose the agents, then each character in the colour of its slot."""
        yield Horizontal(
            Static("Models; an empty one is the default", id="models-heading", classes="models-heading"),
            Static("Tokens out", classes="number"),
            Static("Temp.", classes="number"),
            classes="line",
        )
        for role, label in ROLES.items():
            yield self._line(label, role)
        for slot in Slot:
            name = clean_line(self._names.get(slot, "")) or slot.name.capitalize()
            yield self._line(f"  {slot.value} {name}", slot, slot_class(slot))

    def _line(self, label: str, agent: Agent, *classes: str) -> Horizontal:
        shown = Static(Content(label), classes=" ".join(("label", *classes)))
        texts = _texts_of(self._connection, agent)

        def number(name: str, restrict: str, most: int) -> FormField:
            return FormField(
                texts[name],
                compact=True,
                id=_id(name, agent),
                classes="number",
                restrict=restrict,
                max_length=most,
            )

        return Horizontal(
            shown,
            FormField(texts["model"], compact=True, id=_id("model", agent), max_length=LONGEST_MODEL_NAME),
            number("length", r"[0-9]*", 9),
            number("temperature", r"[0-9]*\.?[0-9]*", 5),
            classes="line",
        )

    def load(self, connection: Connection) -> None:
        """Show the values of another connection."""
        for agent in AGENTS:
            for column, text in _texts_of(connection, agent).items():
                self.query_one(f"#{_id(column, agent)}", Input).value = text

    def _text(self, column: str, agent: Agent) -> str:
        return self.query_one(f"#{_id(column, agent)}", Input).value.strip()

    @property
    def models(self) -> dict[AgentRole, str]:
        """The roles for which a model is named."""
        return {role: model for role in ROLES if (model := self._text("model", role))}

    @property
    def characters(self) -> dict[Slot, str]:
        """The slots for which a model is named."""
        return {slot: model for slot in Slot if (model := self._text("model", slot))}

    @property
    def lengths(self) -> dict[Agent, int]:
        """The tokens of output, where what is typed can be one."""
        return {agent: int(number) for agent, number in self._numbers("length").items()}

    @property
    def temperatures(self) -> dict[Agent, float]:
        """The temperatures, where what is typed can be one."""
        return self._numbers("temperature")

    def _numbers(self, column: str) -> dict[Agent, float]:
        return {
            agent: float(text)
            for agent in AGENTS
            if (text := self._text(column, agent)) and _is_possible(column, text)
        }

    def check(self) -> None:
        """Raise StoryEngineError for a number that no call can have."""
        for column, what in (("length", "tokens out, 1 or more"), ("temperature", "temperature, 0 to 10")):
            for agent in AGENTS:
                text = self._text(column, agent)
                if text and not _is_possible(column, text):
                    whose = ROLES[agent] if isinstance(agent, AgentRole) else f"character {agent.value}"
                    raise IllegalCommandError(f"“{text}” of {whose} cannot be its {what}.")

    def show_accounts(self, names: list[str]) -> None:
        """Say how a model of an account is named, where there are accounts."""
        text = "Models; an empty one is the default"
        if names:
            text = f"Models; {names[0]}:MODEL is one of the account {names[0]}"
        self.query_one("#models-heading", Static).update(Content(text))

    def show_defaults(
        self,
        defaults: ModelAssignments,
        roles: ModelAssignments,
        all_: ModelAssignments,
        brought: Collection[Slot] = (),
    ) -> None:
        """Say in each empty field what it leaves its agent to.

        `defaults` are the choices where nothing is set, `roles` those of the models that are named, `all_`
        those with the numbers of the roles as well, which the characters take over. The characters in the
        slots `brought` bring their models from the library.
        """
        for role in ROLES:
            self._show(role, f"{defaults[role].label} (default)", roles[role])
        shared = clean_line(all_[AgentRole.CHARACTER].label)
        for slot in Slot:
            choice = all_.of(AgentRole.CHARACTER, slot.value)
            own = f"{clean_line(choice.label)} (from the library)"
            self._show(slot, own if slot in brought else f"{shared} (as all)", choice)

    def _show(self, agent: Agent, model: str, choice: ModelConfig) -> None:
        temperature = NOT_SENT if choice.temperature is None else f"{choice.temperature:g}"
        texts = dict(zip(COLUMNS, (model, str(choice.max_output_tokens), temperature), strict=True))
        for column, text in texts.items():
            self.query_one(f"#{_id(column, agent)}", Input).placeholder = text

    @on(Input.Changed)
    def _tell(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Edited())

    def action_move(self, rows: int) -> None:
        """Go to the same field of the agent above or below."""
        places = {_id(column, agent): (column, row) for row, agent in enumerate(AGENTS) for column in COLUMNS}
        focused = self.screen.focused
        column, row = places.get((focused.id if focused else None) or "", ("", -1))
        if column and 0 <= row + rows < len(AGENTS):
            self.query_one(f"#{_id(column, AGENTS[row + rows])}", Input).focus()


def _texts_of(connection: Connection, agent: Agent) -> dict[str, str]:
    length, temperature = connection.lengths.get(agent), connection.temperatures.get(agent)
    return {
        "model": connection.model_of(agent),
        "length": "" if length is None else str(length),
        "temperature": "" if temperature is None else f"{temperature:g}",
    }


def _is_possible(column: str, text: str) -> bool:
    name = {"length": "max_output_tokens", "temperature": "temperature"}[column]
    try:
        AgentSettings.model_validate({name: text})
    except ValueError:
        return False
    return True


def _id(column: str, agent: Agent) -> str:
    return f"{column}-{agent.value}" if isinstance(agent, AgentRole) else f"{column}-slot-{agent.value}"
