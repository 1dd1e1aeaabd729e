"""The roles of the ten agents."""

from enum import StrEnum
from typing import Final


class AgentRole(StrEnum):
    """The four roles of the ten agents; the value is the name of its settings and its prompt file."""

    WORLD_LOCK = "world_lock"
    CHARACTER = "character"
    CONTEXT_SUMMARY = "context_summary"
    NARRATIVE = "narrative"

    @property
    def agent_id(self) -> int | None:
        """The number of the agent in records of calls; None for a character, whose number is its slot."""
        return _NUMBERS.get(self)


_NUMBERS: Final = {AgentRole.WORLD_LOCK: 0, AgentRole.CONTEXT_SUMMARY: 8, AgentRole.NARRATIVE: 9}
AGENT_NAMES: Final = {
    AgentRole.WORLD_LOCK: "World & Chapter",
    AgentRole.CONTEXT_SUMMARY: "Context Summary",
    AgentRole.NARRATIVE: "Narrative",
}
"""The names of the agents that are no characters, for the GM."""
