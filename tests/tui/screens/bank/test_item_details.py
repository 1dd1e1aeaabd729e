"""What the details of an item say beside its words."""

from dataclasses import replace
from datetime import UTC, datetime

from core.domain.bank.item import Item
from core.engine.services.bank.provenance import provenance_of
from storyengine_tui.screens.bank.item_details import passages_of_item
from tests.core.values.bank import fact
from tests.core.values.sessions import session


def texts(item: Item, *others: Item, is_out: bool = False) -> list[str]:
    known = {one.id: one for one in (item, *others)}
    found = passages_of_item(
        item, [item], None, session(), None, is_out=is_out, provenance=None, others=known
    )
    return [one.text for one in found]


def test_an_item_says_what_was_merged_into_it_and_that_one_where_it_went() -> None:
    key, barrels = (
        fact(1, name="Key", text="A key hangs there."),
        fact(2, name="Barrels", text="Six barrels."),
    )
    merged = replace(barrels, merged_into=key.id)
    assert "What was merged into it\nBarrels: Six barrels." in texts(key, merged)
    assert "Merged into: Key" in texts(merged, key, is_out=True)[1]
    assert not any("erged into" in one for one in texts(key, barrels))


def test_an_item_says_what_it_took_the_place_of_and_how_that_comes_back() -> None:
    first = fact(1, prompt_index=3, text="Her left arm bleeds.")
    second = replace(fact(2, prompt_index=7, text="Her left arm is bound."), supersedes=first.id)
    third = replace(fact(3, prompt_index=9, text="Her left arm has healed."), supersedes=second.id)
    *_, said = texts(third, first, second)
    assert said.splitlines() == [
        "What it took the place of",
        "Prompt 7: Her left arm is bound.",
        "Prompt 3: Her left arm bleeds.",
        "These no longer count. x takes the newer item out, and the first of these counts again.",
    ]
    assert (
        "This no longer counts. x takes the newer item out, and this counts again."
        in texts(second, first)[-1]
    )
    assert "x takes" not in texts(third, first, second, is_out=True)[-1]
    assert texts(third)[-1].splitlines()[1] == "An item of an earlier chapter"
    assert not any("took the place of" in one for one in texts(first, second, third))


def test_an_item_says_who_learned_it_by_name_and_when_as_revisions_do() -> None:
    at = datetime(2026, 5, 3, 12, 4, 5, tzinfo=UTC)
    made = replace(fact(1, prompt_index=7), created_at=at)
    pinned = replace(made, is_pinned=True, updated_at=at)
    author = provenance_of([made, pinned], {})
    found = passages_of_item(
        pinned, [made, pinned], None, session(), None, is_out=False, provenance=author, others={}
    )
    said = "\n".join(one.text for one in found).splitlines()
    local = f"{at.astimezone():%d %b %Y %H:%M:%S}"
    assert f"Learned by: Context Summary (agent 8), which read up to prompt 7, {local}" in said
    assert f"Last changed by: you, {local}" in said
    assert f"{local}: pinned" in said
