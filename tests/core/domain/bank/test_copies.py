"""The bank of a session that begins with the canon of another one."""

from dataclasses import replace
from datetime import timedelta

from core.domain.bank.item import ItemOrigin, Validation
from core.exchange.session_copy import bank_at
from tests.core.values.bank import NOW, fact

TAKES = {1: 1, 2: 2, 3: 1}


def test_a_copy_has_what_was_drawn_from_its_canon_with_one_take_and_one_version() -> None:
    kept = replace(fact(1, prompt_index=2, take=2), supersedes=fact(4).id)
    rejected = replace(fact(3, prompt_index=1), version=2, validation=Validation.REJECTED)
    of_another_take = fact(4, prompt_index=2, take=1)
    later = fact(5, prompt_index=3)
    history = [kept, fact(3, prompt_index=1), rejected, of_another_take, later]
    copied = bank_at(history, TAKES, 2)
    assert [item.id for item in copied] == [kept.id, rejected.id]
    assert {item.version for item in copied} == {1}
    assert {one.take for item in copied for one in item.evidence} == {1}
    assert copied[0].supersedes is None
    assert copied[1].validation is Validation.REJECTED
    assert [item.id for item in bank_at(history, TAKES, 3)][-1] == later.id


def test_an_item_goes_on_superseding_one_that_the_copy_has_too() -> None:
    newer = replace(fact(1, prompt_index=3), supersedes=fact(2).id)
    copied = bank_at([newer, fact(2, prompt_index=1)], TAKES, 3)
    assert copied[0].supersedes == fact(2).id


def test_an_item_goes_on_superseding_one_of_an_earlier_chapter() -> None:
    [copied] = bank_at([replace(fact(1, prompt_index=3), supersedes=fact(2).id)], TAKES, 3)
    assert copied.supersedes == fact(2).id


def test_a_copy_of_an_earlier_time_has_each_item_as_it_was_then() -> None:
    first = fact(1, prompt_index=1)
    changed = replace(first, version=2, text="The GM's.", updated_at=NOW + timedelta(hours=1))
    assert [item.text for item in bank_at([first, changed], TAKES, 3, NOW)] == [first.text]
    assert [item.text for item in bank_at([first, changed], TAKES, 3)] == ["The GM's."]
    assert not bank_at([first], TAKES, 3, NOW - timedelta(hours=1))


def test_an_item_without_a_proof_that_is_left_is_not_copied_unless_it_is_the_gms() -> None:
    lost = replace(fact(1, prompt_index=3), evidence=fact(1, prompt_index=2, take=1).evidence)
    own = replace(fact(2, prompt_index=0), take=None, evidence=(), origin=ItemOrigin.GM)
    assert [item.id for item in bank_at([lost, own], TAKES, 3)] == [own.id]


def test_a_copy_of_an_item_of_which_a_change_was_undone_takes_nothing_back() -> None:
    undone = replace(fact(1, prompt_index=1), version=3, undoes=2)
    assert [(item.version, item.undoes) for item in bank_at([undone], TAKES, 3)] == [(1, None)]
