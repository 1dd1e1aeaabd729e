"""Cases: filters, recursion, inclusion groups."""

from typing import Any

from core.library.lore.book import Logic, LoreEntry
from tests.core.library.lore.activation.activation_case import OURS, ST, V2, V3, Case, entry

LAMP = ["The lamp is lit."]
ON = {"is_recursive": True}


def chain(**fields: Any) -> list[LoreEntry]:
    """Two entries: “lamp” activates 1, whose text has the key of 2, which has these fields."""
    return [entry("1", "lamp", content="by the harbour"), entry("2", "harbour", **fields)]


FILTERS = (
    Case("a trigger that it names", ST, [entry("1", "lamp", triggers=("normal",))], LAMP, {"1"}),
    Case("a trigger that it does not name", ST, [entry("1", "lamp", triggers=("swipe",))], LAMP, set()),
    Case(
        "triggers hold for constant entries",
        ST,
        [entry("1", is_constant=True, triggers=("swipe",))],
        LAMP,
        set(),
    ),
    Case("a character that it names", ST, [entry("1", "lamp", filter_names=("Kara",))], LAMP, {"1"}),
    Case("a character that it does not name", ST, [entry("1", "lamp", filter_names=("Tom",))], LAMP, set()),
    Case(
        "a character that it excludes",
        ST,
        [entry("1", "lamp", filter_names=("Kara",), filter_excludes=True)],
        LAMP,
        set(),
    ),
    Case(
        "a character that it does not exclude",
        ST,
        [entry("1", "lamp", filter_names=("Tom",), filter_excludes=True)],
        LAMP,
        {"1"},
    ),
    Case(
        "a tag that the character has",
        ST,
        [entry("1", "lamp", filter_tags=("sea",))],
        LAMP,
        {"1"},
        scene={"tags": ["sea"]},
    ),
    Case("a tag that the character has not", ST, [entry("1", "lamp", filter_tags=("sea",))], LAMP, set()),
    Case(
        "a tag that it excludes",
        ST,
        [entry("1", "lamp", filter_tags=("sea",), filter_excludes=True)],
        LAMP,
        set(),
        scene={"tags": ["sea"]},
    ),
)

RECURSION = (
    Case("recursion is off by default", ST, chain(), LAMP, {"1"}),
    Case("a text activates another entry", ST, chain(), LAMP, {"1", "2"}, ON),
    Case("a book may ask for recursion", V2, chain(), LAMP, {"1", "2"}, book={"is_recursive": True}),
    Case("a book may refuse it", V2, chain(), LAMP, {"1"}, ON, book={"is_recursive": False}),
    Case("an entry that texts do not activate", ST, chain(excludes_recursion=True), LAMP, {"1"}, ON),
    Case(
        "messages activate it all the same",
        ST,
        chain(excludes_recursion=True),
        ["lamp harbour"],
        {"1", "2"},
        ON,
    ),
    Case(
        "a text that activates none",
        ST,
        [entry("1", "lamp", content="harbour", prevents_recursion=True), entry("2", "harbour")],
        LAMP,
        {"1"},
        ON,
    ),
    Case(
        "entries that name each other end",
        ST,
        [entry("1", "lamp", content="ship"), entry("2", "ship", content="lamp")],
        LAMP,
        {"1", "2"},
        ON,
    ),
    Case("an entry that names itself ends", ST, [entry("1", "lamp", content="lamp")], LAMP, {"1"}, ON),
    Case(
        "recursion goes on and on",
        ST,
        [entry("1", "lamp", content="b-key"), entry("2", "b-key", content="c-key"), entry("3", "c-key")],
        LAMP,
        {"1", "2", "3"},
        ON,
    ),
    Case(
        "constant entries feed recursion",
        ST,
        [entry("1", is_constant=True, content="harbour"), entry("2", "harbour")],
        ["x"],
        {"1", "2"},
        ON,
    ),
    Case("an entry that waits for recursion", ST, chain(delay_until_recursion=1), LAMP, {"1", "2"}, ON),
    Case(
        "messages do not activate one that waits",
        ST,
        [entry("2", "lamp", delay_until_recursion=1)],
        LAMP,
        set(),
        ON,
    ),
    Case(
        "once there is recursion, messages do",
        ST,
        [entry("1", "lamp", content="x"), entry("2", "lit", delay_until_recursion=1)],
        LAMP,
        {"1", "2"},
        ON,
    ),
    Case(
        "a constant entry that waits",
        ST,
        [entry("1", is_constant=True, delay_until_recursion=1)],
        LAMP,
        set(),
        ON,
    ),
    Case(
        "one that waits where recursion is off",
        OURS,
        [entry("1", "lamp"), entry("2", "lit", delay_until_recursion=1)],
        LAMP,
        {"1"},
    ),
    Case(
        "the second level opens when the first is done",
        ST,
        [
            entry("1", "lamp", content="x"),
            entry("2", "lit", content="y", delay_until_recursion=1),
            entry("3", "lit", delay_until_recursion=2),
        ],
        LAMP,
        {"1", "2", "3"},
        ON,
    ),
    Case(
        "the second level does not open where the budget ends in the first",
        ST,
        [
            entry("1", "lamp", content="x"),
            entry("2", "lit", content="y" * 9, delay_until_recursion=1),
            entry("3", "lit", content="z", delay_until_recursion=2),
        ],
        LAMP,
        {"1"},
        ON | {"budget": 5},
    ),
    Case("recursion reaches at depth 0", ST, chain(scan_depth=0), LAMP, {"1", "2"}, ON),
    Case(
        "a secondary key may be in a text",
        ST,
        [entry("1", "lamp", content="oil"), entry("2", "lit", secondary=("oil",))],
        LAMP,
        {"1", "2"},
        ON,
    ),
    Case(
        "a hidden key is found",
        V3,
        [entry("1", "lamp", content="{{hidden_key: harbour}}"), entry("2", "harbour")],
        LAMP,
        {"1", "2"},
        ON,
    ),
    Case(
        "a comment is not",
        V3,
        [entry("1", "lamp", content="{{// harbour}}"), entry("2", "harbour")],
        LAMP,
        {"1"},
        ON,
    ),
)

GROUP = {"groups": ("g",)}
SCORED: dict[str, Any] = {**GROUP, "group_scoring": True}
DECORATED = (
    Case(
        "@@recursive stands for the switch of the book",
        "Risu",
        [
            entry("1", "lamp", content="@@recursive\nby the harbour"),
            entry("2", "harbour", content="@@recursive\nDeep."),
            entry("3", "deep", content="Dark."),
        ],
        LAMP,
        {"1", "2"},
    ),
    Case(
        "@@unrecursive lets a text activate none",
        "Risu",
        [entry("1", "lamp", content="@@unrecursive\nby the harbour"), entry("2", "harbour")],
        LAMP,
        {"1"},
        ON,
    ),
    Case(
        "@@no_recursive_search looks at messages alone",
        "Risu",
        chain(content="@@no_recursive_search\nDeep."),
        LAMP,
        {"1"},
        ON,
    ),
    Case(
        "@@ignore_on_max_context gives way to the others",
        V3,
        [
            entry("1", "lamp", content="@@ignore_on_max_context\nxxxx", order=9),
            entry("2", "lamp", content="xxxx", order=1),
        ],
        LAMP,
        {"2"},
        {"budget": 8},
    ),
)

GROUPS = (
    Case(
        "of a group one is taken: by weight",
        ST,
        [entry("1", "lamp", group_weight=0, **GROUP), entry("2", "lamp", **GROUP)],
        LAMP,
        {"2"},
    ),
    Case("one alone in its group", ST, [entry("1", "lamp", **GROUP)], LAMP, {"1"}),
    Case(
        "other groups are not concerned",
        ST,
        [entry("1", "lamp", groups=("g",)), entry("2", "lamp", groups=("h",))],
        LAMP,
        {"1", "2"},
    ),
    Case(
        "the preferred one of highest order is taken",
        ST,
        [
            entry("1", "lamp", is_group_override=True, order=5, **GROUP),
            entry("2", "lamp", is_group_override=True, order=9, **GROUP),
            entry("3", "lamp", order=99, **GROUP),
        ],
        LAMP,
        {"2"},
    ),
    Case(
        "by score: more keys win",
        ST,
        [
            entry("1", "lamp", group_weight=10**9, **SCORED),
            entry("2", "lamp", "lit", group_weight=0, **SCORED),
        ],
        LAMP,
        {"2"},
    ),
    Case(
        "by score: secondary keys count",
        ST,
        [
            entry("1", "lamp", group_weight=10**9, **SCORED),
            entry("2", "lamp", secondary=("lit",), group_weight=0, **SCORED),
        ],
        LAMP,
        {"2"},
    ),
    Case(
        "by score: AND ALL counts its secondary keys",
        ST,
        [
            entry("1", "lamp", group_weight=10**9, **SCORED),
            entry("2", "lamp", secondary=("lit", "the"), logic=Logic.AND_ALL, group_weight=0, **SCORED),
        ],
        LAMP,
        {"2"},
    ),
    Case(
        "by score: other logics count primary keys alone",
        ST,
        [
            entry("1", "lamp", "is", group_weight=0, **SCORED),
            entry("2", "lamp", secondary=("lit", "no"), logic=Logic.NOT_ALL, group_weight=10**9, **SCORED),
        ],
        LAMP,
        {"1"},
    ),
    Case(
        "by score: equal scores leave it to the weight",
        ST,
        [entry("1", "lamp", group_weight=0, **SCORED), entry("2", "lit", **SCORED)],
        LAMP,
        {"2"},
    ),
    Case(
        "by score: one entry asks for it, the other need not lose by it",
        ST,
        [
            entry("1", "lamp", is_group_override=True, **GROUP),
            entry("2", "lamp", "lit", group_scoring=True, **GROUP),
        ],
        LAMP,
        {"1"},
    ),
    Case(
        "by score: the one that asks for it loses",
        ST,
        [
            entry("1", "lamp", is_group_override=True, group_scoring=True, **GROUP),
            entry("2", "lamp", "lit", **GROUP),
        ],
        LAMP,
        {"2"},
    ),
    Case(
        "a group with an active member takes no other",
        ST,
        [entry("1", "lamp", content="harbour", **GROUP), entry("2", "harbour", **GROUP)],
        LAMP,
        {"1"},
        ON,
    ),
    Case(
        "the sticky member wins",
        ST,
        [
            entry("1", "lamp", sticky=5, group_weight=0, **GROUP),
            entry("2", "lamp", group_weight=10**9, **GROUP),
        ],
        LAMP,
        {"1"},
        scene={"length": 3},
        before={"1": [1]},
    ),
    Case(
        "chance comes after the group: nothing is left",
        ST,
        [
            entry("1", "lamp", is_group_override=True, probability=0.0, **GROUP),
            entry("2", "lamp", **GROUP),
        ],
        LAMP,
        set(),
    ),
    Case(
        "who is in two groups must win both",
        ST,
        [
            entry("1", "lamp", groups=("g", "h")),
            entry("2", "lamp", is_group_override=True, groups=("h",)),
            entry("3", "lamp", group_weight=0, groups=("g",)),
        ],
        LAMP,
        {"2"},
    ),
)

CASES = (*FILTERS, *RECURSION, *DECORATED, *GROUPS)
