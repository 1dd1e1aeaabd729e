"""The row of keys tells what is possible, also where it is narrow; a click presses a key."""

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.key_line import FooterKey, KeyHint, KeyLine, fitting
from tests.tui.engine_app import until

TABS = Binding.Group("Tabs")


class KeyApp(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "build", "Build"),
        Binding("f2", "tab(1)", "World", group=TABS),
        Binding("f3", "tab(2)", "Play", group=TABS),
        Binding("f9", "download", "Download"),
        Binding("f1,question_mark", "help", "Help"),
        Binding("f6", "secret", "Secret", show=False),
    ]
    can_build = False
    builds = 0

    def compose(self) -> ComposeResult:
        yield Input()
        yield KeyLine()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return {"build": self.can_build or None, "download": False}.get(action, True)

    def action_build(self) -> None:
        self.builds += 1

    @property
    def line(self) -> str:
        return str(self.query_one(KeyLine).render())


@pytest.mark.anyio
async def test_it_names_what_is_possible_once_and_what_leads_on_at_the_end() -> None:
    app = KeyApp()
    async with app.run_test(size=(80, 5)) as pilot:
        await pilot.pause()
        assert app.line.split() == [
            "f8",
            "Build",
            "f2",
            "f3",
            "Tabs",
            "f1",
            "Help",
            "^p",
            "palette",
        ]


@pytest.mark.anyio
async def test_a_click_presses_the_key_that_is_drawn_there_unless_it_is_dim() -> None:
    app = KeyApp()
    async with app.run_test(size=(80, 5)) as pilot:
        await pilot.pause()
        await pilot.click(KeyLine, offset=(2, 0))
        assert app.builds == 0
        app.can_build = True
        app.refresh_bindings()
        await pilot.pause()
        await pilot.click(KeyLine, offset=(app.line.index("Build"), 0))
        await pilot.pause()
        assert app.builds == 1


hints = st.lists(
    st.builds(
        KeyHint,
        st.lists(
            st.builds(FooterKey, st.sampled_from(["F2", "^n", "esc", "⏎"]), st.just("x")),
            min_size=1,
            max_size=3,
        ).map(tuple),
        st.sampled_from(["Quit", "Chapters", "次の人"]),
    ),
    max_size=8,
)


@given(hints, st.integers(min_value=40, max_value=160))
def test_it_never_takes_more_than_the_row_and_never_drops_a_hint_without_saying_so(
    offered: list[KeyHint], width: int
) -> None:
    last = [KeyHint((FooterKey("F1", "f1"),), "Help"), KeyHint((FooterKey("^p", "ctrl+p"),), "palette")]
    shown, gap, more = fitting(offered, last, width)
    assert shown[-2:] == last
    assert shown[:-2] == offered[: len(shown) - 2]
    assert bool(more) == (len(shown) - 2 < len(offered))
    assert 1 + sum(hint.width for hint in shown) + gap * (len(shown) - 1) + len(more) <= width


class Ticks(ModalScreen[None]):
    """A dialog with a key of its own, over which another one opens."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "tick", "Tick")]


@pytest.mark.anyio
async def test_of_two_dialogs_over_each_other_it_has_the_keys_of_the_one_in_front() -> None:
    app = KeyApp()
    async with app.run_test(size=(80, 10)) as pilot:
        line = app.screen.query_one(KeyLine)
        app.push_screen(Ticks())
        await until(pilot, lambda: "Tick" in str(line.render()))
        app.push_screen(ConfirmModal("Sure?"))
        await until(pilot, lambda: "Cancel" in str(line.render()))
        assert "Tick" not in str(line.render())
        app.pop_screen()
        await until(pilot, lambda: "Tick" in str(line.render()))
        assert "Cancel" not in str(line.render())
