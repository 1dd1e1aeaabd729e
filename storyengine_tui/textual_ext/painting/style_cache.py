"""A style sheet with two caches: the rules that may match a widget, and its computed styles by state.

Matching the rules of one text area, with its eight component classes, takes four milliseconds, and a change
of tab asks for it six times. Uses private parts of Textual's style sheet (`Part.STYLE_CACHE`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from weakref import WeakKeyDictionary

from textual.cache import LRUCache
from textual.css.model import RuleSet, SelectorType
from textual.css.styles import RenderStyles, RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

MOST_STATES: Final = 8
"""States of one widget that are cached: with the focus and without, read only, under the mouse."""
MOST_ALIKE: Final = 64
"""States of all widgets with the same rules that are cached."""
MOST_KNOWN: Final = 1_000
"""Sets of rules whose styles are cached; one theme needs some two hundred."""
MOST_PARSED: Final = 1_000
"""Parsed sources that are cached; Textual keeps 64."""

OF_PLACE: Final = frozenset(
    {"first-of-type", "last-of-type", "first-child", "last-child", "odd", "even", "empty"}
)
"""Pseudo classes that depend on sibling or child widgets; where a rule does, nothing is cached."""

_OF_APP: Final = frozenset({"dark", "light", "inline", "ansi", "nocolor"})
"""Pseudo classes that all widgets of an app have alike."""
_OF_WIDGET: Final[Mapping[str, Callable[[Widget], bool]]] = {
    **{name: check for name, check in Widget._PSEUDO_CLASSES.items() if name not in _OF_APP},
    "disabled": lambda widget: widget.disabled,
    "enabled": lambda widget: not widget.disabled,
}
"""Tests of a widget alone: the states of the app and of its ancestors say the rest, and Textual asks all of
them again for each widget."""

_STATES: Final = ("states",)
"""The key of the states in the cache that Textual has for widgets which are styled at once."""

State = tuple[object, ...]
"""State of a widget and its ancestors that the rules test."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """Properties of a widget, or of an ancestor, that some rules test."""

    types: frozenset[str]
    classes: frozenset[str]
    ids: frozenset[str]
    pseudo_classes: tuple[str, ...]
    depends_on_place: bool

    @classmethod
    def by(cls, rules: Iterable[RuleSet]) -> "_Asked":
        names: dict[SelectorType, set[str]] = {kind: set() for kind in SelectorType}
        pseudo_classes: set[str] = set()
        for rule in rules:
            pseudo_classes |= rule.pseudo_classes
            for selector_set in rule.selector_set:
                for selector in selector_set.selectors:
                    names[selector.type].add(selector.name)
        return cls(
            frozenset(names[SelectorType.TYPE]),
            frozenset(names[SelectorType.CLASS]),
            frozenset(names[SelectorType.ID]),
            tuple(sorted(pseudo_classes)),
            not pseudo_classes.isdisjoint(OF_PLACE),
        )


class _Flags(NamedTuple):
    """Textual's flags of a widget about the pseudo classes of its rules."""

    hover: bool
    focus_within: bool
    order: bool
    odd_or_even: bool

    @classmethod
    def of(cls, node: DOMNode) -> "_Flags":
        return cls(
            node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even
        )

    def restore(self, node: DOMNode) -> None:
        (node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even) = self


@dataclass(frozen=True, eq=False)
class _Rules:
    """The rules that may match widgets of some type, id and classes."""

    rules: list[RuleSet]
    by_name: dict[str, list[RuleSet]]
    of_parts: list[RuleSet]
    """Those that may match what such a widget consists of."""
    asked: _Asked
    """The tests of both of them."""
    alike: dict[State, tuple[RulesMap, _Flags]] = field(default_factory=dict)
    """The styles of all such widgets, by state."""


class _CachedStyles(NamedTuple):
    """The styles of a widget in some state."""

    rules: RulesMap
    components: dict[str, RenderStyles]
    flags: _Flags


StylesOfRules = dict[tuple[object, ...], _Rules]
"""Cached styles by the rules, which change with the theme, and by the id that they name."""


class CachingStylesheet(Stylesheet):
    """Computes the same styles as Textual's style sheet, from its caches where they are known."""

    def __init__(
        self, *, variables: dict[str, str] | None = None, known: StylesOfRules | None = None
    ) -> None:
        """Make a style sheet; `known` is what those of other apps found."""
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(MOST_PARSED)
        self._styled_by: WeakKeyDictionary[DOMNode, _Rules] = WeakKeyDictionary()
        """The rules that each widget was styled by last."""
        self._known: StylesOfRules = {} if known is None else known
        self._known_for: list[RuleSet] | None = None
        """The rules for which the caches are valid; a change of theme parses others."""
        self._order: dict[int, int] = {}
        """The places of those rules, by their identity: of two that fit equally well the later one counts."""
        self._narrow: _Rules | None = None
        self._narrowed: dict[frozenset[str], _Rules] = {}
        self._looks: WeakKeyDictionary[DOMNode, dict[State, _CachedStyles]] = WeakKeyDictionary()
        self._states: dict[tuple[DOMNode, _Asked | tuple[str, ...]], State] | None = None
        """States of ancestors, and their pseudo classes, while many widgets are styled at once."""

    @property
    def rules(self) -> list[RuleSet]:
        """All rules; while one widget is styled, those that may match it."""
        return super().rules if self._narrow is None else self._narrow.rules

    @property
    def rules_map(self) -> dict[str, list[RuleSet]]:
        """The same rules by their selectors."""
        return super().rules_map if self._narrow is None else self._narrow.by_name

    def parsed_apart(self, paths: Iterable[Path]) -> Callable[[], object]:
        """Parse style sheets without using them, such as in a thread; return what has them known here.

        After a change of theme meanwhile they are not: they were parsed with its colours.
        """
        variables, apart = self._variables, Stylesheet(variables=self._variables)
        apart._parse_cache = LRUCache(MOST_PARSED)
        for path in paths:
            apart._parse_rules(path.read_text("utf-8"), (str(path), ""))

        def take_over() -> None:
            if self._variables is variables:
                for key in [*apart._parse_cache.keys()]:
                    self._parse_cache[key] = apart._parse_cache[key]

        return take_over

    def reparse(self) -> None:
        """Parse what was not parsed with these variables: a screen that opens brings a source of its own."""
        self.parse()

    def update(self, root: DOMNode, animate: bool = False) -> None:
        """Style a widget and all in it that were styled by other rules than those that may match them now."""
        self._forget_other_rules()
        nodes = [node for node in root.walk_children(with_self=True) if not self._is_styled(node)]
        self.update_nodes(nodes, animate=animate)

    def _is_styled(self, node: DOMNode) -> bool:
        bars = (node._vertical_scrollbar, node._horizontal_scrollbar) if isinstance(node, Widget) else ()
        return all(
            self._styled_by.get(one) is self._narrow_for(one) for one in (node, *bars) if one is not None
        )

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], RulesMap] | None = None
    ) -> None:
        """Style one widget, from the cache where it, or one like it, was in this state before.

        `cache` is the same for all widgets that are styled, or mounted, at once; what lies around them must
        not change meanwhile.
        """
        outer, self._narrow = self._narrow, None
        outer_states = self._states
        if cache is not None:
            # Textual keeps it for as long as that takes, and its own keys there begin with a widget's parent.
            self._states = cast(Any, cache).setdefault(_STATES, {})
        try:
            self._forget_other_rules()
            narrow = self._narrow_for(node)
            self._styled_by[node] = narrow
            if narrow.asked.depends_on_place:
                self._narrow = narrow
                super().apply(node, animate=animate, cache=cache)
                return
            state = self._state_of(node, narrow.asked)
            if not self._is_worth_caching(node):
                self._match(node, narrow, state, animate=animate)
                return
            looks = self._looks.setdefault(node, {})
            look = looks.get(state)
            if look is None:
                self._match(node, narrow, state, animate=animate)
                self._remember(node, looks, state)
            else:
                self._restore(node, look, animate=animate)
        finally:
            self._narrow, self._states = outer, outer_states

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Set the rules of a widget that are others; only a transition asks for those that stay."""
        base = node.styles.base
        if "transitions" in rules:
            super().replace_rules(node, rules, animate)
            return
        known = base._rules
        for name in [name for name in known.keys() | rules.keys() if known.get(name) != rules.get(name)]:
            setattr(base, name, rules.get(name))
        # The background may look different; scroll bars show it, and only here are they told.
        node.notify_style_update()
        if isinstance(node, Widget):
            for bar in (node._vertical_scrollbar, node._horizontal_scrollbar):
                if bar is not None:
                    bar.refresh()

    @staticmethod
    def _is_worth_caching(node: DOMNode) -> bool:
        """Whether it is styled often, or at length; most widgets are styled once, when they are mounted."""
        return isinstance(node, Widget) and (node.is_mounted or bool(node._get_component_classes()))

    def _match(self, node: DOMNode, narrow: _Rules, state: State, *, animate: bool) -> None:
        """Find the rules that hold for a widget, unless they are known of one like it."""
        if known := narrow.alike.get(state):
            rules, flags = known
            flags.restore(node)
            if node.styles.base._rules or node._is_mounted:
                self.replace_rules(node, rules, animate=animate)
            else:
                # Nothing has to be painted again, so that the rules need not be set one by one.
                node.styles.base.merge_rules(rules)
                node.notify_style_update()
            self._process_component_classes(node)
            return
        self._narrow = narrow
        super().apply(node, animate=animate)
        rules = node.styles.base._rules
        if "transitions" not in rules:
            if len(narrow.alike) >= MOST_ALIKE:
                narrow.alike.clear()
            narrow.alike[state] = (rules.copy(), _Flags.of(node))

    def _forget_other_rules(self) -> None:
        rules = super().rules
        if rules is not self._known_for:
            self._known_for = rules
            self._order = {id(rule): place for place, rule in enumerate(rules)}
            self._narrowed.clear()
            self._looks.clear()

    def _narrow_for(self, node: DOMNode) -> _Rules:
        names = frozenset(node._selector_names)
        known = self._narrowed.get(names)
        if known is None:
            wanted = self._wanted(names)
            parts = [
                rule
                for part in sorted(node._get_component_classes())
                for rule in self._wanted(frozenset({"*", f".{part}"}))
            ]
            named = f"#{node.id}" if f"#{node.id}" in super().rules_map else None
            # The identities of objects that are kept belong to no other.
            key = (named, len(wanted), *map(id, wanted), *map(id, parts))
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                by_name = {"*": wanted}
                if named is not None:
                    # Rules for its id say that others of its type may look different.
                    by_name[named] = []
                known = self._known[key] = _Rules(wanted, by_name, parts, _Asked.by([*wanted, *parts]))
            self._narrowed[names] = known
        return known

    def _wanted(self, names: frozenset[str]) -> list[RuleSet]:
        """Return the rules that select one of these names, in their order."""
        of_name = super().rules_map
        found = {id(rule): rule for name in names for rule in of_name.get(name, ())}
        return [found[number] for number in sorted(found, key=self._order.__getitem__)]

    def _state_of(self, node: DOMNode, asked: _Asked) -> State:
        known = None if self._states is None else self._states.get((node, asked))
        if known is None:
            parent = node._parent
            known = (
                asked.types & node._css_type_names,
                asked.classes & node._classes,
                node._id if node._id in asked.ids else None,
                self._holding(node, asked.pseudo_classes),
                self._state_of(parent, asked) if isinstance(parent, DOMNode) else (),
            )
            if self._states is not None:
                self._states[node, asked] = known
        return known

    def _holding(self, node: DOMNode, pseudo_classes: tuple[str, ...]) -> State:
        """Return those that hold for a node alone; widgets of many types are asked for the same ones."""
        known = None if self._states is None else self._states.get((node, pseudo_classes))
        if known is None:
            checks: Mapping[str, Callable[[Any], bool]] = (
                _OF_WIDGET if isinstance(node, Widget) else node._PSEUDO_CLASSES
            )
            known = tuple(name for name in pseudo_classes if name in checks and checks[name](node))
            if self._states is not None:
                self._states[node, pseudo_classes] = known
        return known

    def _remember(self, node: DOMNode, looks: dict[State, _CachedStyles], state: State) -> None:
        rules = node.styles.base._rules
        if "transitions" in rules:
            return  # The styles may be in the middle of a transition.
        if len(looks) >= MOST_STATES:
            looks.clear()
        looks[state] = _CachedStyles(rules.copy(), node._component_styles.copy(), _Flags.of(node))

    def _restore(self, node: DOMNode, look: _CachedStyles, *, animate: bool) -> None:
        look.flags.restore(node)
        self.replace_rules(node, look.rules, animate=animate)
        if node._component_styles.keys() != look.components.keys() or any(
            node._component_styles[name] != styles for name, styles in look.components.items()
        ):
            node._component_styles.clear()
            node._component_styles.update(look.components)
            node.refresh()
