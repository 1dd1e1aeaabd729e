"""A style sheet that remembers finds the same as one that looks everything up, and does not look it up."""

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from storyengine_tui.textual_ext.painting import style_cache
from storyengine_tui.textual_ext.painting.style_cache import (
    MOST_ALIKE,
    MOST_STATES,
    CachingStylesheet,
    StylesOfRules,
)
from storyengine_tui.textual_ext.parts import PLAIN_OUTPUT, Part
from storyengine_tui.theme import STORY_THEME
from tests.tui.engine_app import Desktop, make_active, until

pytestmark = [pytest.mark.anyio, pytest.mark.paints]


class Fields(App[None]):
    """Two fields in a cell each, which says where the focus is; and lines that look by their place."""

    CSS = """
    .cell { border: round white; &:focus-within { border: heavy red; } }
    .cell:focus-within Static { color: red; }
    TextArea:focus .text-area--placeholder { color: blue; }
    .line:first-child { color: green; }
    #named { color: yellow; }
    TextArea:disabled { tint: rgb(1,2,3); }
    .veiled { background: blue; color: red; }
    .loud .text-area--placeholder { color: green; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = CachingStylesheet(variables=self.get_css_variables())

    def compose(self) -> ComposeResult:
        with Vertical(classes="cell"):
            yield Static("a label")
            yield TextArea(id="text", placeholder="nothing yet")
        with Vertical(classes="cell"):
            yield Static("another", id="named")
            yield Input(id="line")
        with Vertical(id="lines"):
            yield Static("first", classes="line")
            yield Static("second", classes="line")


def look_of(node: DOMNode) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the rules that hold for a widget, and for what it consists of."""
    parts = {name: dict(styles.base._rules) for name, styles in node._component_styles.items()}
    return dict(node.styles.base._rules), parts


def wrongly_styled(app: App[Any]) -> list[str]:
    """Return the widgets that a style sheet without a memory would have look different."""
    plain = Stylesheet(variables=app.get_css_variables())
    plain._rules = app.stylesheet.rules
    wrong = []
    for widget in app.screen.walk_children(Widget, with_self=True):
        before = look_of(widget)
        plain.apply(widget)
        if look_of(widget) != before:
            wrong.append(str(widget))
    return wrong


async def test_widgets_look_as_they_do_without_a_memory() -> None:
    app = Fields()
    async with app.run_test() as pilot:
        text, line = app.query_one(TextArea), app.query_one(Input)
        for widget in (text, line, text, None, line):
            app.screen.set_focus(widget)
            await pilot.pause()
            assert not wrongly_styled(app)
            assert app.query_one("#named").styles.color.rgb == (255, 255, 0)
        for _ in range(2):
            text.toggle_class("strange")
            line.disabled = not line.disabled
            await pilot.pause()
            assert not wrongly_styled(app)
        for is_disabled in (True, False):
            app.query(".cell").first().disabled = is_disabled  # and with it the field in it
            await pilot.pause()
            assert not wrongly_styled(app)
            assert (text.styles.tint.rgb == (1, 2, 3)) is is_disabled
        await app.query_one("#lines").mount(Static("before the first", classes="line"), before=0)
        await pilot.pause()
        assert not wrongly_styled(app)
        app.theme = "textual-light"
        await pilot.pause()
        assert not wrongly_styled(app)


async def test_what_lies_on_a_widget_hears_that_it_looks_different() -> None:
    """Its own rules stay as they are."""
    app = Fields()
    async with app.run_test() as pilot:
        cell, label = app.query(".cell").first(), app.query(".cell Static").first(Static)
        seen = []
        for _ in range(4):
            cell.toggle_class("veiled")
            await pilot.pause()
            seen.append((label.visual_style.background, label.visual_style.foreground, label.render_line(0)))
        assert seen[0] == seen[2] != seen[1] == seen[3]


async def test_what_a_widget_consists_of_looks_as_its_surroundings_ask() -> None:
    """No rule for the text area itself asks for that class."""
    app = Fields()
    async with app.run_test() as pilot:
        cell, text = app.query(".cell").first(), app.query_one(TextArea)
        app.screen.set_focus(None)
        seen = []
        for _ in range(4):
            cell.toggle_class("loud")
            await pilot.pause()
            assert not wrongly_styled(app)
            seen.append(text.get_component_styles("text-area--placeholder").color)
        assert seen[0] == seen[2] != seen[1] == seen[3]


async def test_a_scroll_bar_shows_the_background_that_it_lies_on() -> None:
    """The rules of what scrolls stay as they are."""
    app = Fields()
    async with app.run_test() as pilot:
        cell, text = app.query(".cell").first(), app.query_one(TextArea)
        text.text = "line\n" * 100
        text.styles.background = "transparent"
        await pilot.pause()
        row = text.vertical_scrollbar.region.y
        seen = []
        for _ in range(4):
            cell.toggle_class("veiled")
            await pilot.pause()
            seen.append(text.vertical_scrollbar.render_lines(Region(0, row, 2, 1)))
        assert seen[0] == seen[2] != seen[1] == seen[3]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RuleSet]:
    """Every rule that any widget is compared with."""
    rules: list[RuleSet] = []
    check_rule = Stylesheet._check_rule.__func__  # type: ignore[attr-defined]  # a class method

    def counted(cls: type[Stylesheet], rule: RuleSet, path: list[DOMNode]) -> Any:
        rules.append(rule)
        return check_rule(cls, rule, path)

    monkeypatch.setattr(Stylesheet, "_check_rule", classmethod(counted))
    return rules


async def test_a_widget_in_a_state_that_it_was_in_before_asks_no_rule(asked: list[RuleSet]) -> None:
    """A text area has eight kinds of text: a focus that came and went was a third of a change of tab."""
    app = Fields()
    async with app.run_test() as pilot:
        costs = []
        for name in ("line", "text", "line", "text", "line", "text"):
            asked.clear()
            app.screen.set_focus(app.query_one(f"#{name}"))
            await pilot.pause()
            costs.append(len(asked))
    assert costs[0] > 0
    assert costs[3:] == [0, 0, 0]


async def test_a_widget_like_one_that_was_styled_asks_no_rule(asked: list[RuleSet]) -> None:
    app = Fields()
    async with app.run_test() as pilot:
        cells = app.query(".cell")
        assert asked
        asked.clear()
        await cells.first().mount(TextArea("another text", id="other"))
        await pilot.pause()
        assert not asked
        assert not wrongly_styled(app)


async def test_an_app_with_the_same_rules_asks_no_rule_again(asked: list[RuleSet]) -> None:
    known: StylesOfRules = {}
    costs = []
    for _ in range(2):
        app = Fields()
        app.stylesheet = CachingStylesheet(variables=app.get_css_variables(), known=known)
        asked.clear()
        async with app.run_test():
            costs.append(len(asked))
            assert not wrongly_styled(app)
    assert costs[0] > 4 * costs[1], "only what looks by its place asks again"


async def test_rules_that_cannot_concern_a_widget_are_not_looked_at() -> None:
    app = Fields()
    async with app.run_test():
        sheet = app.stylesheet
        assert isinstance(sheet, CachingStylesheet)
        assert len(sheet._narrow_for(app.query_one("#named")).rules) < len(sheet.rules) / 3


class ManyLooks(Fields):
    """Fields, and what lies beside them, in more looks than are kept."""

    CSS = Fields.CSS + "".join(
        f".look-{number} TextArea, .look-{number} Static {{ color: red; }}"
        for number in range(2 * MOST_ALIKE)
    )


async def test_what_is_remembered_is_bounded_and_goes_with_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style_cache, "MOST_KNOWN", 40)
    app = ManyLooks()
    async with app.run_test() as pilot:
        sheet = app.stylesheet
        assert isinstance(sheet, CachingStylesheet)
        text = app.query_one(TextArea)
        alike = []
        for number in range(2 * MOST_ALIKE):
            app.query(".cell").first().set_classes(f"cell look-{number}")
            await pilot.pause(0)
            alike.append(len(sheet._narrow_for(text).alike))
        assert max(alike) == MOST_ALIKE
        assert 0 < len(sheet._looks[text]) <= MOST_STATES
        for _ in range(4):
            app.theme = "textual-light" if app.theme == "textual-dark" else "textual-dark"
            await pilot.pause()
        assert len(sheet._looks[text]) <= 1, "of other rules nothing is known"
        assert 0 < len(sheet._known) <= 40


async def tour(pilot: Pilot[Any]) -> None:
    """Go to every tab twice, with the focus moved about in each."""
    for key in ("f2", "f4", "f3") * 2:
        await pilot.press(key)
        await pilot.pause()
        for other in ("tab", "tab", "shift+tab"):
            await pilot.press(other)
        await pilot.pause()
        assert not wrongly_styled(pilot.app), key


@pytest.mark.needs(Part.STYLE_CACHE)
async def test_every_page_looks_as_it_does_without_a_memory(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 8), size=(120, 40)) as (pilot, app):
        assert isinstance(app.stylesheet, CachingStylesheet)
        await tour(pilot)
        await pilot.press("f3")
        await pilot.press("ctrl+n")
        app.theme = "textual-light"
        await tour(pilot)
        app.theme = STORY_THEME.name
        await pilot.press("f5")
        await until(pilot, lambda: app.screen is not app.chapter)
        assert not wrongly_styled(app)
        await pilot.press("escape")
        await tour(pilot)


class OwnScreen(Screen[None]):
    """A screen with looks of its own, which concern a field of the screen below as well."""

    CSS = "Input { color: rgb(4,5,6); }"
    SCOPED_CSS = False


def test_a_source_that_is_added_is_the_only_one_to_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[str]()
    parse_rules, parse = getattr(Stylesheet._parse_rules, "__wrapped__"), getattr(stylesheet, "parse")  # noqa: B009

    def noted(scope: str, css: str, *others: Any, **options: Any) -> Any:
        parsed.append(css)
        return parse(scope, css, *others, **options)

    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_rules)
    monkeypatch.setattr(stylesheet, "parse", noted)
    sheet = CachingStylesheet()
    for number in range(100):
        sheet.add_source(f".kind-{number} {{ color: red; }}", ("many", f"{number}"))
    sheet.parse()
    before = list(sheet.rules)
    assert len(parsed) == 100
    sheet.add_source(".other { color: blue; }", ("another", ""))
    sheet.reparse()
    assert parsed[100:] == [".other { color: blue; }"]
    assert all(one is other for one, other in zip(before, sheet.rules, strict=False))
    sheet.set_variables({"dark": "red"})
    sheet.reparse()
    assert len(parsed) == 202


async def test_a_screen_that_opens_styles_what_its_rules_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Fields()
    async with app.run_test() as pilot:
        app.screen.set_focus(None)
        await pilot.pause()
        for number in range(100):
            app.stylesheet.add_source(f".kind-{number} {{ color: red; }}", ("many", f"{number}"))
        app.stylesheet.reparse()
        app.stylesheet.update(app)
        below = app.screen
        styled = list[DOMNode]()
        apply = CachingStylesheet.apply

        def noted(self: CachingStylesheet, node: DOMNode, **others: Any) -> None:
            styled.append(node)
            apply(self, node, **others)

        monkeypatch.setattr(CachingStylesheet, "apply", noted)
        await app.push_screen(OwnScreen())
        await pilot.pause()
        assert set(below.query("*")) & set(styled) == {below.query_one(Input)}
        assert below.query_one(Input).styles.color.rgb == (4, 5, 6)
        await app.pop_screen()
        await pilot.pause()
        assert not wrongly_styled(app)


async def test_a_focus_that_moves_styles_no_panel_for_what_lies_within(desktop: Desktop) -> None:
    """A rule for the focus within is asked of all that share its last name, and of everything in them."""
    async with desktop.window(lambda engine: make_active(engine, 1), size=(120, 40)) as (_pilot, app):
        within = {type(widget).__name__ for widget in app.chapter.query("*") if widget._has_focus_within}
        assert within == {"CharacterPanel", "Vertical"}
        assert not [widget for widget in app.chapter.query("PlayPane *") if widget._has_focus_within]


async def test_plain_output_styles_as_textual_does(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAIN_OUTPUT, "1")
    assert type(desktop.app().stylesheet) is Stylesheet
