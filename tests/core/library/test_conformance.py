"""What other programs write: every decorator, cards with keys of their own, and files of every kind.

Each card is read, changed in one field, written into a file of its kind and read again: nothing else differs.
"""

import json
from typing import Any

import pytest

from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.png import plain_picture, texts, written
from core.library.cards.writing import write_card
from core.library.lore.decorators import split_decorators, strip_decorators
from tests.core.library.cards.card_samples import (
    V1,
    V2,
    V3,
    archive,
    image_data,
    packed,
    picture,
    t_ext,
    text_of,
)

UNDERSTOOD = (
    *("activate_only_after 4", "activate_only_every 2", "keep_activate_after_match"),
    *(
        "dont_activate_after_match",
        "depth 3",
        "reverse_depth 2",
        "role assistant",
        "role system",
        "role user",
    ),
    *("scan_depth 5", "is_greeting 0", "position after_desc", "position before_desc", "position personality"),
    *("position scenario", "ignore_on_max_context", "additional_keys oil, wick", "exclude_keys fog,rain"),
    *("activate", "dont_activate", "end", "probability 50", "priority 7", "recursive", "unrecursive"),
    *("no_recursive_search", "match_full_word", "match_partial_word", "exclude_keys_all fog,rain"),
)
"""Decorators of version 3 and of Risu that say when or where an entry is active."""
PASSED_OVER = (
    *("instruct_depth 2", "reverse_instruct_depth 2", "instruct_scan_depth 2", "is_user_icon lamp"),
    *("disable_ui_prompt system_prompt", "disable_ui_prompt post_history_instructions", "inject_lore Lamp"),
    *(
        "inject_at top",
        "inject_replace old",
        "inject_prepend",
        "role narrator",
        "depth deep",
        "position moon",
    ),
    *("exclude_keys", "depth -1", "no_such_thing 5"),
)
"""Decorators for what this program has not, and such with a value that they do not take."""


@pytest.mark.parametrize("line", [*UNDERSTOOD, *PASSED_OVER])
def test_no_decorator_is_in_the_text_of_an_entry(line: str) -> None:
    assert strip_decorators(f"@@{line}\n\nThe lamp is old.\n") == "The lamp is old."
    assert strip_decorators(f"  \r\n@@ACTIVATE\r\n@@{line}\r\nThe lamp is old.") == "The lamp is old."


@pytest.mark.parametrize(
    ("line", "is_understood"), [(one, True) for one in UNDERSTOOD] + [(one, False) for one in PASSED_OVER]
)
def test_a_fallback_counts_where_the_decorator_above_it_is_not_understood(
    line: str, is_understood: bool
) -> None:
    found, text = split_decorators(f"@@{line}\n@@@scan_depth 9\nThe lamp is old.")
    assert (found.numbers.get("scan_depth") == 9) is not is_understood
    assert text == "The lamp is old."


ICON = plain_picture((9, 9, 9))
HEADER_END = 33
"""Bytes of a picture before its data: the signature and the header."""
RISU = {
    **V3,
    "data": {**V3["data"], "assets": [{"type": "icon", "uri": "__asset:0", "name": "main", "ext": "png"}]},
}
FOUNDRY = {
    **V3,
    "data": {
        **V3["data"],
        "assets": [
            {
                "type": "background",
                "uri": "embeded://assets/background/image/1.png",
                "name": "sea",
                "ext": "png",
            },
            {"type": "icon", "uri": "embeded://assets/icon/image/1.png", "name": "main", "ext": "png"},
        ],
    },
}
MIRROR = {
    **V1,
    **V2,
    "creatorcomment": "For the sea.",
    "avatar": "none",
    "chat": "Kara - 2024-6-5",
    "create_date": "2024-6-5 @15h 07m 03s 9ms",
    "talkativeness": "0.5",
    "fav": True,
    "tags": ["sea", "night"],
}
CHUB = {
    **V2,
    "data": {
        **V2["data"],
        "alternate_greetings": "Come in.",
        "character_book": None,
        "extensions": {
            "chub": {"id": 12, "full_path": "somebody/kara", "related_lorebooks": [], "expressions": None}
        },
    },
}
PYGMALION = {
    "char_name": "Kara",
    "char_persona": "A keeper of the lamp.",
    "world_scenario": "A lighthouse.",
    "char_greeting": "Who is there?",
    "example_dialogue": "<START>",
    "metadata": {"version": 1, "created": 1_700_000_000_000, "tool": {"name": "an editor"}},
}
NEWER = {**V3, "spec_version": "3.4", "data": {**V3["data"], "of_the_future": [{"x": 1.50}]}}

CARDS: dict[str, tuple[bytes, CardFormat]] = {
    "mirror of SillyTavern": (text_of(MIRROR), CardFormat.JSON),
    "null and a single greeting of Chub": (text_of(CHUB), CardFormat.JSON),
    "Pygmalion": (text_of(PYGMALION), CardFormat.JSON),
    "newer than known": (text_of(NEWER), CardFormat.JSON),
    "no spec": (text_of({"data": V2["data"], "mine": 1}), CardFormat.JSON),
    "assets in chunks of Risu": (
        picture(
            t_ext("chara-ext-asset_:0", packed(ICON)),
            t_ext("chara-ext-asset_1", packed(ICON)),
            t_ext("ccv3", packed(RISU)),
        ),
        CardFormat.PNG,
    ),
    "text before the picture of SillyTavern": (
        ICON[:HEADER_END] + t_ext("chara", packed(MIRROR)) + ICON[HEADER_END:],
        CardFormat.PNG,
    ),
    "an unknown chunk": (picture(written(b"exIf", b"MM\0*"), t_ext("chara", packed(V2))), CardFormat.PNG),
    "folders of Foundry": (
        archive(FOUNDRY, {"assets/icon/image/1.png": ICON, "assets/background/image/1.png": b"sea"}),
        CardFormat.CHARX,
    ),
    "a module of Risu": (archive(V3, {"module.risum": b"\0risum", "x_meta/1.json": b"{}"}), CardFormat.CHARX),
    "an archive behind a JPEG": (archive(V3, front=b"\xff\xd8\xff\xe0" + b"\0" * 5_000), CardFormat.CHARX),
}


def all_but_names(value: Any) -> Any:
    """Return a card without the name of its character."""
    if isinstance(value, dict):
        return {key: all_but_names(one) for key, one in value.items() if key not in ("name", "char_name")}
    return [all_but_names(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", CARDS)
def test_a_card_of_another_program_is_read_changed_and_written_and_nothing_else_differs(name: str) -> None:
    content, format_ = CARDS[name]
    file = read_card(content, name)
    assert (file.format, file.card.name, file.card.text("first_mes")) == (format_, "Kara", "Who is there?")
    made = write_card(file, file.card.with_field("name", "Mara"), format_).content
    again = read_card(made, name)
    assert again.card.name == "Mara"
    # A picture gets the other version beside the one that it had.
    is_older = file.card.version < CardVersion.V3 and again.card.twin is not None
    kept = again.card.twin if is_older else again.card.document
    assert kept is not None
    assert json.dumps(all_but_names(kept.value)) == json.dumps(all_but_names(file.card.document.value))
    if format_ is CardFormat.PNG:
        assert image_data(made) == image_data(content)
        others = [one for one in texts(content) if one.keyword.startswith("chara-ext")]
        assert [one for one in texts(made) if one.keyword.startswith("chara-ext")] == others
    if file.charx is not None and again.charx is not None:
        assert again.charx.members[1:] == file.charx.members[1:]


def test_the_picture_of_an_archive_is_the_main_icon_wherever_it_lies() -> None:
    assert read_card(CARDS["folders of Foundry"][0], "").picture == ICON
