"""The beginning of a chosen agent's inputs: the built-in prompt by name, the blocks, tokens of each."""

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Select, Static

from core.agents.sections.prompt_blocks import PromptOutline
from core.domain.agent_role import AGENT_NAMES, AgentRole
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect

Agent = tuple[AgentRole, Slot | None]
"""An agent: its role and, for a character, its slot."""


def agents_of(session: Session) -> list[tuple[Content, Agent]]:
    """Return the agents of a chapter by their names, the characters first."""
    characters = [
        (Content(f"{slot.value} {name}"), (AgentRole.CHARACTER, slot)) for slot, name in session.roster
    ]
    return [*characters, *((Content(name), (role, None)) for role, name in AGENT_NAMES.items())]


def outline_lines(outline: PromptOutline, width: int) -> list[str]:
    """Return a line for each part, its tokens at the right, and one for all of them together."""
    lines = [_line(part.name, part.tokens, width, is_own=part.block is not None) for part in outline.parts]
    share = f"In all, of {outline.budget:,}"
    return [*lines, "─" * width, _line(share, outline.tokens, width, is_own=False)]


def _line(name: str, tokens: int, width: int, *, is_own: bool) -> str:
    count = f"{tokens:,}"
    room = max(1, width - len(count) - 1)
    name = f"+ {name}" if is_own else name
    name = name if cell_len(name) <= room else f"{set_cell_size(name, room - 1)}…"
    return f"{set_cell_size(name, room)} {count}"


class OutlineView(Vertical):
    """The choice of the agent over its outline."""

    HELP = (
        "On the right is the beginning of every input of the chosen agent, with its approximate tokens: "
        "the built-in prompt, which stays, and behind + your blocks."
    )

    def __init__(self, session: SessionHandle) -> None:
        super().__init__(id="outline")
        self._session = session

    def compose(self) -> ComposeResult:
        """Compose the choice and the outline."""
        agents = agents_of(self._session.snapshot.session)
        yield GuardedSelect[Agent](agents, value=agents[0][1], allow_blank=False, compact=True, id="agent")
        with VerticalScroll(can_focus=False):
            yield Static("", id="parts", markup=False)

    @on(Select.Changed, "#agent")
    def _handle_agent(self, event: Select.Changed) -> None:
        event.stop()
        self.show()

    def on_resize(self) -> None:
        """Give the names the room there is."""
        self.show()

    def show(self) -> None:
        """Show what the inputs of the chosen agent begin with now."""
        chosen = self.query_one("#agent", Select).value
        if not isinstance(chosen, tuple):
            return
        role, slot = chosen
        width = max(20, self.size.width - 3)
        lines = outline_lines(self._session.edits.outline(role, slot), width)
        self.query_one("#parts", Static).update(Content("\n".join(lines)))
