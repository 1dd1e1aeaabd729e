"""The roles of the ten agents."""

from enum import StrEnum


class AgentRole(StrEnum):
    """The four roles of the ten agents; the value is the name of its settings and its prompt file."""

    WORLD_LOCK = "world_lock"
    CHARACTER = "character"
    CONTEXT_SUMMARY = "context_summary"
    NARRATIVE = "narrative"
