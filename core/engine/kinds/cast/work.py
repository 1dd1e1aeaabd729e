"""Payload of a request about a character of the library, encoded in its text."""

import json
from dataclasses import dataclass
from uuid import UUID

from core.agents.proposals.asking import Question, Sheet
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import CharacterId
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.text.canonical_json import canonical
from core.text.cleaning import clean_line

_UNREADABLE = "The request about a character cannot be read; ask for it again."
_NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Work:
    """A question about a character; `topics` are those that it neglects."""

    question: Question
    character_id: CharacterId
    topics: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return it as the text of a request; equal work has equal texts."""
        fields: dict[str, object] = {"question": self.question, "character": str(self.character_id)}
        if self.topics:
            fields["topics"] = list(self.topics)
        return canonical(fields).decode()

    @classmethod
    def from_text(cls, text: str) -> "Work":
        """Return what `to_text` wrote; raises StoryEngineError for anything else, as from a file."""
        try:
            read = json.loads(text)
            topics = read.get("topics", [])
            if not isinstance(topics, list):
                raise TypeError("topics are a list")
            return cls(
                Question(read["question"]),
                CharacterId(UUID(read["character"])),
                tuple(clean_line(str(topic)) for topic in topics),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StoryEngineError(ErrorCode.ILLEGAL_COMMAND, _UNREADABLE) from error


def sheet_of(character: LibraryCharacter) -> Sheet:
    """Return a character as a model reads it."""
    lines = [
        f"Name: {character.name}",
        f"Short description: {character.short_description or _NONE}",
        "Description:",
        character.identity.strip() or _NONE,
        *_listed("Traits", [_trait(one) for one in character.traits]),
        *_listed("Topics", [_topic(one) for one in character.topics]),
    ]
    return Sheet(
        name=character.name,
        text="\n".join(lines),
        has_short_description=bool(character.short_description.strip()),
        traits=tuple(one.name for one in character.traits),
        topics=tuple(one.name for one in character.topics),
    )


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"- {line}" for line in lines)] if lines else [f"{title}: {_NONE}"]


def _trait(one: Trait) -> str:
    about = f": {clean_line(one.description)}" if one.description.strip() else ""
    return f"{one.name} (strength {one.strength:g}){about}"


def _topic(one: Topic) -> str:
    texts = (clean_line(text) for text in (one.perspective, one.approach, one.personal_stake))
    about = " ".join(text for text in texts if text)
    return f"{one.name} (feeling {one.sentiment:g})" + (f": {about}" if about else "")
