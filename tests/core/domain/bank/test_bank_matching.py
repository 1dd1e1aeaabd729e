"""What the bank has of something new is found by names and words; a model is asked about what is in doubt."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.audience import Audience
from core.domain.bank.details import (
    Aspect,
    Details,
    EventDetails,
    FactDetails,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.bank.matching import (
    AlikeByWords,
    BankIndex,
    Likeness,
    Match,
    has_same_text,
    item_name_key,
    state_key,
)
from core.domain.ids import ItemId
from core.domain.slot import Slot
from tests.core.values.bank import fact


def item(
    number: int, name: str, text: str, details: Details | None = None, about: Slot | None = None
) -> Item:
    made = replace(fact(number, name=name, text=text), details=details or FactDetails(), about=about)
    return replace(made, id=ItemId(UUID(int=number)))


def test_items_that_may_say_the_same_are_in_groups_within_their_kind_label_and_character() -> None:
    first = item(1, "The brass key", "Kara hid the brass key under the mill.")
    again = item(2, "A key", "Kara hid the brass key under the mill wheel.")
    again = replace(again, prompt_index=9, evidence=())
    third = item(3, "the brass key", "Kara hid the brass key in the mill pond.")
    third = replace(third, prompt_index=5, evidence=())
    private = replace(first, id=ItemId(UUID(int=4)), label=Audience.of((Slot.RED,)))
    place = item(5, "The brass key", "An inn below the mill.", PlaceDetails())
    states = [
        item(number, "Key", "Has the key.", StateDetails(aspect=Aspect.POSSESSION), Slot.RED)
        for number in (6, 7)
    ]
    threads = [
        item(number, "Who has the key?", "Nobody knows who has it.", ThreadDetails(is_closed=number > 8))
        for number in (8, 9)
    ]
    others = [private, place, *states, *threads]
    assert AlikeByWords([first, again, *others, third]).groups() == [(again, third, first)]


def test_items_that_mean_the_same_are_in_one_group_unless_only_their_names_are_alike() -> None:
    key = item(1, "The brass key", "Kara hid it under the mill.")
    words = item(2, "What opens the chest", "Something lies below grinding stones.")
    named = item(3, "the brass key", "Nobody knows who owns this now.")
    person = item(4, "Old Tam", "He keeps it.", PersonDetails())
    gone = ItemId(UUID(int=99))
    pairs = [(key.id, other) for other in (words.id, named.id, person.id, gone)]
    assert AlikeByWords([key, words, named, person]).groups(pairs) == [(key, words)]


KEY = item(1, "The brass key", "Kara hid the brass key under the mill.")
MILLER = item(2, "Old Tam", "He keeps the mill.", PersonDetails())


@pytest.mark.parametrize(
    ("name", "text", "likeness"),
    [
        ("the brass key", "Kara hid the brass key in the mill pond.", Likeness.SAME),
        ("What Kara hid", "Kara hid the brass key under the mill wheel.", Likeness.SAME),
        ("The key", "Someone hid the brass key.", Likeness.DOUBTFUL),
        ("The brass key", "Nobody knows who owns it now.", Likeness.DOUBTFUL),
        ("The bridge", "The bridge is shut since autumn.", Likeness.NEW),
    ],
)
def test_a_fact_is_the_same_by_its_words(name: str, text: str, likeness: Likeness) -> None:
    match = BankIndex([KEY, MILLER]).match(item(9, name, text))
    assert match.likeness is likeness
    assert match.items == (() if likeness is Likeness.NEW else (KEY,))


@pytest.mark.parametrize(
    ("name", "likeness"),
    [("old TAM", Likeness.SAME), ("Tam", Likeness.DOUBTFUL), ("Bill", Likeness.NEW)],
)
def test_a_person_is_the_same_by_name(name: str, likeness: Likeness) -> None:
    new = item(9, name, "He keeps the mill.", PersonDetails())
    assert BankIndex([KEY, MILLER]).match(new).likeness is likeness


def test_a_person_is_no_place() -> None:
    assert BankIndex([MILLER]).match(item(9, "Old Tam", "A rock.", PlaceDetails())) == Match()


def test_a_state_is_of_one_character_and_the_newest_of_its_kind() -> None:
    arm = item(1, "Left arm", "It bleeds.", StateDetails(aspect=Aspect.WOUND), Slot.RED)
    place = item(2, "The mill", "At the mill.", StateDetails(aspect=Aspect.WHEREABOUTS), Slot.RED)
    index = BankIndex([arm, place])
    bound = item(9, "left arm", "It is bound.", StateDetails(aspect=Aspect.WOUND), Slot.RED)
    assert index.match(bound) == Match(Likeness.SAME, (arm,))
    assert index.match(replace(bound, about=Slot.BLUE)) == Match()
    assert index.match(replace(bound, name="Right arm")) == Match()
    elsewhere = item(9, "The bridge", "On it.", StateDetails(aspect=Aspect.WHEREABOUTS), Slot.RED)
    assert index.match(elsewhere) == Match(Likeness.SAME, (place,))


def test_how_two_stand_is_one_state_for_each_other_one() -> None:
    to_tam = StateDetails(aspect=Aspect.RELATION, other="Tam")
    assert state_key("Trust", to_tam) == state_key("Mistrust", replace(to_tam, other="tam"))
    assert state_key("Trust", to_tam) != state_key("Trust", replace(to_tam, other="Bill"))


def test_a_quote_is_the_same_by_its_words_alone() -> None:
    said = item(1, "An oath", "I never row again.", QuoteDetails(speaker="Jonas"))
    index = BankIndex([said])
    assert index.match(replace(said, name="His words", text="“I never row again”")).likeness is Likeness.SAME
    assert index.match(replace(said, text="I never row back again.")).likeness is Likeness.NEW


@pytest.mark.parametrize("details", [FactDetails(), ThreadDetails(), PersonDetails()])
def test_meaning_finds_what_words_do_not(details: Details) -> None:
    old = item(1, "Ferry", "Odo rows people over.", details)
    new = item(9, "Boatman", "A man takes travellers across.", details)
    index = BankIndex([old])
    assert index.match(new).likeness is Likeness.NEW
    assert index.match(new, lambda one, other: 0.85) == Match(Likeness.SAME, (old,))
    assert index.match(new, lambda one, other: 0.84) == Match()


def test_an_event_that_happens_again_with_another_number_or_end_is_asked_about() -> None:
    paid = item(1, "Kara pays", "Kara pays the ferryman three coins.", EventDetails())
    index = BankIndex([paid])
    [proof] = paid.evidence
    later = replace(proof, prompt_index=9)

    def again(text: str, words: Evidence = later) -> Item:
        return replace(paid, id=ItemId(UUID(int=9)), text=text, evidence=(words,))

    for text in ("Kara pays the ferryman five coins.", "Kara pays the ferryman 3 coins."):
        assert index.match(again(text)) == Match(Likeness.DOUBTFUL, (paid,))
        assert index.match(again(text, proof)) == Match(Likeness.SAME, (paid,)), "the same words prove it"
        assert index.match(replace(again(text), name="Elsewhere"), lambda one, other: 0.9).items == (paid,)
    assert index.match(again(paid.text)) == Match(Likeness.SAME, (paid,)), "nothing new is said"


def test_two_long_texts_with_one_other_number_do_not_say_the_same() -> None:
    words = " ".join(f"{one}{other}word" for one in "abcdefgh" for other in "abcdefgh")
    one = item(1, "A debt of 30", words)
    assert has_same_text(one, item(2, "A debt of 30", f"{words} other"))
    assert not has_same_text(one, item(2, "A debt of 40", words))


def test_meaning_makes_no_state_or_quote_of_one_the_same() -> None:
    trait = item(1, "Brave", "She goes first.", TraitDetails(), Slot.RED)
    other = item(9, "Bold", "He leads.", TraitDetails(), Slot.BLUE)
    assert BankIndex([trait]).match(other, lambda one, two: 1.0) == Match()


@given(
    st.lists(
        st.sampled_from(
            ["the", "brass", "key", "lies", "under", "old", "mill", "bridge", "Tam", "7", "灰", "ünder"]
        ),
        min_size=3,
    )
)
def test_an_item_that_is_there_is_always_found(words: list[str]) -> None:
    known = item(1, " ".join(words[:3]), " ".join(words))
    assert BankIndex([known]).match(replace(known, id=ItemId(UUID(int=9)))).items == (known,)


@given(st.text(min_size=1, max_size=40))
def test_a_name_has_a_key_whatever_it_is(name: str) -> None:
    assert item_name_key(name) == item_name_key(f" {name} ")


def test_items_of_a_script_without_spaces_are_not_the_same_for_having_the_same_letters() -> None:
    lamp = item(1, "ตะเกียง", "คาราวางตะเกียงลงบนโต๊ะแล้วหันมามองเขา")
    key = item(2, "กุญแจ", "เขามองตะเกียงบนโต๊ะแล้ววางกุญแจลงหน้าคารา")
    again = item(3, "ตะเกียง", "คาราวางตะเกียงลงบนโต๊ะแล้วหันมามองเขาช้า ๆ")
    assert AlikeByWords([lamp, key, again]).groups() == [(lamp, again)]
