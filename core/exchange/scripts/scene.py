"""The scene in a chapter script: lines before a prompt, hearers, `away`, `silence` and `[[secret]]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.domain.audience import EVERYONE, NOBODY, Audience, audience_of
from core.domain.dice import read_dice
from core.domain.errors import IllegalCommandError
from core.domain.session.limits import Limits
from core.domain.session.profile import GENERAL, problems_of_group_names
from core.domain.session.session import LATEST_RETURN
from core.domain.slot import Slot, slot_after
from core.domain.story.secret import LATEST_REVEAL, LONGEST_SECRET, LONGEST_SECRETS, MOST_SECRETS, Secret
from core.exchange.scripts.fields import FieldReader, kind_of
from core.text.cleaning import clean_line

Away = Mapping[Slot, int]
"""Those away from a prompt on, each with the prompt of the return; 0 until the script says otherwise."""

NOBODY_AWAY: Final[Away] = {}


def read_absences(reader: FieldReader, index: int) -> Away | None:
    """Return who is away from prompt `index` on; None where the prompt does not say."""
    if "away" not in reader.table:
        return None
    stated = reader.table["away"]
    if not isinstance(stated, dict):
        reader.report("away", f'must be a table such as {{"Joss" = {index + 3}}}, not {kind_of(stated)}.')
        return None
    away: dict[Slot, int] = {}
    for name, value in stated.items():
        slot = reader.slot_of("away", int(name) if name in _DIGITS else name)
        if slot is None:
            continue
        if value is True:
            away[slot] = 0
        elif isinstance(value, int) and index < value <= LATEST_RETURN:
            away[slot] = value
        else:
            reader.report(
                "away", f"must name a prompt from {index + 1:,} on for the return, or true for open."
            )
    if reader.cast and set(away) >= set(reader.cast):
        reader.report("away", "names the whole cast; someone has to stay in the scene.")
    return away


def absent_at(away: Away | None, index: int) -> dict[Slot, int]:
    """Return those of `away` that are still away at prompt `index`."""
    return {slot: back_at for slot, back_at in (away or {}).items() if back_at == 0 or index < back_at}


def speaker_after(slot: Slot, slots: tuple[Slot, ...], away: Away | None, index: int) -> Slot:
    """Return whom the rotation calls at prompt `index` after `slot`: the next that is not away."""
    absent = absent_at(away, index)
    return slot_after(slot, tuple(one for one in slots if one not in absent) or slots)


def refuse_absent(reader: FieldReader, away: Away | None, index: int, slot: Slot) -> None:
    """Report a prompt to a character that is away."""
    if slot in absent_at(away, index):
        reader.report("to", f"= {reader.cast.get(slot, slot.default_name)} is away at prompt {index:,}.")


def read_silence(script: FieldReader) -> Audience | None:
    """Return who may act without words or say nothing; None where the script does not say."""
    stated = script.table.get("silence")
    if isinstance(stated, bool):
        return EVERYONE if stated else NOBODY
    return script.characters("silence")


_DIGITS: Final = tuple(str(int(slot)) for slot in Slot)


PROMPT_KEYS: Final = ("present", "heard_by", "whisper", "scene", "line", "roll")
"""The keys of `[[prompt]]` that are read here."""
SECRET_KEYS: Final = ("text", "known_by", "groups", "reveal_at", "reveal_to")
_LONGEST_ROLL: Final = 40
_LONGEST_SCENE: Final = 10_000
"""Characters of the words of a new scene: fewer than a line has, which the break is a part of."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A line before a prompt that calls no character: narration, a new scene, or dice to roll."""

    text: str
    """The narration, or the notation of the dice."""
    is_roll: bool
    audience: Audience | None
    """Those who witness it; None if the script does not say who is present."""
    begins_scene: bool = False
    """Whether a new scene begins with it; the text may be empty then."""


def read_hearers(reader: FieldReader, called: Sequence[Slot], present: Audience | None) -> Audience | None:
    """Return who hears a prompt and what is before it; None if the script does not say who is present."""
    heard_by = reader.characters("heard_by")
    if reader.switch("whisper", is_on=False):
        if "heard_by" in reader.table:
            reader.report("whisper", "and heard_by exclude each other; keep one of them.")
        heard_by = NOBODY
    heard_by = present if heard_by is None else heard_by
    return None if heard_by is None else audience_of((*heard_by, *called), reader.cast)


def read_lines(reader: FieldReader, audience: Audience | None) -> tuple[ScriptLine, ...]:
    """Return the scene, the line and the roll before a prompt, in this order."""
    lines: list[ScriptLine] = []
    if "scene" in reader.table:
        words = reader.text("scene", _LONGEST_SCENE).strip()
        lines.append(ScriptLine(words, is_roll=False, audience=audience, begins_scene=True))
    if "line" in reader.table:
        text = reader.text("line", Limits().prompt, is_required=True)
        lines.append(ScriptLine(text, is_roll=False, audience=audience))
    if "roll" in reader.table:
        notation = reader.text("roll", _LONGEST_ROLL, is_required=True)
        if 0 < len(notation) <= _LONGEST_ROLL:  # anything else is reported already
            try:
                notation = read_dice(clean_line(notation)).notation
            except IllegalCommandError as error:
                reader.report("roll:", error.message)
        lines.append(ScriptLine(notation, is_roll=True, audience=audience))
    return tuple(lines)


def read_secrets(script: FieldReader) -> tuple[Secret, ...]:
    """Return the secrets of a script; what is wrong with them is reported."""
    tables = script.tables("secret") or []
    if len(tables) > MOST_SECRETS:
        script.report("[[secret]]", f"occurs {len(tables)} times; a chapter has at most {MOST_SECRETS}.")
        return ()
    made = tuple(_secret(reader, number) for number, reader in enumerate(tables, start=1))
    length = sum(len(secret.text) for secret in made)
    if length > LONGEST_SECRETS:
        script.report(
            "[[secret]]", f"has {length:,} characters in all together, and {LONGEST_SECRETS:,} fit."
        )
    return made


def _secret(reader: FieldReader, number: int) -> Secret:
    table = reader.table
    reader.refuse_unknown(SECRET_KEYS)
    text = reader.text("text", LONGEST_SECRET, is_required=True)
    known_by = reader.characters("known_by")
    groups = reader.lines("groups")
    if "groups" in table:
        groups = groups or (GENERAL,)
    for problem in problems_of_group_names(groups):
        reader.report("groups:", problem)
    if known_by is None and "groups" not in table:
        reader.report("known_by", "is missing; [] is a secret that only the GM knows.")
    reveal_to = reader.characters("reveal_to")
    if "reveal_to" in table and "reveal_at" not in table:
        reader.report("reveal_to", "needs reveal_at beside it.")
    if table.get("reveal_to") == []:
        reader.report("reveal_to", "names no character; leave it out to reveal it to everyone.")
    secret = Secret(number=number, text=text, known_by=known_by or NOBODY, groups=groups)
    if "reveal_at" not in table:
        return secret
    reveal_at = reader.number("reveal_at", (1, LATEST_REVEAL), 1)
    return replace(secret, reveal_at=reveal_at, reveal_to=reveal_to or EVERYONE)
