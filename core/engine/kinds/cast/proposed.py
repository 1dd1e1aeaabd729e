"""Turns a model's answer about a character into proposals; none changes anything by itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from core.agents.proposals.asking import About
from core.agents.proposals.reading import FoundChange, FoundGaps, Value
from core.domain.proposal import LONGEST_WHY, TEXT, Occasion, Proposal, ProposedPart, Record
from core.library.characters.character import Topic, Trait, record_of
from core.library.characters.checks import LONGEST_TEXT
from core.library.proposals.making import ProposalMaker, Records
from core.library.proposals.taking import change_of, fits, identity_mark
from core.text.cleaning import is_blank
from core.text.graphemes import head
from core.text.name_list import name_key


@dataclass(frozen=True, slots=True)
class Maker(ProposalMaker):
    """Makes proposals of an answer."""

    def of_gaps(self, found: FoundGaps) -> Iterator[Proposal]:
        """Yield what fills the gaps; what the GM has written is not touched."""
        why = "The character had none." if found.short_description else ""
        if found.short_description:
            yield self._short(found.short_description, why, Occasion.GAPS)
        for part, items in ((ProposedPart.TRAIT, found.traits), (ProposedPart.TOPIC, found.topics)):
            for values in items:
                record = record_of(_new(part, values))
                why = f"The character had fewer than three {part.value}s."
                yield self.made(part, (), (record,), why, Occasion.GAPS)

    def of_changes(self, found: FoundChange) -> Iterator[Proposal]:
        """Yield the proposal of a change in a chapter, if it says anything new."""
        why = head(f"“{found.quote}” {found.why}".strip(), LONGEST_WHY)
        match found.about:
            case About.SHORT_DESCRIPTION:
                made = self._short(found.text, why, Occasion.CHAPTER)
                is_new = found.text != self.character.short_description
            case About.IDENTITY:
                before = identity_mark(self.character.identity)
                made = self.made(
                    ProposedPart.IDENTITY, (before,), ({TEXT: found.text},), why, Occasion.CHAPTER
                )
                is_new = found.text not in self.character.identity
            case About.TRAIT | About.TOPIC:
                part = ProposedPart(found.about.value)
                before_after = self._changed(part, found)
                made = self.made(part, *before_after, why, Occasion.CHAPTER)
                is_new = not is_blank(found.name) and before_after[0] != before_after[1]
        if is_new and fits(self.character, made):
            yield replace(made, prompt_index=found.prompt_index)

    def of_questions(self, found: Mapping[str, str]) -> Iterator[Proposal]:
        """Yield a way back to each topic that is neglected, behind how the character deals with it now."""
        for topic in self.character.topics:
            question = found.get(topic.name)
            if question is None or question in topic.approach:
                continue
            approach = f"{topic.approach}\n{question}" if topic.approach.strip() else question
            if len(approach) <= LONGEST_TEXT:
                before, after = change_of(topic, approach=approach)
                why = "The character wants to speak about it, and has not for long."
                yield self.made(ProposedPart.TOPIC, (before,), (after,), why, Occasion.NEGLECT)

    def _short(self, text: str, why: str, occasion: Occasion) -> Proposal:
        before: Record = {TEXT: self.character.short_description}
        return self.made(ProposedPart.SHORT_DESCRIPTION, (before,), ({TEXT: text},), why, occasion)

    def _changed(self, part: ProposedPart, found: FoundChange) -> tuple[Records, Records]:
        """Return the records of a trait or a topic that changes, or of a new one."""
        items = self.character.traits if part is ProposedPart.TRAIT else self.character.topics
        known = next((item for item in items if name_key(item.name) == name_key(found.name)), None)
        values: dict[str, Value] = (
            {"description": found.text, "strength": max(0.0, found.value)}
            if part is ProposedPart.TRAIT
            else {"perspective": found.text, "sentiment": found.value}
        )
        if known is None:
            return (), (record_of(_new(part, {"name": found.name, **values})),)
        changed = {key: value for key, value in values.items() if getattr(known, key) != value}
        before, after = change_of(known, **changed)
        return (before,), (after,)


def _new(part: ProposedPart, values: Mapping[str, Value]) -> Trait | Topic:
    kind: type[Trait] | type[Topic] = Trait if part is ProposedPart.TRAIT else Topic
    known = {field.name for field in fields(kind)}
    own: dict[str, Any] = {key: value for key, value in values.items() if key in known}
    return kind(**own)
