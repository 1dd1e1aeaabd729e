"""Cases: keys, case, whole words, expressions, secondary keys, scan depth."""

from typing import Any

from core.library.lore.activation.scene import ScannedMessage
from core.library.lore.book import Logic
from tests.core.library.lore.activation.activation_case import OURS, ST, V2, V3, Case, entry

LAMP = ["The lamp is lit."]
ONE_SIGN, TWO_SIGNS = ["Here is Zo\u00eb."], ["Here is Zoe\u0308."]
AND_ANY, NOT_ALL, NOT_ANY, AND_ALL = Logic.AND_ANY, Logic.NOT_ALL, Logic.NOT_ANY, Logic.AND_ALL


def logic(rule: str, kind: Logic, text: str, *, is_active: bool, **fields: Any) -> Case:
    """A case of an entry with the key “lamp” and the secondary keys “oil” and “wick”."""
    one = entry("1", "lamp", secondary=("oil", "wick"), logic=kind, **fields)
    return Case(rule, ST, [one], [text], {"1"} if is_active else set())


PLAIN = (
    Case("a key in the text activates", V2, [entry("1", "lamp")], LAMP, {"1"}),
    Case("a key that is not in the text does not", V2, [entry("1", "ship")], LAMP, set()),
    Case("any one of several keys is enough", V2, [entry("1", "ship", "lamp")], LAMP, {"1"}),
    Case("a key matches within a word", ST, [entry("1", "amp")], LAMP, {"1"}),
    Case("an entry without keys is never found", ST, [entry("1")], LAMP, set()),
    Case("an empty key matches nothing", ST, [entry("1", "")], LAMP, set()),
    Case("a blank key matches nothing", ST, [entry("1", "  ")], LAMP, set()),
    Case("white space around a key is ignored", ST, [entry("1", "  lamp ")], LAMP, {"1"}),
    Case("white space within a key counts", ST, [entry("1", "lamp  is")], LAMP, set()),
    Case("several words are one key", ST, [entry("1", "lamp is lit")], LAMP, {"1"}),
    Case("{{char}} in a key is the character", ST, [entry("1", "{{char}}")], ["Here is Kara."], {"1"}),
    Case("{{user}} in a key is the player", ST, [entry("1", "{{USER}}'s hat")], ["Tom's hat"], {"1"}),
    Case("an unknown macro in a key is text", ST, [entry("1", "{{x}}")], ["a {{x}} b"], {"1"}),
    Case("a disabled entry is never active", V2, [entry("1", "lamp", is_enabled=False)], LAMP, set()),
    Case("a constant entry needs no key", V2, [entry("1", is_constant=True)], LAMP, {"1"}),
    Case("a constant entry needs no text", V2, [entry("1", is_constant=True)], [], {"1"}),
    Case(
        "a disabled constant entry is not active",
        ST,
        [entry("1", is_constant=True, is_enabled=False)],
        LAMP,
        set(),
    ),
    Case("a key does not reach over two messages", ST, [entry("1", "lit the")], ["the", "lit"], set()),
    Case("keys of one letter are found", ST, [entry("1", "x")], ["a x b"], {"1"}),
    Case("keys of two letters are found", ST, [entry("1", "ox")], ["an ox"], {"1"}),
    Case("keys of other scripts are found", ST, [entry("1", "灯台")], ["古い灯台です"], {"1"}),
    Case("an accent in the text may be a sign of its own", OURS, [entry("1", "Zo\u00eb")], TWO_SIGNS, {"1"}),
    Case("an accent in a key may be a sign of its own", OURS, [entry("1", "Zoe\u0308")], ONE_SIGN, {"1"}),
    Case(
        "a letter of an expression is found with its accent as a sign of its own",
        OURS,
        [entry("1", "/\\bzo\u00eb\\b/i")],
        TWO_SIGNS,
        {"1"},
    ),
    Case(
        "a whole word ends behind an accent that is a sign of its own",
        OURS,
        [entry("1", "zoe", whole_words=True)],
        TWO_SIGNS,
        set(),
    ),
)

CASE = (
    Case("case is ignored by default", ST, [entry("1", "LAMP")], LAMP, {"1"}),
    Case("case is ignored in the text as well", ST, [entry("1", "lamp")], ["LAMP"], {"1"}),
    Case("case counts where the entry says so", V2, [entry("1", "LAMP", case_sensitive=True)], LAMP, set()),
    Case(
        "the right case matches where case counts",
        V2,
        [entry("1", "The lamp", case_sensitive=True)],
        LAMP,
        {"1"},
    ),
    Case("letters beyond ASCII have case too", ST, [entry("1", "ÉLAN")], ["élan"], {"1"}),
)

WORDS = (
    Case("a whole word is not found within a word", ST, [entry("1", "amp", whole_words=True)], LAMP, set()),
    Case("a whole word is found at the start", ST, [entry("1", "the", whole_words=True)], LAMP, {"1"}),
    Case("a whole word is found at the end", ST, [entry("1", "lit", whole_words=True)], ["is lit"], {"1"}),
    Case("a whole word ends at punctuation", ST, [entry("1", "lit", whole_words=True)], LAMP, {"1"}),
    Case("a whole word ends at an apostrophe", ST, [entry("1", "kara", whole_words=True)], ["Kara's"], {"1"}),
    Case("an underscore is part of a word", ST, [entry("1", "lamp", whole_words=True)], ["old_lamp"], set()),
    Case("a digit is part of a word", ST, [entry("1", "lamp", whole_words=True)], ["lamp2"], set()),
    Case("a later whole word counts", ST, [entry("1", "lamp", whole_words=True)], ["lamps, lamp"], {"1"}),
    Case(
        "several words are looked for as text, also as whole words",
        ST,
        [entry("1", "amp is", whole_words=True)],
        LAMP,
        {"1"},
    ),
    Case("a key with a sign is a whole word", ST, [entry("1", "$5", whole_words=True)], ["for $5!"], {"1"}),
    Case(
        "an accented letter is part of a word", OURS, [entry("1", "caf", whole_words=True)], ["café"], set()
    ),
    Case("a vowel sign is part of a word", ST, [entry("1", "राज", whole_words=True)], ["राजा गया"], set()),
    Case("a whole word has its signs", ST, [entry("1", "राजा", whole_words=True)], ["राजा गया"], {"1"}),
    Case("a sign of a picture ends a word", ST, [entry("1", "❤", whole_words=True)], ["a ❤️ b"], {"1"}),
    Case(
        "a Turkish capital has its dot",
        ST,
        [entry("1", "istanbul", whole_words=True)],
        ["İstanbul'da"],
        {"1"},
    ),
    Case(
        "whole words of scripts without spaces",
        ST,
        [entry("1", "灯台", whole_words=True)],
        ["古い灯台です"],
        {"1"},
    ),
    Case(
        "a Latin word between such letters",
        ST,
        [entry("1", "lamp", whole_words=True)],
        ["古いlampです"],
        {"1"},
    ),
    Case(
        "a whole word whose case counts",
        ST,
        [entry("1", "Lit", whole_words=True, case_sensitive=True)],
        ["Lit, lit"],
        {"1"},
    ),
    Case(
        "the wrong case of a whole word",
        ST,
        [entry("1", "Lit", whole_words=True, case_sensitive=True)],
        ["lit"],
        set(),
    ),
)

EXPRESSIONS = (
    Case("slashes make an expression", ST, [entry("1", "/l.mp/")], LAMP, {"1"}),
    Case("an expression minds case by itself", ST, [entry("1", "/LAMP/")], LAMP, set()),
    Case("the flag i ignores case", ST, [entry("1", "/LAMP/i")], LAMP, {"1"}),
    Case(
        "an expression pays no heed to case switches",
        ST,
        [entry("1", "/LAMP/i", case_sensitive=True)],
        LAMP,
        {"1"},
    ),
    Case("an expression may match within a word", ST, [entry("1", "/amp/", whole_words=True)], LAMP, {"1"}),
    Case("an unescaped slash within makes it text", ST, [entry("1", "/a/b/")], ["x /a/b/ y"], {"1"}),
    Case("an escaped slash is one", ST, [entry("1", r"/a\/b/")], ["x a/b y"], {"1"}),
    Case("what is no expression is text", ST, [entry("1", "/[/")], ["a /[/ b"], {"1"}),
    Case("unknown flags make it text", ST, [entry("1", "/lamp/q")], LAMP, set()),
    Case("the flags g and y change nothing", ST, [entry("1", "/lamp/gy")], LAMP, {"1"}),
    Case("the flag s lets a dot match a line end", ST, [entry("1", "/a.b/s")], ["a\nb"], {"1"}),
    Case("without it a dot does not", ST, [entry("1", "/a.b/")], ["a\nb"], set()),
    Case("the flag m lets ^ match at each line", ST, [entry("1", "/^b/m")], ["a\nb"], {"1"}),
    Case("a message begins with a mark", ST, [entry("1", r"/\x01lamp/")], ["x", "lamp"], {"1"}),
    Case("the mark is only where a message begins", ST, [entry("1", r"/\x01lit/")], ["x", "lamp lit"], set()),
    Case(
        "an expression reaches over messages, newest first",
        ST,
        [entry("1", r"/new[^x]*old/")],
        ["old", "new"],
        {"1"},
    ),
    Case("but not in the other direction", ST, [entry("1", r"/old[^x]*new/")], ["old", "new"], set()),
    Case("a line end lies between two messages", ST, [entry("1", r"/new\s/")], ["old", "new"], {"1"}),
    Case("but not behind the oldest", ST, [entry("1", r"/old\s/")], ["old", "new"], set()),
    Case("a dot takes the mark behind it", ST, [entry("1", r"/new\s.old/")], ["old", "new"], {"1"}),
    Case("JavaScript's class of everything", ST, [entry("1", r"/a[^]b/")], ["a\nb"], {"1"}),
    Case("named groups as in JavaScript", ST, [entry("1", r"/(?<x>lamp)/")], LAMP, {"1"}),
    Case(
        "an expression that is plain text ignores the switch of words",
        ST,
        [entry("1", "/amp/i", whole_words=True)],
        ["LAMP"],
        {"1"},
    ),
    Case("a slash in such an expression", ST, [entry("1", r"/and\/or/")], ["this and/or that"], {"1"}),
    Case("use_regex with plain text minds case", V3, [entry("1", "LAMP", uses_regex=True)], LAMP, set()),
    Case("use_regex needs no slashes", V3, [entry("1", "l.mp", uses_regex=True)], LAMP, {"1"}),
    Case("use_regex with slashes and flags", V3, [entry("1", "/L.MP/i", uses_regex=True)], LAMP, {"1"}),
    Case(
        "use_regex: what is invalid matches nothing",
        V3,
        [entry("1", "[", uses_regex=True)],
        ["[ lamp"],
        set(),
    ),
    Case(
        "use_regex: secondary keys are ignored",
        V3,
        [entry("1", "l.mp", uses_regex=True, secondary=("ship",))],
        LAMP,
        {"1"},
    ),
    Case(
        "use_regex: another valid key still matches",
        V3,
        [entry("1", "[", "l.mp", uses_regex=True)],
        LAMP,
        {"1"},
    ),
)

SECONDARY = (
    logic("AND ANY: one is enough", AND_ANY, "lamp oil", is_active=True),
    logic("AND ANY: all are fine", AND_ANY, "lamp oil wick", is_active=True),
    logic("AND ANY: none is too few", AND_ANY, "lamp", is_active=False),
    logic("AND ANY: nothing without the primary key", AND_ANY, "oil wick", is_active=False),
    logic("AND ALL: all are needed", AND_ALL, "lamp oil wick", is_active=True),
    logic("AND ALL: one is too few", AND_ALL, "lamp oil", is_active=False),
    logic("NOT ANY: none is right", NOT_ANY, "lamp", is_active=True),
    logic("NOT ANY: one is too many", NOT_ANY, "lamp oil", is_active=False),
    logic("NOT ALL: none is right", NOT_ALL, "lamp", is_active=True),
    logic("NOT ALL: one of two is right", NOT_ALL, "lamp oil", is_active=True),
    logic("NOT ALL: all is too many", NOT_ALL, "lamp oil wick", is_active=False),
    logic(
        "secondary keys count only where the entry is selective",
        AND_ALL,
        "lamp",
        is_active=True,
        is_selective=False,
    ),
    logic(
        "secondary keys follow the switch of case", AND_ANY, "lamp OIL", is_active=False, case_sensitive=True
    ),
    logic(
        "secondary keys follow the switch of whole words",
        AND_ANY,
        "lamp oily",
        is_active=False,
        whole_words=True,
    ),
    Case(
        "secondary keys may be expressions",
        ST,
        [entry("1", "lamp", secondary=("/o.l/",))],
        ["lamp oil"],
        {"1"},
    ),
    Case("without secondary keys the logic is moot", ST, [entry("1", "lamp", logic=AND_ALL)], LAMP, {"1"}),
    Case(
        "secondary keys may be in another message",
        ST,
        [entry("1", "lamp", secondary=("oil",))],
        ["oil", "lamp"],
        {"1"},
    ),
    Case(
        "a secondary key beyond the depth does not count",
        ST,
        [entry("1", "lamp", secondary=("oil",), scan_depth=1)],
        ["oil", "lamp"],
        set(),
    ),
    Case(
        "a constant entry needs no secondary key",
        ST,
        [entry("1", is_constant=True, secondary=("oil",))],
        LAMP,
        {"1"},
    ),
)

OLD = ["lamp", "x", "y"]
DEPTH = (
    Case("messages beyond the depth are not scanned", ST, [entry("1", "lamp")], OLD, set()),
    Case("the depth of the settings", ST, [entry("1", "lamp")], OLD, {"1"}, {"scan_depth": 3}),
    Case(
        "the depth of the book goes before that", V2, [entry("1", "lamp")], OLD, {"1"}, book={"scan_depth": 3}
    ),
    Case(
        "the depth of the entry goes before both",
        ST,
        [entry("1", "lamp", scan_depth=3)],
        OLD,
        {"1"},
        book={"scan_depth": 1},
    ),
    Case("a smaller depth of the entry", ST, [entry("1", "x", scan_depth=1)], OLD, set()),
    Case("at depth 0 no message is scanned", ST, [entry("1", "y", scan_depth=0)], OLD, set()),
    Case(
        "the name before a message is scanned",
        ST,
        [entry("1", "kara:")],
        [],
        {"1"},
        scene={"messages": [ScannedMessage(1, "hi", "Kara")]},
    ),
    Case(
        "a field of the card is scanned on demand",
        ST,
        [entry("1", "sailor", matches_description=True)],
        ["x"],
        {"1"},
        scene={"fields": {"description": "A sailor"}},
    ),
    Case(
        "and not otherwise",
        ST,
        [entry("1", "sailor")],
        ["x"],
        set(),
        scene={"fields": {"description": "A sailor"}},
    ),
    Case(
        "fields are not scanned at depth 0",
        ST,
        [entry("1", "sailor", matches_description=True, scan_depth=0)],
        ["x"],
        set(),
        scene={"fields": {"description": "A sailor"}},
    ),
)

CASES = (*PLAIN, *CASE, *WORDS, *EXPRESSIONS, *SECONDARY, *DEPTH)
