"""Asks one question about a character of the library, and makes proposals of the answer.

They are stored with the outcome, in one transaction: what was answered is not asked again after a crash.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from core.agents.proposals import asking, reading
from core.agents.proposals.asking import Question, Sheet
from core.agents.role.prompt_file import not_to_repeat
from core.config.models.model_config import ModelConfig
from core.context.segments import Context
from core.context.visibility import CharacterKnowledge
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import CharacterId
from core.domain.proposal import Proposal
from core.domain.requests.request import BackgroundRequest
from core.engine.kinds.base import BackgroundHandler, Job
from core.engine.kinds.cast.proposed import Maker
from core.engine.kinds.json_answer import make_json
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.analysis.repetition import first_repeated
from core.text.canonical_json import canonical
from core.text.cleaning import clean_line
from core.text.numbers import counted

_UNREADABLE = "The request about a character cannot be read; ask for it again."
_NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Work:
    """A question about a character, as the text of its request; `topics` are those that it neglects."""

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


@dataclass(frozen=True, slots=True)
class ProposalsMade:
    """Proposals for a character; none where it needs none, or must not be changed."""

    proposals: tuple[Proposal, ...] = ()


NO_PROPOSALS = ProposalsMade()


class CastHandler(BackgroundHandler[ProposalsMade]):
    """Handles questions about characters of the library; the request's text is a `Work`."""

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[ProposalsMade | Failed, CallRecords]:
        """Ask the question, unless the character is static, paused or archived by now."""
        work = Work.from_text(request.text)
        character = await _character(job, work, request.updated_at)
        if character is None:
            return NO_PROPOSALS, CallRecords()
        choice = job.calls.choices[AgentRole.CONTEXT_SUMMARY]
        maker = Maker(character, request.session_id, request.updated_at, request.id)
        match work.question:
            case Question.GAPS:
                return await _gaps(job, choice, maker)
            case Question.CHANGES:
                return await _changes(job, request, choice, maker)
            case Question.QUESTIONS:
                return await _questions(job, choice, maker, work)

    def settle(
        self, snapshot: Snapshot, done: BackgroundRequest, made: ProposalsMade, now: datetime
    ) -> Changes:
        """Store what is proposed; nothing of the story changes."""
        return Changes(session_id=snapshot.session.id, requests=(done,), proposals=made.proposals)


async def _character(job: Job, work: Work, now: datetime) -> LibraryCharacter | None:
    """Return the character, if the program may propose changes of it."""
    for one in await job.store.library.characters():
        if one.id == work.character_id:
            return None if one.is_static or one.is_paused_at(now) else one
    return None


async def _gaps(job: Job, choice: ModelConfig, maker: Maker) -> tuple[ProposalsMade | Failed, CallRecords]:
    sheet = sheet_of(maker.character)
    if not sheet.has_gaps:
        return NO_PROPOSALS, CallRecords()
    context = asking.gaps(choice, sheet)
    found, records = await make_json(context, job.calls, partial(reading.read_gaps, sheet=sheet), choice)
    if isinstance(found, Failed):
        return found, records
    return _own(context, maker.of_gaps(found)), records


async def _questions(
    job: Job, choice: ModelConfig, maker: Maker, work: Work
) -> tuple[ProposalsMade | Failed, CallRecords]:
    topics = [topic.name for topic in maker.character.topics if topic.name in work.topics]
    if not topics:
        return NO_PROPOSALS, CallRecords()
    context = asking.questions(choice, sheet_of(maker.character), topics)
    found, records = await make_json(
        context, job.calls, partial(reading.read_questions, topics=topics), choice
    )
    if isinstance(found, Failed):
        return found, records
    return _own(context, maker.of_questions(found)), records


async def _changes(
    job: Job, request: BackgroundRequest, choice: ModelConfig, maker: Maker
) -> tuple[ProposalsMade | Failed, CallRecords]:
    if request.slot is None:
        return NO_PROPOSALS, CallRecords()
    session_id = job.snapshot.session.id
    blocks, events = await job.store.blocks(session_id), await job.store.canon(session_id)
    knowledge = job.snapshot.chapter_known_to(request.slot, blocks, events)
    if not isinstance(knowledge, CharacterKnowledge):
        raise TypeError("a character's knowledge is that of a character")
    context = asking.changes(choice, sheet_of(maker.character), knowledge)
    read = partial(reading.read_changes, events=knowledge.events)
    found, records = await make_json(context, job.calls, read, choice)
    if isinstance(found, Failed):
        return found, records
    if found.unfounded:
        entries = counted(found.unfounded, "entry", "entries")
        records = records.noting((f"{entries} of the answer, whose words the chapter does not have",))
    made = (proposal for one in found.changes for proposal in maker.of_changes(one))
    return _own(context, made), records


def _own(context: Context, proposals: Iterable[Proposal]) -> ProposalsMade:
    """Return the proposals that do not merely repeat the prompt or its example."""
    sources = not_to_repeat(context)
    kept = [one for one in proposals if first_repeated(_words(one), sources) is None]
    return ProposalsMade(tuple(kept))


def _words(proposal: Proposal) -> str:
    return " ".join(
        str(value)
        for record in proposal.after
        for key, value in record.items()
        if isinstance(value, str) and key != "name"
    )
