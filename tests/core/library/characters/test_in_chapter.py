"""A character of the library beside one in a chapter: which fields differ, and what is taken over."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from core.domain.ids import CharacterId, new_uuid
from core.domain.session.profile import Profile
from core.library.characters.character import LibraryCharacter
from core.library.characters.in_chapter import SharedField, compared, identity_for, with_field

NOW = datetime(2026, 1, 2, tzinfo=UTC)
KARA = LibraryCharacter(
    id=CharacterId(new_uuid()),
    name="Kara",
    identity="{{char}} keeps the lamp.",
    created_at=NOW,
    updated_at=NOW,
)
plain_texts = st.text("ab {}<>é\n", max_size=40)


def test_a_chapter_takes_the_name_of_the_slot_for_a_macro_and_leaves_the_user_alone() -> None:
    told = replace(KARA, identity="{{char}} knows {{user}}. {{// not told }}<BOT> waits.")
    assert identity_for(told, "Joss") == "Joss knows {{user}}. Joss waits."


def test_what_chance_draws_stays_the_same_for_a_character() -> None:
    drawn = replace(KARA, identity="{{random:" + ",".join(map(str, range(500))) + "}} and {{roll:1d100000}}")
    assert identity_for(drawn, "Kara") == identity_for(drawn, "Kara")
    assert "{{" not in identity_for(drawn, "Kara")


def test_a_slot_without_a_name_is_compared_as_if_it_had_that_of_the_library() -> None:
    name, identity = compared(KARA, "", "")
    assert (name.chapter, name.library, name.is_same) == ("", "Kara", False)
    assert (identity.library, identity.is_same) == ("Kara keeps the lamp.", False)


def test_what_neither_side_says_besides_name_and_identity_is_no_field() -> None:
    assert [row.field for row in compared(KARA, "Kara", "")] == [SharedField.NAME, SharedField.IDENTITY]
    told = replace(KARA, group="Lamp", aliases=("Kay", "Lamp-Kara"), model="far:big")
    rows = compared(told, "Kara", "", Profile(group="Lamp", groups_visible=()))[2:]
    assert [(row.field, row.chapter, row.library) for row in rows] == [
        (SharedField.ALIASES, "", "Kay\nLamp-Kara"),
        (SharedField.GROUP, "Lamp", "Lamp"),
        (SharedField.GROUPS_VISIBLE, "", "General"),
        (SharedField.MODEL, "", "far:big"),
    ]


@given(
    chapter=st.builds(
        Profile, aliases=st.sampled_from([(), ("Kay", "K")]), group=st.sampled_from(["A", "B"])
    ),
    library=st.builds(
        Profile,
        short_description=st.sampled_from(["", "Two."]),
        groups_visible=st.sampled_from([(), ("A", "B")]),
    ),
)
def test_each_field_that_differs_can_be_taken_over_either_way(chapter: Profile, library: Profile) -> None:
    fields = {name: getattr(library, name) for name in ("short_description", "groups_visible")}
    character = replace(KARA, **fields)
    taken, put = chapter, character
    for row in compared(character, "Kara", "", chapter)[2:]:
        taken = with_field(taken, row.field, row.library)
        put = with_field(put, row.field, row.chapter)
    assert replace(taken, character_id=KARA.id) == character.profile
    assert put.profile == replace(chapter, character_id=KARA.id)


@given(identity=plain_texts)
def test_what_was_taken_over_differs_no_more_either_way(identity: str) -> None:
    character = replace(KARA, identity=identity)
    taken = {row.field: row.library for row in compared(character, "", "")}
    rows = compared(character, taken[SharedField.NAME], taken[SharedField.IDENTITY])
    assert all(row.is_same for row in rows)
    other = replace(character, name="Joss", identity="Another.")
    for row in compared(other, "Kara", "She keeps the lamp."):
        other = with_field(other, row.field, row.chapter)
    assert all(row.is_same for row in compared(other, "Kara", "She keeps the lamp."))
