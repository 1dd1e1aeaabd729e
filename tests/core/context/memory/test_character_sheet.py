"""The sheet of a character in its input: its own lines, within a small budget, after identity and secrets."""

from dataclasses import replace
from uuid import UUID

import pytest

from core.agents.context_builder import ContextBuilder
from core.agents.role.setup import AgentSetup
from core.config.models.assignments import ModelAssignments, defaults_for
from core.config.models.model_config import PromptStyle
from core.context.bank import NO_BANK, ChapterBank, Remembered
from core.context.segments import Context, Segment
from core.domain.audience import EVERYONE
from core.domain.bank.details import Aspect, StateDetails
from core.domain.ids import ItemId
from core.domain.slot import Slot
from core.text.delimiters import SegmentName
from tests.core.rooms.simulation import active
from tests.core.values.bank import fact


def line(number: int, text: str, *, is_pinned: bool = False) -> Remembered:
    details = StateDetails(aspect=Aspect.POSSESSION if number % 2 else Aspect.OTHER)
    item = replace(fact(text=text), id=ItemId(UUID(int=number)), details=details, is_pinned=is_pinned)
    return Remembered(item=item, label=EVERYONE, about=Slot.RED)


def context(bank: ChapterBank, style: PromptStyle = PromptStyle.FULL, room: int = 24_000) -> Context:
    roles = {
        role: replace(choice, style=style, max_input_tokens=room)
        for role, choice in defaults_for("scripted").items()
    }
    builder = ContextBuilder(ModelAssignments(roles))
    return builder.character(active().snapshot.known_to(Slot.RED, bank), "What do you do?")


def sheet_in(made: Context) -> str:
    return "".join(one.text for one in made.segments if one.name is SegmentName.CHARACTER_SHEET)


@pytest.mark.parametrize("style", PromptStyle)
def test_without_a_line_an_input_has_no_sheet_and_the_bytes_it_always_had(style: PromptStyle) -> None:
    of_another = line(1, "The key.")._replace(about=Slot.ORANGE)
    plain, empty = context(NO_BANK, style), context(ChapterBank(sheet=(of_another,)), style)
    assert plain == empty
    assert not sheet_in(plain)


def test_a_line_says_what_it_is_about_and_where_it_is_from() -> None:
    made = context(ChapterBank(sheet=(line(1, "She has the\nbrass key."), line(2, "She is  sworn in."))))
    assert sheet_in(made).endswith(
        "- possession: She has the brass key. (prompt 3)\n- She is sworn in. (prompt 3)\n"
        "=== END CHARACTER_SHEET ==="
    )
    names = [one.name for one in made.segments]
    sheet = names.index(SegmentName.CHARACTER_SHEET)
    assert names.index(SegmentName.AGENT_IDENTITY) < sheet < names.index(SegmentName.STRUCTURED_MEMORY)


@pytest.mark.parametrize(("style", "most"), [(PromptStyle.FULL, 600), (PromptStyle.SMALL, 160)])
def test_a_long_sheet_keeps_its_newest_and_its_pinned_lines(style: PromptStyle, most: int) -> None:
    lines = [line(number, f"Thing {number} of many that she owns.") for number in range(1, 101)]
    lines[4] = lines[4]._replace(item=replace(lines[4].item, is_pinned=True))
    made = context(ChapterBank(sheet=tuple(lines)), style)
    [segment] = [one for one in made.segments if one.name is SegmentName.CHARACTER_SHEET]
    assert segment.tokens <= most
    assert "Thing 5 of" in segment.text
    assert "Thing 100 of" in segment.text
    assert "Thing 1 of" not in segment.text
    kept = segment.text.count("Thing ")
    assert f"{100 - kept} older lines of its sheet (no room)" in made.left_out


def test_a_sheet_of_thousands_of_lines_is_measured_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    made = AgentSetup.fenced

    def counted(setup: AgentSetup, name: SegmentName, text: str) -> Segment:
        if name is SegmentName.CHARACTER_SHEET:
            texts.append(text)
        return made(setup, name, text)

    monkeypatch.setattr(AgentSetup, "fenced", counted)
    lines = tuple(line(number, f"Thing {number} of many.") for number in range(1, 3_001))
    assert "Thing 3000 of" in sheet_in(context(ChapterBank(sheet=lines)))
    assert len(texts) < 20


def test_the_sheet_gives_its_room_to_what_an_input_needs() -> None:
    bank = ChapterBank(sheet=tuple(line(number, f"Thing {number}.") for number in range(1, 9)))
    needed = context(NO_BANK).tokens
    made = context(bank, room=needed + 10)
    assert made.tokens <= needed + 10
    assert not sheet_in(made)
    assert "8 older lines of its sheet (no room)" in made.left_out


def test_why_there_is_nothing_of_the_bank_is_said() -> None:
    assert context(ChapterBank(left_out=("The memory bank (late)",))).left_out == ("The memory bank (late)",)
