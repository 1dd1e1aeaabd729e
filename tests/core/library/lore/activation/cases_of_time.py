"""Cases: sticky, cooldown, delay, least activations, and decorators."""

from typing import Any

from tests.core.library.lore.activation.activation_case import OURS, ST, V3, Case, entry

LAMP = ["The lamp is lit."]
ON = {"is_recursive": True}


TIMERS = (
    Case(
        "a sticky entry stays",
        ST,
        [entry("1", "x", sticky=3)],
        LAMP,
        {"1"},
        scene={"length": 7},
        before={"1": [5]},
    ),
    Case(
        "until its messages are over",
        ST,
        [entry("1", "x", sticky=3)],
        LAMP,
        set(),
        scene={"length": 8},
        before={"1": [5]},
    ),
    Case(
        "an activation while it is sticky does not prolong it",
        ST,
        [entry("1", "x", sticky=3)],
        LAMP,
        set(),
        scene={"length": 8},
        before={"1": [5, 6, 7]},
    ),
    Case(
        "the same input again: what it activated does not count",
        ST,
        [entry("1", "x", sticky=3)],
        LAMP,
        set(),
        scene={"length": 5},
        before={"1": [5]},
    ),
    Case(
        "a cooldown keeps it off",
        ST,
        [entry("1", "lamp", cooldown=3)],
        LAMP,
        set(),
        scene={"length": 7},
        before={"1": [5]},
    ),
    Case(
        "until its messages are over: cooldown",
        ST,
        [entry("1", "lamp", cooldown=3)],
        LAMP,
        {"1"},
        scene={"length": 8},
        before={"1": [5]},
    ),
    Case(
        "the same input again is not in cooldown",
        ST,
        [entry("1", "lamp", cooldown=3)],
        LAMP,
        {"1"},
        scene={"length": 5},
        before={"1": [5]},
    ),
    Case(
        "the cooldown begins where stickiness ends",
        ST,
        [entry("1", "lamp", sticky=2, cooldown=3)],
        LAMP,
        set(),
        scene={"length": 9},
        before={"1": [5]},
    ),
    Case(
        "and ends three messages later",
        ST,
        [entry("1", "lamp", sticky=2, cooldown=3)],
        LAMP,
        {"1"},
        scene={"length": 10},
        before={"1": [5]},
    ),
    Case(
        "while it is sticky no cooldown counts",
        ST,
        [entry("1", "x", sticky=4, cooldown=3)],
        LAMP,
        {"1"},
        scene={"length": 6},
        before={"1": [5]},
    ),
    Case(
        "a cooldown holds for constant entries",
        ST,
        [entry("1", is_constant=True, cooldown=3)],
        LAMP,
        set(),
        scene={"length": 6},
        before={"1": [5]},
    ),
    Case("too few messages: delay", ST, [entry("1", "lamp", delay=3)], LAMP, set(), scene={"length": 2}),
    Case("enough messages: delay", ST, [entry("1", "lamp", delay=3)], LAMP, {"1"}, scene={"length": 3}),
    Case(
        "a delay holds for constant entries",
        ST,
        [entry("1", is_constant=True, delay=3)],
        LAMP,
        set(),
        scene={"length": 2},
    ),
    Case(
        "a sticky entry ignores recursion switches",
        ST,
        [entry("1", "x", sticky=3, delay_until_recursion=1)],
        LAMP,
        {"1"},
        ON,
        {"length": 6},
        before={"1": [5]},
    ),
    Case(
        "a disabled entry is not sticky",
        ST,
        [entry("1", "x", sticky=3, is_enabled=False)],
        LAMP,
        set(),
        scene={"length": 6},
        before={"1": [5]},
    ),
)


def decorated(
    rule: str, lines: str, is_active: bool, text: str = "lamp", source: str = V3, **more: Any
) -> Case:
    """A case of an entry with the key “lamp” and these decorators."""
    return Case(
        rule,
        source,
        [entry("1", "lamp", content=f"{lines}\ntext")],
        [text],
        {"1"} if is_active else set(),
        **more,
    )


DECORATORS = (
    decorated("@@activate needs no key", "@@activate", True, "x"),
    decorated("@@dont_activate goes before keys", "@@dont_activate", False),
    decorated("@@activate goes before it", "@@dont_activate\n@@activate", True, "x"),
    decorated(
        "@@activate_only_after: too few replies", "@@activate_only_after 3", False, scene={"replies": 2}
    ),
    decorated("@@activate_only_after: enough", "@@activate_only_after 3", True, scene={"replies": 3}),
    decorated("@@activate_only_every: a multiple", "@@activate_only_every 3", True, scene={"replies": 6}),
    decorated("@@activate_only_every: no multiple", "@@activate_only_every 3", False, scene={"replies": 5}),
    decorated(
        "@@keep_activate_after_match",
        "@@keep_activate_after_match",
        True,
        "x",
        scene={"length": 90},
        before={"1": [2]},
    ),
    decorated(
        "@@dont_activate_after_match",
        "@@dont_activate_after_match",
        False,
        scene={"length": 90},
        before={"1": [2]},
    ),
    decorated("@@dont_activate_after_match: the first time", "@@dont_activate_after_match", True),
    decorated("@@additional_keys: one of a line is needed", "@@additional_keys oil,wick", True, "lamp oil"),
    decorated("@@additional_keys: none is there", "@@additional_keys oil,wick", False),
    decorated(
        "@@additional_keys: each line",
        "@@additional_keys oil\n@@additional_keys wick",
        False,
        "lamp oil",
        OURS,
    ),
    decorated("@@exclude_keys: one is there", "@@exclude_keys oil,wick", False, "lamp wick"),
    decorated("@@exclude_keys: none is there", "@@exclude_keys oil,wick", True),
    decorated(
        "@@exclude_keys_all: not all are there", "@@exclude_keys_all oil,wick", True, "lamp oil", "Risu"
    ),
    decorated(
        "@@exclude_keys_all: all are there", "@@exclude_keys_all oil,wick", False, "lamp oil wick", "Risu"
    ),
    decorated("@@is_greeting: there is none", "@@is_greeting 0", False),
    decorated("@@scan_depth", "@@scan_depth 0", False),
    decorated("@@probability", "@@probability 0", False, source="Risu"),
    decorated("a fallback after one that is understood", "@@scan_depth 5\n@@@dont_activate", True),
    decorated("a fallback after one that is not", "@@no_such_thing\n@@@dont_activate", False),
    decorated(
        "a fallback after a fallback that was taken", "@@no_such\n@@@scan_depth 5\n@@@dont_activate", True
    ),
    decorated("an unknown decorator changes nothing", "@@no_such_thing 5", True),
    decorated("@@match_full_word", "@@match_full_word", False, "lamps", "Risu"),
    decorated("@@match_partial_word", "@@match_partial_word", True, "lamps", "Risu"),
    decorated("@@ within the text is text", "text\n@@dont_activate", True),
)

CASES = (*TIMERS, *DECORATORS)
