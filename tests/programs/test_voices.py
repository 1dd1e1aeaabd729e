"""What `make voices` counts, and that it finds nothing to complain of in good prose."""

from itertools import pairwise

import pytest

from bench.voices.good_service import read_prose
from bench.voices.measures import Played, Turn, measure, repeated_runs, speaks_for_others
from core.text.analysis.repetition import Repeatable, first_repeated

EXAMPLE = "I set my shoulder against it and try to push it aside."


def played(*replies: str, prompts: tuple[str, ...] = (), prose: str = "") -> Played:
    asked = prompts or tuple(f"Prompt {number}, and what do you do?" for number in range(len(replies)))
    turns = [
        Turn("Kara Tolland", ("Joss Bellamy",), prompt, reply)
        for prompt, reply in zip(asked, replies, strict=True)
    ]
    return Played(
        turns=tuple(turns),
        instructions=("Speak as this character.", EXAMPLE),
        prose=prose,
        written=prose,
        target_words=10,
        calls=len(replies) + 1,
        seconds=8.0,
        whole_seconds=9.0,
    )


def test_replies_that_were_given_before_are_not_distinct() -> None:
    first = "I go down to the boat and count the oars."
    assert measure([played(first, "I wait.", "I wait.", first.upper())]).distinct == 0.5
    assert measure([played(first), played(first)]).distinct == 1.0, (
        "chapters are not compared with each other"
    )


def test_what_stands_in_the_prompt_or_was_said_by_the_gm_is_parroted() -> None:
    told = ("The water rises over the lowest step, slowly.", "What now?", "And now?")
    parrot = measure([played(EXAMPLE, told[0], "The lamp is out, so I light it.", prompts=told)])
    assert parrot.parroted == 2
    early = measure([played(told[0], "I wait.", "I wait.", prompts=(told[1], told[0], told[2]))])
    assert early.parroted == 0, "nobody repeats what is said only later"


@pytest.mark.parametrize(
    ("reply", "speaks"),
    [
        ("I wait.\n\nJoss Bellamy: I will not wait.", True),
        ("I wait.\nJoss: Me too.", True),
        ("I wait.\n3) The water rises.", True),
        ("GM: The door breaks.", True),
        ('"Come here," says Joss, and he opens the door.', True),
        ('"Come here," I say to Joss: he is too slow for my taste.', False),
        ("Kara Tolland: I wait.", False),
        ("I ask Joss Bellamy what he has seen.", False),
    ],
)
def test_who_speaks_for_another_is_counted(reply: str, speaks: bool) -> None:
    assert speaks_for_others(Turn("Kara Tolland", ("Joss Bellamy",), "Well?", reply)) is speaks


def test_shares_lengths_and_calls_are_those_of_the_texts() -> None:
    told = measure([played("I wait. I listen.", "The sea is grey.", prose="One two three four five.")])
    assert (told.replies, told.first_person, told.median_words, told.median_sentences) == (2, 0.5, 4, 1.5)
    named_by_none = measure([played('I wait. "Come," she says.', "I ask what they know.")])
    assert (named_by_none.he_she_they_say, named_by_none.for_others) == (0.5, 0.0)
    assert (told.prose_words, told.prose_length) == (5, 0.5)
    assert (told.calls_a_reply, told.seconds_a_reply, told.seconds) == (1.5, 4.0, 9.0)
    assert repeated_runs([["a b c d e", "a b c d"]]) == pytest.approx(1 / 3)
    assert repeated_runs([["a b c d e"], ["a b c d"]]) == 0.0, "chapters are not compared with each other"
    assert repeated_runs([["a b c"]]) == 0.0


def test_the_stand_in_for_a_good_model_has_prose_of_its_own_for_the_longest_example() -> None:
    replies, chapter = read_prose()
    assert len(replies) >= 22
    good = measure([played(*replies, prose=chapter)])
    assert (good.distinct, good.parroted, good.for_others, good.first_person) == (1.0, 0, 0.0, 1.0)
    given = [Repeatable("a reply", reply) for reply in replies]
    assert not any(first_repeated(later.text, [earlier]) for earlier, later in pairwise(given))
