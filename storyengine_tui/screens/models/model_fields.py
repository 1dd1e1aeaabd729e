"""The fields of the models: one for each agent, one more for each character (design 7)."""

from collections.abc import Mapping

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from core.config.models import AgentRole
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.theme import slot_class
from storyengine_tui.widgets.fields.one_line import FormField

ROLES = {
    AgentRole.WORLD_LOCK: "World & Chapter",
    AgentRole.CONTEXT_SUMMARY: "Context Summary",
    AgentRole.NARRATIVE: "Narrative",
    AgentRole.CHARACTER: "All characters",
}
"""The agents as the fields stand; the characters come last, for those of single ones follow."""


class ModelFields(Vertical):
    """A field for each role and each slot. An empty one leaves its agent to the default that it shows."""

    DEFAULT_CSS = "ModelFields { height: auto; }"

    def __init__(
        self,
        models: Mapping[AgentRole, str],
        characters: Mapping[Slot, str],
        names: Mapping[Slot, str],
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Make the fields of these models; `names` are what the open chapter calls its characters."""
        super().__init__(id=id, classes=classes)
        self._models = models
        self._characters = characters
        self._names = names
        self._default = ""

    def compose(self) -> ComposeResult:
        """Compose the agents, then each character in the colour of its slot."""
        yield Static("Models; an empty one is the default", classes="models-heading")
        for role, label in ROLES.items():
            yield self._line(label, FormField(self._models.get(role, ""), compact=True, id=_role_id(role)))
        for slot in Slot:
            field = FormField(self._characters.get(slot, ""), compact=True, id=_slot_id(slot))
            name = clean_line(self._names.get(slot, "")) or slot.name.capitalize()
            yield self._line(f"  {slot.value} {name}", field, slot_class(slot))

    def _line(self, label: str, field: FormField, *classes: str) -> Horizontal:
        shown = Static(Content(label), classes=" ".join(("label", *classes)))
        return Horizontal(shown, field, classes="line")

    @property
    def models(self) -> dict[AgentRole, str]:
        """The roles for which a model is named."""
        typed = {role: self.query_one(f"#{_role_id(role)}", Input).value.strip() for role in ROLES}
        return {role: model for role, model in typed.items() if model}

    @property
    def characters(self) -> dict[Slot, str]:
        """The slots for which a model is named."""
        typed = {slot: self.query_one(f"#{_slot_id(slot)}", Input).value.strip() for slot in Slot}
        return {slot: model for slot, model in typed.items() if model}

    def show_defaults(self, defaults: Mapping[AgentRole, str]) -> None:
        """Say in each empty field which model it leaves its agent to."""
        for role in ROLES:
            self.query_one(f"#{_role_id(role)}", Input).placeholder = f"{defaults[role]} (default)"
        self._default = defaults[AgentRole.CHARACTER]
        self._show_shared()

    @on(Input.Changed, f"#model-{AgentRole.CHARACTER.value}")
    def _show_shared(self) -> None:
        shared = clean_line(self.models.get(AgentRole.CHARACTER, self._default))
        for slot in Slot:
            self.query_one(f"#{_slot_id(slot)}", Input).placeholder = f"{shared} (as all characters)"


def _role_id(role: AgentRole) -> str:
    return f"model-{role.value}"


def _slot_id(slot: Slot) -> str:
    return f"model-slot-{slot.value}"
