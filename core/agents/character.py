"""Agents 1 to 7: a character answers the GM's prompt."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.agents.role.prompt_file import not_to_repeat
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import FittedEvents
from core.agents.sections.recalled import recalled_of, sheet_of
from core.agents.sections.recent_context import RecentContext
from core.context.memory_digest import Digest
from core.context.segments import Context
from core.context.visibility import CharacterKnowledge, described
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.cast import Character
from core.domain.session.session import Session
from core.domain.story.event import Role
from core.domain.story.transcript import in_order
from core.text.analysis.repetition import Repeatable
from core.text.cleaning import is_blank
from core.text.delimiters import SegmentName, first_mark
from core.text.prose import cut_in_words, to_last_sentence

if TYPE_CHECKING:  # Loaded by the first chapter that has a lorebook.
    from core.agents.sections.lore import FoundLore

_NUMBERED = r"\d{1,6}\) "
"""Pattern of the beginning of a GM's prompt in recent context."""
_SAYING = r"(?:says?|said|asks?|asked|repl(?:y|ies|ied)|answers?|answered)"


def character_context(
    setup: AgentSetup, knowledge: CharacterKnowledge, prompt_text: str, lore: "FoundLore | None" = None
) -> Context:
    """Return the input of one character: rules, identity, secrets, its sheet, memory, recent context, lore,
    what is recalled, GM's prompt.

    Before the prompt it says who the others on stage are, where there is something to tell of one of them,
    and which others are away, if there are any.

    Over budget it is reduced in the order that `core.agents.context_builder` documents.
    """
    session, own = knowledge.session, knowledge.character
    identity = setup.fenced(SegmentName.AGENT_IDENTITY, identity_text(own))
    secrets = setup.secrets(knowledge)
    prompt = setup.fenced(SegmentName.USER_PROMPT, prompt_text)
    others, cue = setup.others(session, own.slot, knowledge.on_stage), setup.cue(own.name)
    empty = setup.fenced(SegmentName.STRUCTURED_MEMORY, "")
    recent = RecentContext.of(setup, session, knowledge.events)
    needed = total((*setup.beginning, identity, *secrets, empty, *others, *cue))
    sheet, no_room = sheet_of(setup, knowledge, setup.budget - needed - prompt.tokens)
    fixed = needed + total(sheet)
    told = () if lore is None else lore.segments(setup)
    share = int(setup.budget * setup.choice.recall_percent / 100)
    # Twice as many as fit: those that the input says already make room for others.
    found = recalled_of(setup, knowledge).within(2 * share)
    most = total(found.within(share).segments)
    variable = total((recent.whole, prompt, *told)) + most
    digest = setup.digester.digest(knowledge.blocks, setup.memory_budget(fixed, variable))
    memory = setup.memory(SegmentName.STRUCTURED_MEMORY, digest)
    room = setup.budget - total((*setup.beginning, identity, *secrets, *sheet, memory, *others, prompt, *cue))
    recalled = found.without_told(digest.text, recent.sent()).within(most)
    context, dropped = recent.within(room - total((*told, *recalled.segments)))
    if dropped is not None:
        recalled = found.without_told(digest.text, recent.sent(dropped.last)).within(most)
    recalled = recalled.within(room - context.tokens - total(told))
    remembered = recalled.segments
    room -= total(remembered)
    if lore is not None:
        lore = lore.within(setup, room - context.tokens)
        told = lore.segments(setup)
        room -= total(told)
    short = FittedEvents(())
    if context.tokens > room:
        context, short = recent.shortened(room)
    left_out = (*digest.left_out, *recent.left_out(dropped, short))
    left_out = (*left_out, *no_room, *knowledge.bank.left_out, *recalled.left_out)
    memory = replace(memory, recency=session.prompt_index - session.boundary)
    context, prompt = replace(context, recency=0), replace(prompt, relevance=1.0, recency=0)
    segments = (identity, *secrets, *sheet, memory, context, *told, *remembered, *others, prompt, *cue)
    if lore is not None:
        left_out = (*left_out, *lore.left_out)
    made = setup.context(segments, slot=own.slot, left_out=left_out, is_shortened=bool(short.left_out))
    made = replace(made, lore=recalled.notes(), recalled=recalled.uses)
    return made if lore is None else replace(made, lore=(*lore.notes(), *made.lore), lore_uses=lore.uses)


def digest_of(setup: AgentSetup, knowledge: CharacterKnowledge) -> Digest:
    """Return the memory of an input that has an empty prompt and no recent context."""
    session, own = knowledge.session, knowledge.character
    secrets, others = setup.secrets(knowledge), setup.others(session, own.slot, knowledge.on_stage)
    frames = (setup.fenced(name, "") for name in (SegmentName.STRUCTURED_MEMORY, SegmentName.USER_PROMPT))
    identity = setup.fenced(SegmentName.AGENT_IDENTITY, identity_text(own))
    fixed = total((*setup.beginning, identity, *secrets, *frames, *others, *setup.cue(own.name)))
    return setup.digester.digest(knowledge.blocks, setup.memory_budget(fixed, 0))


def fixed_tokens(setup: AgentSetup, own: Character, session: Session, cast: Sequence[Character]) -> int:
    """Return the tokens of the parts that every input of a character shares: all but memory and prompts.

    Those in `cast` are all taken to be on stage, and no one to be away.
    """
    others = described(one for one in cast if one.slot is not own.slot)
    whole = setup.others(replace(session, away={}), own.slot, others)
    identity = setup.fenced(SegmentName.AGENT_IDENTITY, identity_text(own))
    changing = (SegmentName.STRUCTURED_MEMORY, SegmentName.RECENT_CONTEXT, SegmentName.USER_PROMPT)
    frames = (setup.fenced(name, "") for name in changing)
    return total((*setup.beginning, identity, *frames, *whole, *setup.cue(own.name)))


def identity_text(own: Character) -> str:
    """Return who the character is: name and colour, then the GM's text."""
    return f"Name: {own.name}\nSlot: {own.slot.value} ({own.slot.colour})\n\n{own.identity}".rstrip()


def repeatable(context: Context, knowledge: CharacterKnowledge, prompt_text: str) -> tuple[Repeatable, ...]:
    """Return what a reply to `context` could repeat: what the model read that is not for it to say again."""
    sources = not_to_repeat(context)
    sources.append(Repeatable("the GM's prompt", prompt_text))
    sources.append(Repeatable("its identity", knowledge.character.identity))
    for event in reversed(in_order(knowledge.events)):
        if event.role is Role.SYSTEM:
            continue
        said = "the GM's prompt" if event.role is Role.USER else "the reply to prompt"
        sources.append(Repeatable(f"{said} {event.prompt_index}", event.text))
    return tuple(sources)


def trim_small_reply(
    text: str, others: Sequence[str] = (), *, own: str = "", is_unfinished: bool
) -> tuple[str, tuple[str, ...]]:
    """Return the part of a small model's output that is the reply of `own`, and in words what was cut off.

    Such a model does not end by itself. It runs into its output cap, so that an unfinished text counts up
    to its last whole sentence; and it continues its input, so that a line that delimits one
    of our sections, or begins with the number of a prompt, or with one of the names in `others` and a colon
    ends it. Only such a section may leave nothing: a reply in which others speak is better than none.
    """
    only_own = re.compile(rf"(?:{_speaker(own)})?", re.IGNORECASE)
    reply, cut = text, list[str]()
    if is_unfinished:
        reply = to_last_sentence(text)
        cut += cut_in_words("after its last whole sentence", text, reply)
    speakers = "|".join(map(_any_form, (*others, "Game Master")))
    other = re.search(rf"^(?:{_NUMBERED}|[ \t*_]*(?:{speakers})[*_]*[:：])", reply, re.MULTILINE)
    mark = first_mark(reply)
    ends = [place for place in (mark, other.start() if other else None) if place is not None]
    end = min(ends, default=None)
    if end is not None and (end == mark or not only_own.fullmatch(reply[:end].strip())):
        kept = reply[:end]
        line = reply[end:].partition("\n")[0].strip()
        cut += cut_in_words(f"from the line “{line}”", reply, kept)
        reply = kept
    kept = _up_to_speech_of_others(reply, others)
    if only_own.fullmatch(kept.strip()):
        return reply, tuple(cut)
    cut += cut_in_words("from where another answers", reply, kept)
    return kept, tuple(cut)


def _up_to_speech_of_others(reply: str, others: Sequence[str]) -> str:
    """Return `reply` up to where it lets someone else speak; all of it where it begins with that."""
    names = {part for name in others for part in (name, *name.split()[:1])}
    who = "|".join(("[Hh]e", "[Ss]he", "[Tt]hey", *map(re.escape, names)))
    quote = r"[\"“][^\"“”\n]*[\"”]"
    speech = rf"{quote} (?:(?:{who}) {_SAYING}\b|{_SAYING} (?:{who})\b)|\b(?:{who}) {_SAYING}[,:] {quote}"
    found = re.search(speech, reply)
    kept = reply[: found.start()].rstrip() if found else reply
    return reply if is_blank(kept) else kept


def without_speaker_name(text: str, name: str) -> str:
    """Return a cleaned reply without the character's own name in front or above; it may be blank then."""
    reply = text.strip()
    match = re.match(rf"\s*{_speaker(name)}\s*", reply, re.IGNORECASE)
    return reply if match is None else reply[match.end() :].strip()


def _speaker(name: str) -> str:
    """Return the pattern of a name with a colon behind it, in brackets, or as a heading."""
    form = f"(?:{_any_form(name)})"
    heading = rf"(?:#+[ \t]*[*_]*|[*_]+){form}[*_]*[ \t]*(?:\n|\Z)"
    return rf"(?:[*_]*{form}[*_]*\s*[:：][*_]*|[*_]*\[{form}\][*_]*[ \t]*[:：]?[*_]*|{heading})"


def _any_form(name: str) -> str:
    """Return the pattern of a name, whether a letter and its accent are one character or two."""
    forms = (name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD")))
    return "|".join(map(re.escape, dict.fromkeys(forms)))


def strip_speaker_name(text: str, name: str) -> str:
    """Return a cleaned reply as it is stored: without the character's own name in front.

    Raise StoryEngineError (`LLM_ERROR`) when nothing is left.
    """
    reply = without_speaker_name(text, name)
    if is_blank(reply):
        raise StoryEngineError(
            ErrorCode.LLM_ERROR, "The model returned an empty reply; nothing is lost, retry."
        )
    return reply
