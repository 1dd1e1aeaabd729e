"""The facts that `make canon` plants, its questions, and how it judges what it measured."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.canon import __main__ as canon
from bench.canon.concepts import DEEDS, LOOKS, PLACES, STATES, THINGS, TRADES
from bench.canon.facts import FactMaker, content_words
from bench.canon.frames import FRAMES, FactKind
from bench.canon.measure import Result, Results, Way
from bench.canon.report import DENSE, LONG, SHORT, SPARSE, Figures
from bench.canon.story import DISTANCES, write_next, write_story
from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Validation
from core.domain.slot import Slot
from core.domain.story.event import Role

CONCEPTS = (*TRADES, *PLACES, *THINGS, *LOOKS, *DEEDS, *STATES)


def test_a_concept_is_described_without_a_word_of_its_name() -> None:
    shared = {one.name: content_words(one.name) & content_words(one.described) for one in CONCEPTS}
    assert not {name: words for name, words in shared.items() if words}
    assert len({one.name for one in CONCEPTS}) == len({one.described for one in CONCEPTS}) == len(CONCEPTS)


@pytest.mark.parametrize("kind", FactKind)
def test_the_frames_of_a_question_share_no_word_with_facts_and_one_has_no_comma(kind: FactKind) -> None:
    subjects = dict.fromkeys(("who", "where", "what", "look"), "")
    asked = [content_words(frame.format(**subjects)) for frame in FRAMES[kind]]
    names = set().union(*(content_words(one.name) for one in CONCEPTS))
    facts = [fact for fact, _ in zip(FactMaker(3).facts(kind), range(300), strict=False)]
    said = names.union(*(content_words(text) for fact in facts for text in (fact.said, *fact.other_values)))
    assert not [words & said for words in asked if words & said]
    assert len(asked) >= 3
    assert any("," not in frame and ":" not in frame and "." not in frame for frame in FRAMES[kind])
    for frame in FRAMES[kind]:
        asked_so = re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(frame)), re.IGNORECASE)
        assert any(asked_so.fullmatch(fact.question) for fact in facts)


@pytest.mark.parametrize("kind", FactKind)
def test_a_question_shares_no_word_with_its_fact_and_no_two_facts_are_about_the_same(kind: FactKind) -> None:
    maker = FactMaker(7)
    facts = [fact for fact, _ in zip(maker.facts(kind), range(300), strict=False)]
    assert all(not content_words(fact.said) & content_words(fact.question) for fact in facts)
    assert len({fact.about for fact in facts}) == len({fact.said for fact in facts}) == 300


def test_the_same_seed_draws_the_same_facts_and_another_one_others() -> None:
    first, again, other = (next(FactMaker(seed).facts(FactKind.NAME)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_story_says_each_fact_once_and_its_bank_has_it_with_its_proof() -> None:
    story = write_story(seed=3, prompts=140, items=120, questions=2)
    replies = [event for event in story.changes.events if event.role is Role.AGENT]
    assert len(replies) == 140
    assert len(story.items) == 120
    assert not [problem for item in story.items for problem in problems_of_item(item)]
    for item in story.items:
        saying = [event for event in replies if item.text in event.text]
        assert [event.prompt_index for event in saying] == [item.prompt_index]
        assert saying[0].audience == item.label
    near = [distance for distance in DISTANCES if distance <= 140]
    assert {one.distance for one in story.planted} == {*near}
    assert len(story.planted) == len(near) * len(FactKind) * 2
    by_text = {item.text: item for item in story.items}
    secret = [by_text[one.fact.said] for one in story.planted if one.fact.kind is FactKind.SECRET]
    assert all(item.label.slots == {Slot.RED} for item in secret)
    kept = {item.text for item in story.items if item.is_pinned or item.validation is Validation.CONFIRMED}
    assert kept == {one.fact.said for one in story.planted if one.is_kept}


def test_a_state_told_otherwise_before_has_an_item_of_its_own_that_the_newer_one_replaces() -> None:
    story = write_story(seed=7, prompts=700, items=500, questions=8)
    by_text = {item.text: item for item in story.items}
    changed = [one for one in story.planted if one.outdated]
    states = [one for one in story.planted if one.fact.kind is FactKind.STATE]
    assert len(states) == 24
    assert [len(one.outdated) for one in states] == [0, 1, 0, 2] * 6
    assert len(story.items) == len(by_text) == 500
    for one in changed:
        chain = [by_text[said] for said in (*one.outdated, one.fact.said)]
        assert [item.supersedes for item in chain] == [None, *(item.id for item in chain[:-1])]
        assert len({item.label for item in chain}) == len({item.name for item in chain}) == 1
        places = [item.evidence[0].prompt_index for item in chain]
        assert places == sorted(set(places))
        assert [len(item.evidence) for item in chain] == list(range(1, len(chain) + 1))
        said = content_words(" ".join(item.text for item in chain))
        assert not said & content_words(one.fact.question)
    assert sum(item.supersedes is not None for item in story.items) == sum(
        len(one.outdated) for one in changed
    )


def test_the_next_chapter_changes_states_once_more_but_none_that_the_gm_kept() -> None:
    first = write_story(seed=7, prompts=700, items=500, questions=8)
    following = write_next(first)
    before = {item.id: item for item in first.items}
    assert not [problem for item in following.items for problem in problems_of_item(item)]
    replaced = {item.text: before[item.supersedes] for item in following.items if item.supersedes}
    assert len(replaced) == len(following.items) == 9
    assert not any(item.is_kept for item in replaced.values())
    heard = {event.prompt_index: event.audience for event in following.changes.events}
    for one, then in zip(following.planted, first.planted, strict=True):
        if one.fact.said in replaced:
            assert one.outdated == (*then.outdated, then.fact.said)
            assert replaced[one.fact.said].text == then.fact.said
        else:
            assert one == then
    for item in following.items:
        assert item.label == heard[item.prompt_index] == replaced[item.text].label
        assert len(item.evidence) == 1
    assert any(len(one.outdated) == 3 for one in following.planted)


def test_items_have_the_kinds_that_extraction_gives_such_facts() -> None:
    story = write_story(seed=3, prompts=140, items=120, questions=2)
    kinds = {item.text: item.kind for item in story.items}
    found = {one.fact.kind: kinds[one.fact.said] for one in story.planted}
    assert found == {
        FactKind.NAME: ItemKind.PERSON,
        FactKind.NUMBER: ItemKind.FACT,
        FactKind.PROMISE: ItemKind.THREAD,
        FactKind.POSSESSION: ItemKind.FACT,
        FactKind.STATE: ItemKind.FACT,
        FactKind.SECRET: ItemKind.THREAD,
    }


NONE_SLOW: Mapping[str, float] = {}


def figures(seed: int, found: int, outdated: int = 0, slow: Mapping[str, float] = NONE_SLOW) -> Figures:
    """Return what a run with two questions of each distance measured, of which `found` were answered."""

    def results() -> Results:
        made = {}
        for way in Way:
            for distance in (7, 70):
                result = Result(asked=2, found=found, kept_asked=1, kept_found=1, changed_asked=1)
                result.outdated = outdated
                result.tokens, result.milliseconds, result.recall_milliseconds = [9_000], [12.0], [6.0]
                made[way, distance] = result
        return made

    return Figures(
        seeds=(seed,),
        prompts=70,
        items=50,
        vectors_seconds=1.0,
        question_vector_milliseconds=2.0,
        tokens=(192_000, 8_112),
        results=results(),
        small=results(),
        book=results(),
        in_turns={name: [1.0, slow.get(name, 2.0), 9.0] for name in (LONG, SHORT, SPARSE, DENSE)},
    )


def run(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *seeds: int,
    found: int,
    outdated: int = 0,
    slow: Mapping[str, float] = NONE_SLOW,
) -> tuple[int, Path]:
    async def measure(seed: int, *_: object, compares: bool) -> Figures:
        return figures(seed, found if seed == seeds[0] else 2, outdated, slow)

    monkeypatch.setattr(canon, "measure", measure)
    file = tmp_path / "canon.json"
    return canon.main(["--prompts", "70", "--json", str(file), "--seed", *map(str, seeds)]), file


def test_a_run_that_meets_every_goal_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = run(monkeypatch, tmp_path, 7, found=2)
    assert code == 0
    assert "Every goal is met." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "outdated", "slow", "missed"),
    [
        (1, 0, NONE_SLOW, "recall by both, farthest ≥ 0.95 (it is 0.500)"),
        (2, 1, NONE_SLOW, "older values recalled 0 (it is 1.000)"),
        (2, 0, {SPARSE: 3.0}, "input, more prompts with few items ≤ 1.2 × (it is 1.500)"),
        (2, 0, {LONG: 4.0, SHORT: 4.0}, "input, more prompts with as many items ≤ 1.2 × (it is 2.000)"),
    ],
)
def test_a_missed_goal_is_named_and_the_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: int,
    outdated: int,
    slow: Mapping[str, float],
    missed: str,
) -> None:
    code, _ = run(monkeypatch, tmp_path, 7, found=found, outdated=outdated, slow=slow)
    assert code == 1
    assert f"Missed: {missed}." in " ".join(capsys.readouterr().out.split())


def test_several_seeds_are_printed_each_and_judged_over_all_their_questions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, file = run(monkeypatch, tmp_path, 7, 99, 3, found=1)
    assert code == 1
    out = capsys.readouterr().out
    assert all(f"Canon, seed {which}: asked in the same" in out for which in ("7", "99", "3", "7, 99, 3"))
    assert "(it is 0.833)" in out
    stored = json.loads(file.read_text("utf-8"))
    assert [one["seeds"] for one in stored["seeds"]] == [[7], [99], [3]]
    both = [one["results"]["bank by both, 70"] for one in (*stored["seeds"], stored["total"])]
    assert [one["asked"] for one in both] == [2, 2, 2, 6]
    assert [one["recall"] for one in both] == [0.5, 1.0, 1.0, pytest.approx(5 / 6)]


def test_more_facts_than_a_chapter_has_room_for_are_refused() -> None:
    with pytest.raises(ValueError, match="70 prompts have no room for so many facts"):
        write_story(seed=2, prompts=70, items=500, questions=1)


def test_a_kind_that_is_used_up_ends_and_the_others_fill_the_bank() -> None:
    things = list(FactMaker(5).facts(FactKind.POSSESSION))
    assert len({fact.about for fact in things}) == len(things) <= len(LOOKS) * len(THINGS)
    assert len(write_story(seed=2, prompts=1_400, items=3_500, questions=1).items) == 3_500
