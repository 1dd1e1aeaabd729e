"""What a chapter moves without a model: exposure by counting, fading, and what says the same."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.domain.ids import SessionId, new_uuid
from core.domain.proposal import Occasion
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.proposals import of_chapter
from core.library.proposals.exposure import after_mentions, faded, mentions, neglected
from core.library.proposals.making import ProposalMaker
from core.library.proposals.of_chapter import (
    duplicates,
    merged,
    of_exposure,
    of_fading,
    of_merging,
)
from core.library.proposals.taking import taken
from tests.core.library.proposals.proposal_samples import NOW, mira

CHAPTER = SessionId(new_uuid())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("THE SEA is loud tonight, the sea!", 1),
        ("the-sea", 1),
        ("The season of storms.", 0),
        ("Sea the.", 0),
        ("“The\nsea…”", 1),
        ("", 0),
    ],
)
def test_a_text_mentions_a_topic_by_its_whole_name_whatever_the_case(text: str, count: int) -> None:
    assert mentions(Topic(name="The sea"), [text]) == count
    assert mentions(Topic(name="The sea"), [text, text]) == 2 * count


def test_a_topic_named_by_signs_alone_is_never_mentioned() -> None:
    assert mentions(Topic(name="!?"), ["!?", "What!?"]) == 0


@pytest.mark.parametrize(
    ("before", "count", "after"),
    [(0.0, 1, 0.2), (0.5, 1, 0.6), (0.5, 2, 0.68), (0.25, 10, 0.92), (1.0, 5, 1.0), (0.0, 10_000, 1.0)],
)
def test_each_mention_goes_a_fifth_of_the_way_to_full_exposure(
    before: float, count: int, after: float
) -> None:
    assert after_mentions(before, count) == after


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.9), (0.3, 0.2), (0.05, 0.0), (0.0, 0.0)])
def test_what_is_not_mentioned_loses_a_tenth_down_to_nothing(before: float, after: float) -> None:
    assert faded(before) == after


def test_a_topic_rises_with_its_mentions_or_fades_without_and_never_both() -> None:
    character = mira()
    texts = ["Tell me of the sea.", "The sea took him."]
    [rises] = of_exposure(ProposalMaker(character, CHAPTER, NOW), texts)
    [fades] = of_fading(ProposalMaker(character, CHAPTER, NOW), texts)
    changed = taken(taken(character, rises), fades)
    assert [topic.exposure_now for topic in changed.topics] == [0.52, 0.0]
    assert rises.why == "The chapter mentions it in 2 of Mira's prompts and replies."
    assert (rises.occasion, fades.occasion) == (Occasion.EXPOSURE, Occasion.FADE)
    assert changed == replace(character, topics=changed.topics), "nothing else moves"


def test_what_has_faded_to_nothing_is_not_proposed_again() -> None:
    character = replace(mira(), topics=(Topic(name="Bread"),))
    assert not [*of_fading(ProposalMaker(character, CHAPTER, NOW), [])]
    assert not [*of_exposure(ProposalMaker(character, CHAPTER, NOW), [])]


SAME = [
    (Trait(name="Patient"), Trait(name="patient")),
    (Trait(name="Afraid of fire"), Trait(name="Of fire, afraid")),
    (
        Trait(name="Fearless", description="She goes first into every dark room of the tower."),
        Trait(name="Fearless!", description="She goes first into each dark room of the tower."),
    ),
    (
        Topic(name="Sea", perspective="The sea takes what it wants, and gives nothing back to us."),
        Topic(name="Seas", perspective="The sea takes what it wants, and gives nothing back to us."),
    ),
]
DIFFERENT = [
    (Trait(name="Patient", description="She waits."), Trait(name="Brave", description="She goes first.")),
    (Topic(name="The sea"), Topic(name="The seal")),
    (Topic(name="海"), Topic(name="山")),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_that_say_the_same_in_almost_the_same_words_are_found(one: Any, other: Any) -> None:
    assert list(duplicates([one, other])) == [(one, other)]
    assert list(duplicates([other, one])) == [(other, one)]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_two_that_differ_are_left_apart(one: Any, other: Any) -> None:
    assert not list(duplicates([one, other]))


def test_of_three_that_say_the_same_two_are_merged_first() -> None:
    three = [Trait(name="Afraid of fire"), Trait(name="of fire afraid"), Trait(name="fire afraid of")]
    assert [*duplicates(three)] == [(three[0], three[1])]


def test_each_of_many_topics_is_read_once_and_not_for_each_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def words(text: str) -> list[str]:
        read.append(text)
        return text.split()

    monkeypatch.setattr(of_chapter, "words_of", words)
    assert not [*duplicates([Topic(name=str(number)) for number in range(20)])]
    assert len(read) <= 40


def test_merging_keeps_every_text_once_and_the_higher_strength() -> None:
    one = Trait(name="Patient", description="She waits.", strength=0.3, sentiment=1.0)
    other = Trait(name="Patient!", description="Nothing hurries her.", strength=0.8, sentiment=0.0)
    assert merged(one, other) == Trait(
        name="Patient", description="She waits.\nNothing hurries her.", strength=0.8, sentiment=0.5
    )
    assert merged(one, replace(other, description="waits.")) == Trait(
        name="Patient", description="She waits.", strength=0.8, sentiment=0.5
    )
    kind = merged(replace(one, description="Unkind to strangers."), replace(other, description="kind"))
    assert kind is not None
    assert kind.description == "Unkind to strangers.\nkind", "a text within a word is another text"
    known = merged(replace(one, description="她很善良。"), replace(other, description="善良"))
    assert known is not None
    assert known.description == "她很善良。"
    long = replace(other, description="x" * 1_995)
    assert merged(one, long) is None, "nothing is cut"
    character = replace(mira(), traits=(one, other))
    [proposal] = of_merging(ProposalMaker(character, CHAPTER, NOW))
    assert taken(character, proposal).traits == (merged(one, other),)


def of_days(days: float, **fields: object) -> LibraryCharacter:
    topic = Topic(name="The sea", exposure_now=0.1, exposure_desired=0.8)
    character = replace(mira(), topics=(topic,), created_at=NOW - timedelta(days=days))
    return replace(character, **fields)  # type: ignore[arg-type]


def test_a_wanted_topic_is_neglected_after_three_days_without_a_word_or_a_change() -> None:
    topics = of_days(3).topics
    assert neglected(of_days(3), [], {}, NOW) == topics
    assert not neglected(of_days(2.9), [], {}, NOW)
    assert not neglected(of_days(3), ["The sea!"], {}, NOW)
    assert not neglected(of_days(9), [], {"the sea": NOW - timedelta(days=1)}, NOW)
    assert neglected(of_days(9), [], {"the sea": NOW - timedelta(days=4)}, NOW) == topics
    content = replace(topics[0], exposure_now=0.8)
    assert not neglected(of_days(9, topics=(content,)), [], {}, NOW)


def test_the_most_neglected_topic_comes_first() -> None:
    character = of_days(9)
    least = Topic(name="Bread", exposure_now=0.0, exposure_desired=1.0)
    topics = (*character.topics, least)
    assert neglected(replace(character, topics=topics), [], {}, NOW) == (least, character.topics[0])
