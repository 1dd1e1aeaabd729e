"""Traits and topics as they are typed: one among others, within bounds that are said."""

from datetime import UTC, datetime

import pytest

from core.domain.errors import ChangedElsewhereError, IllegalCommandError
from core.domain.ids import CharacterId, new_uuid
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.characters.checks import BOUNDS, problems_of_character
from core.library.characters.nature import Nature, called, shown_fields, typed, with_item, without_item

NOW = datetime(2026, 11, 25, tzinfo=UTC)
PROUD, SHY = Trait(name="Proud", strength=1 / 3), Trait(name="Shy")
SEA = Topic(name="The sea", perspective="A thief.\nOf men.", exposure_now=0.123456789)


def kara(*items: Nature) -> LibraryCharacter:
    return LibraryCharacter(
        id=CharacterId(new_uuid()),
        name="Kara",
        traits=tuple(one for one in items if isinstance(one, Trait)),
        topics=tuple(one for one in items if isinstance(one, Topic)),
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.parametrize("item", [PROUD, SHY, SEA], ids=lambda item: item.name)
def test_what_was_not_edited_stays_to_the_last_digit(item: Nature) -> None:
    assert typed(item, shown_fields(item)) == item


def test_numbers_are_read_with_a_point_or_a_comma() -> None:
    assert typed(PROUD, {"strength": " 0,25", "sentiment": "-1"}) == Trait(
        name="Proud", strength=0.25, sentiment=-1
    )


@pytest.mark.parametrize("text", ["", "much", "0x1", "1/2"])
def test_what_is_no_number_is_refused_with_the_bounds(text: str) -> None:
    with pytest.raises(IllegalCommandError, match="exposures from 0 to 1"):
        typed(SEA, {"exposure_now": text})


@pytest.mark.parametrize(
    ("item", "field", "text"),
    [
        (PROUD, "strength", "1.01"),
        (PROUD, "strength", "-0.1"),
        (PROUD, "sentiment", "-1.01"),
        (PROUD, "sentiment", "nan"),
        (SEA, "sentiment", "inf"),
        (SEA, "exposure_now", "2"),
        (SEA, "exposure_desired", "-1"),
    ],
)
def test_a_number_outside_of_its_bounds_is_not_stored(item: Nature, field: str, text: str) -> None:
    made = with_item(kara(item), typed(item, {field: text}), item)
    assert list(problems_of_character(made)) == [BOUNDS[type(item)]]


def test_an_item_goes_into_its_place_and_the_others_stay() -> None:
    one = kara(PROUD, SHY, SEA)
    bold = Trait(name="Bold")
    assert with_item(one, bold, PROUD).traits == (bold, SHY)
    assert with_item(one, bold, None).traits == (PROUD, SHY, bold)
    assert with_item(one, bold, None).topics == (SEA,)
    assert without_item(one, SEA).topics == ()
    assert without_item(one, SEA).traits == (PROUD, SHY)
    assert called(one.traits, "  PROUD") == PROUD


def test_what_was_changed_meanwhile_is_not_written_over() -> None:
    with pytest.raises(ChangedElsewhereError):
        with_item(kara(SHY), Trait(name="Bold"), PROUD)
    with pytest.raises(ChangedElsewhereError):
        without_item(kara(SHY), PROUD)
