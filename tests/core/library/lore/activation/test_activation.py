"""Which entries a text activates, in a table worked out by hand; and what a result says and remembers."""

from collections import Counter
from dataclasses import replace
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.lore.activation import compiled as compiled_module
from core.library.lore.activation import term_index as index_module
from core.library.lore.activation.keys import Term, is_in, read_key
from core.library.lore.activation.result import Outcome, Reason
from core.library.lore.activation.scan import MOST_PASSES
from core.library.lore.activation.scanner import Activation, LoreScanner
from core.library.lore.activation.scene import (
    ActivationInput,
    ScannedBook,
    ScannedMessage,
    ScanSettings,
    budget_of,
)
from core.library.lore.book import Lorebook, Position, Role
from core.library.lore.decorators import NO_DECORATORS, Decorators
from core.library.macros import MacroNames
from tests.core.library.lore.activation.activation_case import Case, activated, entry
from tests.core.library.lore.activation.cases_of_keys import CASES as OF_KEYS
from tests.core.library.lore.activation.cases_of_limits import CASES as OF_LIMITS
from tests.core.library.lore.activation.cases_of_recursion import CASES as OF_RECURSION
from tests.core.library.lore.activation.cases_of_time import CASES as OF_TIME

CASES = (*OF_KEYS, *OF_RECURSION, *OF_LIMITS, *OF_TIME)


def names(case: Case) -> str:
    return f"{case.source}: {case.rule}"


def uids(case: Case, scanner: LoreScanner | None = None) -> list[str]:
    return [one.outcome.uid for one in activated(case, scanner).active]


def outcome_of(activation: Activation, book: str, uid: str) -> Outcome:
    [found] = [one for one in activation.outcomes if (one.book, one.uid) == (book, uid)]
    return found


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_entries_are_active_that_the_rule_says(case: Case) -> None:
    found = uids(case)
    if isinstance(case.active, set):
        assert set(found) == case.active
        assert len(found) == len(case.active)
    else:
        assert found == case.active


def test_the_table_has_a_case_for_every_rule_and_no_two_of_one_name() -> None:
    assert len(CASES) >= 120
    assert len({names(case) for case in CASES}) == len(CASES)


def test_a_scanner_that_has_seen_other_books_says_the_same() -> None:
    scanner = LoreScanner(len)
    for case in (*CASES, *reversed(CASES)):
        assert uids(case, scanner) == uids(case), case.rule


@pytest.mark.parametrize("case", CASES, ids=names)
def test_every_entry_has_an_outcome_that_agrees_and_a_sentence(case: Case) -> None:
    activation = activated(case)
    outcomes = activation.outcomes
    expected = len(case.entries) + sum(len(other.book.entries) for other in case.others)
    assert len(outcomes) == expected
    assert {one.uid for one in outcomes if one.is_active} == {one.outcome.uid for one in activation.active}
    assert all(one.sentence.endswith(".") for one in outcomes)


def test_a_result_names_the_key_the_message_and_the_entry_whose_text_has_it() -> None:
    case = Case(
        "why",
        "ours",
        [
            entry("1", "lamp", content="by the harbour"),
            entry("2", "harbour"),
            entry("3", "/L.T/i"),
            entry("4", r"/\x01lit/"),
        ],
        ["lit", "a lamp"],
        set(),
        {"is_recursive": True},
    )
    activation = activated(case)
    said = {one.uid: (one.key, one.message, one.parent, one.sentence) for one in activation.outcomes}
    assert said == {
        "1": ("lamp", 2, "", "“lamp” is in message 2."),
        "2": ("harbour", None, "1", "“harbour” is in the text of entry 1."),
        "3": ("/L.T/i", 1, "", "“/L.T/i” is in message 1."),
        "4": (r"/\x01lit/", 1, "", r"“/\x01lit/” is in message 1."),
    }


@pytest.mark.parametrize(
    ("fields", "more", "reason"),
    [
        ({"is_enabled": False}, {}, Reason.DISABLED),
        ({"triggers": ("swipe",)}, {}, Reason.TRIGGER),
        ({"filter_names": ("Tom",)}, {}, Reason.CHARACTER),
        ({"delay": 9}, {}, Reason.DELAY),
        ({"cooldown": 9}, {"scene": {"length": 5}, "before": {"1": [4]}}, Reason.COOLDOWN),
        ({"delay_until_recursion": 1}, {}, Reason.WAITS_FOR_RECURSION),
        ({"content": "@@dont_activate"}, {}, Reason.DONT_ACTIVATE),
        ({"content": "@@is_greeting 4"}, {}, Reason.CONDITION),
        ({"content": "@@exclude_keys lit"}, {}, Reason.EXCLUDED_KEY),
        ({"keys": ()}, {}, Reason.NO_KEYS),
        ({"keys": ("ship",)}, {}, Reason.NOT_FOUND),
        ({"secondary": ("ship",)}, {}, Reason.SECONDARY),
        ({"probability": 0.0}, {}, Reason.PROBABILITY),
        ({"content": "x" * 10}, {"settings": {"budget": 10}}, Reason.BUDGET),
        ({"content": "x" * 11}, {"book": {"token_budget": 10}}, Reason.BOOK_BUDGET),
        ({"is_constant": True}, {}, Reason.CONSTANT),
        ({"content": "@@activate"}, {}, Reason.ACTIVATE),
        ({"sticky": 9}, {"scene": {"length": 5}, "before": {"1": [4]}}, Reason.STICKY),
    ],
)
def test_a_result_says_which_rule_decided(
    fields: dict[str, Any], more: dict[str, Any], reason: Reason
) -> None:
    one = replace(entry("1", "lamp"), **fields)
    activation = activated(Case("why", "ours", [one], ["the lamp is lit"], set(), **more))
    assert outcome_of(activation, "book", "1").reason is reason


def test_a_group_names_its_winner() -> None:
    one, two = entry("1", "lamp", groups=("g",), is_group_override=True), entry("2", "lamp", groups=("g",))
    outcome = outcome_of(activated(Case("why", "ours", [one, two], ["lamp"], set())), "book", "2")
    assert (outcome.reason, outcome.sentence) == (
        Reason.GROUP,
        "Another entry of its group was taken (entry 1 was).",
    )


def test_chance_depends_on_the_stored_seed_and_is_fair() -> None:
    one = entry("1", "lamp", probability=30.0)

    def is_active(seed: int) -> bool:
        return bool(activated(Case("", "", [one], ["lamp"], set(), scene={"seed": str(seed)})).active)

    drawn = [is_active(seed) for seed in range(2_000)]
    assert drawn == [is_active(seed) for seed in range(2_000)]
    assert 520 <= sum(drawn) <= 680


def test_a_group_is_drawn_by_weight() -> None:
    one = entry("1", "lamp", groups=("g",), group_weight=30)
    two = entry("2", "lamp", groups=("g",), group_weight=10)
    won = Counter(
        activated(Case("", "", [one, two], ["lamp"], set(), scene={"seed": str(seed)})).active[0].outcome.uid
        for seed in range(2_000)
    )
    assert 1_420 <= won["1"] <= 1_580


def test_what_an_activation_adds_to_the_log_makes_the_entry_sticky_until_it_is_edited() -> None:
    one = entry("1", "lamp", sticky=3)
    log = activated(Case("", "", [one], ["lamp"], set(), scene={"length": 5})).log
    later = Case("", "", [one], ["x"], set(), scene={"length": 6, "log": log})
    assert outcome_of(activated(later), "book", "1").reason is Reason.STICKY
    edited = replace(later, entries=[replace(one, content="other")])
    assert outcome_of(activated(edited), "book", "1").reason is Reason.NOT_FOUND


def test_macros_in_a_text_are_expanded_once() -> None:
    one = entry("1", "lamp", content="{{char}} and {{user}} {{// no }}{{x}}")
    names = MacroNames(char="{{user}}", user="Tom")
    case = Case("", "", [one], ["lamp"], set(), scene={"names": names})
    assert activated(case).active[0].text == "{{user}} and Tom {{x}}"


def test_decorators_place_a_text_and_are_not_in_it() -> None:
    one = entry("1", "lamp", content="@@depth 7\n@@role user\n\nThe text.\n")
    [active] = activated(Case("", "", [one], ["lamp"], set())).active
    assert active.text == "The text."
    assert (active.place.position, active.place.depth, active.place.role) == (Position.AT_DEPTH, 7, Role.USER)


def test_an_expression_that_never_ends_is_stopped_and_said_so() -> None:
    slow = [entry(str(number), f"/(a|aa)+(?:{number})?$/") for number in range(50)]
    began = thread_time()
    activation = activated(Case("", "", slow, ["a" * 40_000 + "b"], set(), {"scan_depth": 9}))
    assert thread_time() - began < 5
    assert {one.reason for one in activation.outcomes} <= {Reason.EXPRESSION_TOO_SLOW, Reason.NOT_FOUND}
    assert Reason.EXPRESSION_TOO_SLOW in {one.reason for one in activation.outcomes}


@pytest.mark.parametrize(
    "key",
    [
        "/(((a{1000}){1000}){1000}){1000}/",
        "/(a{1,400}){1,400}/",
        "/" + "(" * 3_000 + "/",
        "/(?P<n/",
        "/\\p{Nonsense}/",
    ],
)
def test_an_expression_that_is_made_to_harm_is_taken_for_a_text(key: str) -> None:
    began = thread_time()
    assert not activated(Case("", "", [entry("1", key)], ["aaaa"], set())).active
    assert thread_time() - began < 5


@pytest.mark.parametrize(
    ("context", "percent", "budget"), [(4_096, 25, 1_024), (10, 25, 3), (400, 25, 100), (1, 1, 1)]
)
def test_a_budget_is_a_share_of_the_context(context: int, percent: float, budget: int) -> None:
    assert budget_of(context, percent) == budget


def test_a_long_chain_of_recursion_ends() -> None:
    chain = [entry(str(number), f"key{number}.", content=f"key{number + 1}.") for number in range(1_000)]
    activation = activated(Case("", "", chain, ["key0."], set(), {"is_recursive": True}))
    assert len(activation.active) == MOST_PASSES


TEXTS = st.text(st.sampled_from("abAB é灯_.1'\n"), max_size=30)
KEYS = st.text(st.sampled_from("abAB é灯_."), max_size=8)


@given(
    st.lists(
        st.tuples(st.text(st.sampled_from("abAB é灯_."), max_size=8), st.booleans(), st.booleans()),
        max_size=90,
    ),
    st.lists(TEXTS, max_size=4),
)
def test_the_index_finds_what_looking_for_every_key_finds(
    keys: list[tuple[str, bool, bool]], texts: list[str]
) -> None:
    entries = [
        entry(str(number), key, case_sensitive=case, whole_words=whole)
        for number, (key, case, whole) in enumerate(keys)
    ]
    found = set(uids(Case("", "", entries, texts, set(), {"scan_depth": 9})))
    expected = set()
    for number, (key, case, whole) in enumerate(keys):
        read = read_key(key, uses_regex=False, is_case_sensitive=case, is_whole_word=whole)
        if isinstance(read, Term) and any(is_in(read, text if case else text.lower()) for text in texts):
            expected.add(str(number))
    assert found == expected


def test_an_edit_of_one_entry_compiles_that_one_and_searches_no_text_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = tuple(entry(str(number), f"key{number}") for number in range(2_000))
    texts = [f"key{number} key{number + 1}" for number in range(40)]
    scanner = LoreScanner(len)
    settings = ScanSettings(scan_depth=100)
    scene = ActivationInput(messages=[ScannedMessage(number, text) for number, text in enumerate(texts)])
    scanner.activate([ScannedBook(Lorebook(entries=entries))], scene, settings)
    compiled, looked_for = list[str](), set[str]()

    def split(text: str) -> tuple[Decorators, str]:
        compiled.append(text)
        return NO_DECORATORS, text

    def look(term: Term, text: str) -> bool:
        looked_for.add(term.text)
        return is_in(term, text)

    monkeypatch.setattr(compiled_module, "split_decorators", split)
    monkeypatch.setattr(index_module, "is_in", look)
    edited = (*entries[:5], replace(entries[5], keys=("key39 k",)), *entries[6:])
    activation = scanner.activate([ScannedBook(Lorebook(entries=edited))], scene, settings)
    assert outcome_of(activation, "", "5").is_active
    assert compiled == ["text-of-5"]
    assert looked_for == {"key39 k"}
    looked_for.clear()
    scanner.activate([ScannedBook(Lorebook(entries=edited))], scene, settings)
    assert not looked_for
