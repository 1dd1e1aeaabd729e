"""Cases: chance and budgets, and which entries go first."""

from typing import Any

from core.library.lore.activation.scene import Origin, ScannedBook
from core.library.lore.book import Lorebook, LoreEntry, Position
from tests.core.library.lore.activation.activation_case import OURS, ST, V2, Case, entry

LAMP = ["The lamp is lit."]
ON = {"is_recursive": True}


CHANCE = (
    Case("0 percent is never", OURS, [entry("1", "lamp", probability=0.0)], LAMP, set()),
    Case("100 percent is always", ST, [entry("1", "lamp", probability=100.0)], LAMP, {"1"}),
    Case(
        "a probability that is off",
        ST,
        [entry("1", "lamp", probability=0.0, uses_probability=False)],
        LAMP,
        {"1"},
    ),
    Case("constant entries need luck too", ST, [entry("1", is_constant=True, probability=0.0)], LAMP, set()),
    Case(
        "sticky ones do not",
        ST,
        [entry("1", "x", sticky=5, probability=0.0)],
        LAMP,
        {"1"},
        scene={"length": 3},
        before={"1": [1]},
    ),
    Case(
        "who has no luck gets no second try",
        ST,
        [entry("1", "lamp", content="x"), entry("2", "lit", probability=0.0)],
        LAMP,
        {"1"},
        ON,
    ),
    Case(
        "who has no luck activates none",
        ST,
        [entry("1", "lamp", content="harbour", probability=0.0), entry("2", "harbour")],
        LAMP,
        set(),
        ON,
    ),
)


def sized(uid: str, size: int, order: int, **fields: Any) -> LoreEntry:
    """An entry whose text has `size` tokens."""
    return entry(uid, "lamp", content="x" * size, order=order, **fields)


BUDGET = (
    Case("what fits is active", ST, [sized("1", 4, 9), sized("2", 5, 8)], LAMP, {"1", "2"}, {"budget": 10}),
    Case(
        "what reaches the budget is left out",
        ST,
        [sized("1", 4, 9), sized("2", 6, 8)],
        LAMP,
        {"1"},
        {"budget": 10},
    ),
    Case("higher order goes first", ST, [sized("1", 6, 1), sized("2", 6, 2)], LAMP, {"2"}, {"budget": 10}),
    Case(
        "after the first that is left out, all are",
        ST,
        [sized("1", 4, 9), sized("2", 8, 8), sized("3", 1, 7)],
        LAMP,
        {"1"},
        {"budget": 10},
    ),
    Case(
        "but for those that ignore the budget",
        ST,
        [sized("1", 4, 9), sized("2", 8, 8), sized("3", 9, 7, ignores_budget=True)],
        LAMP,
        {"1", "3"},
        {"budget": 10},
    ),
    Case(
        "constant entries count",
        ST,
        [entry("1", is_constant=True, content="x" * 10)],
        LAMP,
        set(),
        {"budget": 10},
    ),
    Case(
        "sticky ones go first",
        ST,
        [sized("1", 6, 1, sticky=5), sized("2", 6, 9)],
        LAMP,
        {"1"},
        {"budget": 10},
        {"length": 3},
        before={"1": [1]},
    ),
    Case(
        "once the budget is used up, recursion ends",
        ST,
        [entry("1", "lamp", content="harbour", order=9), sized("2", 9, 1), entry("3", "harbour", content="")],
        LAMP,
        {"1"},
        ON | {"budget": 10},
    ),
    Case(
        "texts that feed no recursion count as well",
        OURS,
        [
            entry("1", "lamp", content="x" * 6, prevents_recursion=True, order=9),
            entry("2", "lamp", content="key", order=8),
            entry("3", "key", content="y" * 6),
        ],
        LAMP,
        {"1", "2"},
        ON | {"budget": 15},
    ),
    Case(
        "a book's own budget: lower priority is dropped",
        V2,
        [sized("1", 6, 9, priority=1), sized("2", 6, 1, priority=2)],
        LAMP,
        {"2"},
        book={"token_budget": 10},
    ),
    Case(
        "a book's own budget may be used to the end",
        V2,
        [sized("1", 4, 9), sized("2", 6, 8)],
        LAMP,
        {"1", "2"},
        book={"token_budget": 10},
    ),
    Case(
        "a book's own budget concerns no other book",
        OURS,
        [sized("1", 11, 9)],
        LAMP,
        {"2"},
        book={"token_budget": 10},
        others=[ScannedBook(Lorebook(entries=(entry("2", "lamp", content="y" * 20),)), "other")],
    ),
)


def world(uid: str, order: int, origin: Origin) -> ScannedBook:
    """Another book of one entry."""
    return ScannedBook(Lorebook(entries=(entry(uid, "lamp", content="x" * 6, order=order),)), uid, origin)


BEFORE, AFTER, AT = Position.BEFORE_CHARACTER, Position.AFTER_CHARACTER, Position.AT_DEPTH
ORDER = (
    Case(
        "within a place lower order comes first",
        ST,
        [entry("1", "lamp", order=9), entry("2", "lamp", order=1)],
        LAMP,
        ["2", "1"],
    ),
    Case(
        "of equal order the later one comes first",
        ST,
        [entry("1", "lamp"), entry("2", "lamp")],
        LAMP,
        ["2", "1"],
    ),
    Case(
        "places come in their order",
        ST,
        [
            entry("1", "lamp", position=AT),
            entry("2", "lamp", position=AFTER),
            entry("3", "lamp", position=BEFORE),
        ],
        LAMP,
        ["3", "2", "1"],
    ),
    Case(
        "the character's books go before the world's",
        ST,
        [sized("1", 6, 9)],
        LAMP,
        {"c"},
        {"budget": 10},
        others=[world("c", 1, Origin.CHARACTER)],
    ),
)

CASES = (*CHANCE, *BUDGET, *ORDER)
