"""A style sheet with two caches: the rules that may match a widget, and its computed styles by state.

Matching the rules of one text area, with its eight component classes, takes four milliseconds, and a change
of tab asks for it six times. Uses private parts of Textual's style sheet (`Part.STYLE_CACHE`).
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from textual.css.model import RuleSet
from textual.css.styles import RenderStyles, RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

MOST_STATES: Final = 8
"""States of one widget that are cached: with the focus and without, read only, under the mouse."""

_OF_PLACE: Final = frozenset(
    {"first-of-type", "last-of-type", "first-child", "last-child", "odd", "even", "empty"}
)
"""Pseudo classes that depend on sibling or child widgets; where a rule does, nothing is cached."""

State = tuple[object, ...]
"""Classes and pseudo classes of a widget and of its ancestors."""


class _Rules(NamedTuple):
    """The rules that may match widgets of some type, id and classes."""

    rules: list[RuleSet]
    by_name: dict[str, list[RuleSet]]
    pseudo_classes: tuple[str, ...]
    """Those that the rules use, of a widget or of an ancestor."""
    depend_on_place: bool


class _CachedStyles(NamedTuple):
    """The styles of a widget in some state."""

    rules: RulesMap
    components: dict[str, RenderStyles]
    flags: tuple[bool, bool, bool, bool]


class CachingStylesheet(Stylesheet):
    """Computes the same styles as Textual's style sheet, from its caches where they are known."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._known_for: list[RuleSet] | None = None
        """The rules for which the caches are valid; a change of theme parses others."""
        self._order: dict[RuleSet, int] = {}
        """The places of those rules: of two that fit equally well the later one counts."""
        self._narrow: _Rules | None = None
        self._narrowed: dict[frozenset[str], _Rules] = {}
        self._looks: WeakKeyDictionary[DOMNode, dict[State, _CachedStyles]] = WeakKeyDictionary()
        self._states: dict[tuple[DOMNode, tuple[str, ...]], State] | None = None
        """States of ancestors, while many widgets are styled at once."""

    @property
    def rules(self) -> list[RuleSet]:
        """All rules; while one widget is styled, those that may match it."""
        return super().rules if self._narrow is None else self._narrow.rules

    @property
    def rules_map(self) -> dict[str, list[RuleSet]]:
        """The same rules by what they select."""
        return super().rules_map if self._narrow is None else self._narrow.by_name

    def update_nodes(self, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        """Style the nodes; their ancestors must not change during the call."""
        outer, self._states = self._states, {}
        try:
            super().update_nodes(nodes, animate)
        finally:
            self._states = outer

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], RulesMap] | None = None
    ) -> None:
        """Style one widget, from the cache where it was in this state before."""
        outer, self._narrow = self._narrow, None
        try:
            self._forget_other_rules()
            narrow = self._narrow_for(node)
            if narrow.depend_on_place or not self._is_worth_caching(node):
                self._narrow = narrow
                super().apply(node, animate=animate, cache=cache)
                return
            looks, state = self._looks.setdefault(node, {}), self._state_of(node, narrow.pseudo_classes)
            look = looks.get(state)
            if look is None:
                self._narrow = narrow
                super().apply(node, animate=animate, cache=cache)
                self._remember(node, looks, state)
            else:
                self._restore(node, look, animate=animate)
        finally:
            self._narrow = outer

    @staticmethod
    def _is_worth_caching(node: DOMNode) -> bool:
        """Whether it is styled often, or at length; most widgets are styled once, when they are mounted."""
        return isinstance(node, Widget) and (node.is_mounted or bool(node._get_component_classes()))

    def _forget_other_rules(self) -> None:
        rules = super().rules
        if rules is not self._known_for:
            self._known_for = rules
            self._order = {rule: place for place, rule in enumerate(rules)}
            self._narrowed.clear()
            self._looks.clear()

    def _narrow_for(self, node: DOMNode) -> _Rules:
        names = frozenset(node._selector_names)
        known = self._narrowed.get(names)
        if known is None:
            of_name = super().rules_map
            found = {rule for name in names for rule in of_name.get(name, ())}
            wanted = sorted(found, key=self._order.__getitem__)
            by_name = {"*": wanted}
            if node.id is not None and f"#{node.id}" in of_name:
                # Rules for its id say that others of its type may look different.
                by_name[f"#{node.id}"] = []
            asked: set[str] = set().union(*(rule.pseudo_classes for rule in wanted))
            known = _Rules(wanted, by_name, tuple(sorted(asked)), not asked.isdisjoint(_OF_PLACE))
            self._narrowed[names] = known
        return known

    def _state_of(self, node: DOMNode, asked: tuple[str, ...]) -> State:
        known = None if self._states is None else self._states.get((node, asked))
        if known is None:
            checks = node._PSEUDO_CLASSES
            holds = tuple(name for name in asked if name in checks and checks[name](node))  # type: ignore[arg-type]  # a widget's
            parent = node._parent
            around = self._state_of(parent, asked) if isinstance(parent, DOMNode) else ()
            known = (frozenset(node._classes), holds, around)
            if self._states is not None:
                self._states[node, asked] = known
        return known

    def _remember(self, node: DOMNode, looks: dict[State, _CachedStyles], state: State) -> None:
        rules = node.styles.base._rules
        if "transitions" in rules:
            return  # The styles may be in the middle of a transition.
        if len(looks) >= MOST_STATES:
            looks.clear()
        flags = node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even
        looks[state] = _CachedStyles(rules.copy(), node._component_styles.copy(), flags)

    def _restore(self, node: DOMNode, look: _CachedStyles, *, animate: bool) -> None:
        node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even = (
            look.flags
        )
        if node.styles.base._rules != look.rules:
            self.replace_rules(node, look.rules, animate=animate)
        else:
            # The background may look different.
            node.notify_style_update()
        if node._component_styles.keys() != look.components.keys() or any(
            node._component_styles[name] != styles for name, styles in look.components.items()
        ):
            node._component_styles.clear()
            node._component_styles.update(look.components)
            node.refresh()
