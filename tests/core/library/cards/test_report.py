"""The report of an import says in short sentences what goes where, and what is long; nothing is cut."""

from core.library.cards.card_file import read_card
from core.library.cards.report import OFFERED, CardTarget, placements, report
from tests.core.library.cards.card_samples import V1, V2, V3, packed, picture, t_ext, text_of


def test_every_field_has_a_place() -> None:
    placed = {one.field: one.place for one in placements(read_card(text_of(V3), "").card)}
    assert placed == {
        "name": CardTarget.NAME,
        "nickname": CardTarget.NAME,
        "description": CardTarget.IDENTITY,
        "personality": CardTarget.IDENTITY,
        "scenario": CardTarget.CHAPTER,
        "first_mes": CardTarget.GREETINGS,
        "alternate_greetings": CardTarget.GREETINGS,
        "group_only_greetings": CardTarget.GREETINGS,
        "mes_example": CardTarget.MATERIAL,
        "system_prompt": CardTarget.RULES,
        "post_history_instructions": CardTarget.RULES,
        "depth_prompt": CardTarget.RULES,
        "creator_notes": CardTarget.KEPT,
        "creator": CardTarget.KEPT,
        "character_version": CardTarget.KEPT,
        "tags": CardTarget.KEPT,
    }


def test_the_report_is_short_and_says_where_things_go() -> None:
    lines = report(read_card(text_of(V2), ""))
    assert "Description and Personality → the identity." in lines
    assert "Scenario → the chapter." in lines
    assert "Lore, 1 entry → a lorebook that this character alone knows." in lines
    assert len(lines) == 9


def test_what_is_only_offered_is_told_as_such_and_what_a_block_cannot_hold() -> None:
    card = {**V2, "data": {**V2["data"], "system_prompt": "s" * 4_001, "first_mes": "f" * 5_000}}
    lines = report(read_card(text_of(card), ""))
    after = lines[lines.index(OFFERED) + 1 :]
    assert [line.rpartition(" → ")[2] for line in after[:5]] == [
        f"{place}."
        for place in (
            CardTarget.CHAPTER,
            CardTarget.GREETINGS,
            CardTarget.RULES,
            CardTarget.MATERIAL,
            CardTarget.LORE,
        )
    ]
    assert after[5:] == (
        "System prompt has 4,001 characters, and 4,000 fit; nothing was cut, choose what goes.",
    )
    bare = {**V1, "scenario": "", "first_mes": "", "mes_example": ""}
    assert OFFERED not in report(read_card(text_of(bare), ""))


def test_a_long_text_is_told_and_whole() -> None:
    card = {**V2, "data": {**V2["data"], "description": "d" * 5_001, "creator_notes": "n" * 9_000}}
    file = read_card(text_of(card), "")
    long = [line for line in report(file) if "fit" in line]
    assert long == ["Description has 5,001 characters, and 5,000 fit; nothing was cut, choose what goes."]
    assert file.card.text("description") == "d" * 5_001
    named = {**V2, "data": {**V2["data"], "name": "n" * 41, "nickname": "k" * 41}}
    long = [line for line in report(read_card(text_of(named), "")) if "fit" in line]
    assert long == ["Name has 41 characters, and 40 fit; nothing was cut, choose what goes."]


def test_what_was_odd_in_the_file_comes_first() -> None:
    other = {**V3, "data": {**V3["data"], "name": "New"}}
    file = read_card(picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(other))), "")
    assert "two copies that differ" in report(file)[0]
