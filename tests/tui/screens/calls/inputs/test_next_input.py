"""What “What is given next” says of an input beside its parts."""

from core.domain.agent_role import AgentRole
from storyengine_tui.screens.calls.inputs.next_input_screen import WORKING_MEMORY, passages_of_input
from tests.core.context.memory.test_recalled_in_context import built, found, knowledge, told
from tests.core.values.sessions import choices


def headings(text: str) -> list[str]:
    """Return the headings of the passages of an input that recalls an item with this text."""
    choice = choices(8_000)[AgentRole.CHARACTER]
    made = built(knowledge(found(told(1, text))) if text else knowledge())
    return [one.text[: one.heading] for one in passages_of_input(made, choice)]


def test_an_input_that_recalls_something_says_what_of_it_leaves_first() -> None:
    assert WORKING_MEMORY in headings("The lamp is out.")
    assert WORKING_MEMORY not in headings("")
