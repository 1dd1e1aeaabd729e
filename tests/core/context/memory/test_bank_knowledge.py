"""What a character may know of the memory bank: its own sheet, and what was recalled within its label."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.context.bank import (
    BankChapter,
    ChapterBank,
    Recalled,
    Remembered,
    same_characters,
    still_counting,
    this_chapter,
)
from core.context.visibility import Story, known_to
from core.domain.audience import EVERYONE, LARGEST_MASK, Audience
from core.domain.bank.item import Replacement
from core.domain.ids import CharacterId, SessionId
from core.domain.session.cast import Character
from core.domain.session.profile import Profile
from core.domain.session.session import Session
from core.domain.slot import Slot
from tests.core.values.bank import fact

NOW = datetime(2026, 11, 25, tzinfo=UTC)
RED, ORANGE, YELLOW, *_ = Slot
SESSION = Session(id=SessionId(UUID(int=1)), created_at=NOW, updated_at=NOW)


def character(slot: Slot, name: str, *aliases: str, library: int | None = None) -> Character:
    kept = None if library is None else CharacterId(UUID(int=library))
    return Character(slot=slot, given_name=name, profile=Profile(character_id=kept, aliases=aliases))


@given(label=st.integers(0, LARGEST_MASK), about=st.sampled_from(list(Slot)), own=st.sampled_from(list(Slot)))
def test_a_character_has_of_the_bank_only_its_own_sheet_and_what_its_label_lets_it_know(
    label: int, about: Slot, own: Slot
) -> None:
    line = Remembered(item=fact(), label=Audience.of_mask(label), about=about)
    bank = ChapterBank((line,), (Recalled(found=line, rank=1),))

    known = known_to(Character(slot=own), Story(SESSION, (), ()), bank=bank).bank

    assert (known.sheet == (line,)) is (own in line.label and own is about)
    assert (known.recalled == bank.recalled) is (own in line.label)


def test_an_item_of_this_chapter_keeps_its_label() -> None:
    private = fact(label=Audience.of((RED,)))
    here = this_chapter(SESSION)

    assert here.remembered(private, SESSION).label == Audience.of((RED,))
    assert here.remembered(fact(), SESSION).label == EVERYONE


def test_what_everyone_knew_in_an_earlier_chapter_is_unknown_to_one_who_came_later() -> None:
    earlier = BankChapter(session_id=SessionId(UUID(int=2)), number=1, slots={RED: ORANGE, ORANGE: RED})
    item = replace(fact(), about=RED)

    found = earlier.remembered(item, SESSION)

    assert found.label == Audience.of((RED, ORANGE))
    assert found.about is ORANGE
    assert found.place == "chapter 1, prompt 3"


def test_an_item_of_one_who_no_longer_plays_is_known_to_no_one_here() -> None:
    earlier = BankChapter(session_id=SessionId(UUID(int=2)), number=1, slots={ORANGE: RED})
    item = replace(fact(label=Audience.of((RED,))), about=RED)

    found = earlier.remembered(item, SESSION)

    assert not found.label.slots
    assert found.about is None


def test_each_line_of_a_book_is_asked_only_about_what_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = replace(this_chapter(SESSION), session_id=SessionId(UUID(int=2)))
    here = this_chapter(SESSION)
    lines = [earlier.remembered(fact(number), SESSION) for number in range(1, 101)]
    replacements = [
        Replacement(
            item_id=line.item.id,
            session_id=earlier.session_id,
            replaced_in=here.session_id,
            label=EVERYONE if line.item.id.int > 1 else Audience.of((RED,)),
        )
        for line in lines[:50]
    ]
    asked, includes = list[Audience](), Audience.includes

    def noted(self: Audience, other: Audience) -> bool:
        asked.append(other)
        return includes(self, other)

    monkeypatch.setattr(Audience, "includes", noted)
    left = still_counting(lines, replacements, (earlier, here), SESSION)
    assert left == [lines[0], *lines[50:]]
    assert len(asked) == len(replacements)


def test_the_same_character_is_found_by_its_origin_then_its_name_then_its_other_names() -> None:
    there = (character(RED, "Kara", library=7), character(ORANGE, "joss"), character(YELLOW, "Old Bill"))
    here = (
        character(RED, "Joss"),
        character(ORANGE, "Kara of the Hill", library=7),
        character(YELLOW, "Bill", "old bill"),
    )

    assert same_characters(there, here) == {RED: ORANGE, ORANGE: RED, YELLOW: YELLOW}


def test_two_characters_of_the_library_with_one_name_are_not_the_same() -> None:
    assert not same_characters((character(RED, "Kara", library=7),), (character(RED, "Kara", library=8),))


def test_a_name_that_could_mean_two_means_neither() -> None:
    there = (character(RED, "The twin"),)
    here = (character(RED, "Ann", "the twin"), character(ORANGE, "Bea", "the twin"))

    assert not same_characters(there, here)
