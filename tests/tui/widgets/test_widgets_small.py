"""Switcher, counter, banner, busy line and confirm dialog: what they show, and what they tell."""

import pytest
from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.widgets import Button

from core.domain.slot import Slot
from storyengine_tui.widgets.banner import Banner, BannerAction, BannerText, Tone
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.elapsed import elapsed_text
from storyengine_tui.widgets.fields.capped_text_area import CharCounter
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher, entry_labels
from tests.tui.frames import rendered
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio

SEVEN = [PanelEntry(str(slot), slot, slot.default_name, f"$slot-{slot.colour}") for slot in Slot]
HOSTILE = "[/x][bold]Eve\x1b[31m\n"


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def row_of(app: WidgetApp, y: int) -> str:
    """Return what row `y` of the screen shows."""
    return "".join(segment.text for segment in rendered(app)[y]).rstrip()


async def test_how_long_it_may_take_stands_behind_the_time_and_goes_first_where_room_is_short() -> None:
    line = BusyLine(clock=Clock())
    app = WidgetApp(lambda: [line])
    async with app.running((80, 5)) as pilot:
        line.begin("Summarising prompts 1-7")
        line.expect("1:40 last time")
        assert row_of(app, 0) == "Summarising prompts 1-7 · 0:00 (1:40 last time) · Esc cancels"
        await pilot.resize_terminal(50, 5)
        await pilot.pause()
        assert row_of(app, 0) == "Summarising prompts 1-7 · 0:00 · Esc cancels"
        line.begin("Another")
        await pilot.pause()
        assert "last time" not in row_of(app, 0)


# Switcher


def switcher_app(entries: list[PanelEntry] | None = None) -> WidgetApp:
    return WidgetApp(lambda: [PanelSwitcher(SEVEN if entries is None else entries)])


async def test_keys_pick_an_entry_and_go_around() -> None:
    app = switcher_app()
    async with app.running() as pilot:
        await pilot.press("left", "right", "right", "5", "9")
        picked = [message.key for message in app.heard_of(PanelSwitcher.Picked)]
        assert picked == ["7", "1", "2", "5"]
        assert app.query_one(PanelSwitcher).active == "5"


async def test_a_click_picks_what_stands_there() -> None:
    app = switcher_app()
    async with app.running((120, 5)) as pilot:
        await pilot.click(PanelSwitcher, offset=(row_of(app, 0).index("4 Agent"), 0))
        await pilot.click(PanelSwitcher, offset=(118, 0))
        assert [message.key for message in app.heard_of(PanelSwitcher.Picked)] == ["4"]


async def test_setting_the_active_entry_tells_nobody() -> None:
    app = switcher_app()
    async with app.running((120, 5)) as pilot:
        app.query_one(PanelSwitcher).active = "3"
        await pilot.pause()
        assert app.heard_of(PanelSwitcher.Picked) == []
        assert "[3 Agent Yellow]" in row_of(app, 0)


async def test_other_entries_keep_the_active_one_where_they_can() -> None:
    app = switcher_app()
    async with app.running() as pilot:
        switcher = app.query_one(PanelSwitcher)
        switcher.active = "3"
        switcher.set_entries(SEVEN[:4])
        assert switcher.active == "3"
        switcher.set_entries(SEVEN[:2])
        await pilot.pause()
        assert switcher.active == "1"


async def test_a_name_is_never_markup_and_stays_on_one_line() -> None:
    app = switcher_app([PanelEntry("1", 1, HOSTILE)])
    async with app.running():
        assert row_of(app, 0) == "[1 [/x][bold]Eve]"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_seven_entries_fit_and_keep_their_numbers(width: int) -> None:
    names = ["Al", "Bartholomew the Elder of Grey Point", "芳賀真理子", "D", "Eve", "Frederick", "G"]
    entries = [PanelEntry(str(n), n, name, mark="✎") for n, name in enumerate(names, 1)]
    labels = entry_labels(entries, width)
    assert sum(cell_len(label) + 2 for label in labels) <= width
    assert [label.split()[0] for label in labels] == list("1234567")


async def test_the_longest_name_gives_way_first() -> None:
    entries = [PanelEntry("1", 1, "Al"), PanelEntry("2", 2, "Bartholomew")]
    assert entry_labels(entries, 18) == ["1 Al", "2 Barthol…"]


async def test_names_that_begin_alike_show_what_tells_them_apart() -> None:
    assert entry_labels(SEVEN, 78)[:2] == ["1 Red", "2 Orange"]
    assert entry_labels(SEVEN, 120)[:2] == ["1 Agent Red", "2 Agent Orange"]


async def test_an_empty_switcher_shows_nothing_and_picks_nothing() -> None:
    app = switcher_app([])
    async with app.running() as pilot:
        await pilot.press("right", "1")
        assert app.heard_of(PanelSwitcher.Picked) == []


# Counter


async def test_a_counter_shows_how_much_is_used_without_a_new_layout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = WidgetApp(lambda: [CharCounter(5000)])
    async with app.running() as pilot:
        await pilot.pause()
        counter = app.query_one(CharCounter)
        width = counter.size.width
        layouts: list[bool] = []
        monkeypatch.setattr(app.screen, "_refresh_layout", lambda *args, **more: layouts.append(True))
        counter.show(4321)
        await pilot.pause()
        assert layouts == []
        assert row_of(app, 0) == "4,321/5,000"
        assert counter.size.width == width
        assert not counter.has_class("-full")
        counter.show(5000)
        assert counter.has_class("-full")


async def test_a_counter_with_another_limit_has_another_width() -> None:
    app = WidgetApp(lambda: [CharCounter(5000)])
    async with app.running() as pilot:
        app.query_one(CharCounter).show(0, 60_000)
        await pilot.pause()
        assert row_of(app, 0).strip() == "0/60,000"
        assert app.query_one(CharCounter).size.width == len("60,000/60,000")


# Banner

RETRY = BannerAction("retry", "Retry", "F5")


async def test_a_banner_takes_room_only_while_it_speaks() -> None:
    app = WidgetApp(lambda: [Banner()])
    async with app.running() as pilot:
        banner = app.query_one(Banner)
        assert banner.size.height == 0
        banner.show("The model took too long.", hint="Your text is safe.", actions=[RETRY])
        await pilot.pause()
        assert banner.size.height == 3
        assert "Error: The model took too long." in row_of(app, 0)
        assert "Your text is safe." in row_of(app, 1)
        assert "Retry (F5)" in row_of(app, 2)
        banner.hide()
        await pilot.pause()
        assert banner.size.height == 0


async def test_a_banner_tells_which_action_was_chosen() -> None:
    app = WidgetApp(lambda: [Banner()])
    async with app.running() as pilot:
        app.query_one(Banner).show("No.", actions=[RETRY, BannerAction("edit", "Edit")])
        await pilot.pause()
        await pilot.click(app.query(Button).last())
        await pilot.press("tab", "enter")
        chosen = [message.action for message in app.heard_of(Banner.ActionChosen)]
        assert chosen == ["edit", "retry"]


async def test_a_banner_counts_down_on_its_clock() -> None:
    clock = Clock()
    app = WidgetApp(lambda: [Banner(clock=clock)])
    async with app.running() as pilot:
        banner = app.query_one(Banner)
        banner.content = BannerText("Summary failed.", tone=Tone.WARNING, retry_at=90)
        await pilot.pause()
        assert "Note: Summary failed." in row_of(app, 0)
        assert "in 1:30" in row_of(app, 1)
        clock.now = 31
        banner._tick()
        await pilot.pause()
        assert "in 0:59" in row_of(app, 1)
        clock.now = 90
        banner._tick()
        await pilot.pause()
        assert "Trying again now" in row_of(app, 1)


async def test_what_a_banner_says_is_never_markup() -> None:
    app = WidgetApp(lambda: [Banner()])
    async with app.running() as pilot:
        app.query_one(Banner).show(HOSTILE, hint=HOSTILE, actions=[BannerAction("x", HOSTILE)])
        await pilot.pause()
        assert "Error: [/x][bold]Eve" in row_of(app, 0)


# Busy line


async def test_a_busy_line_says_who_how_long_and_how_to_cancel() -> None:
    clock = Clock()
    app = WidgetApp(lambda: [BusyLine(clock=clock)])
    async with app.running() as pilot:
        line = app.query_one(BusyLine)
        assert not line.is_busy
        line.begin(f"{HOSTILE} is writing", style="$slot-red")
        clock.now = 61
        line.say("Agent Red is writing")
        await pilot.pause()
        assert row_of(app, 0) == "Agent Red is writing · 1:01 · Esc cancels"
        line.end()
        await pilot.pause()
        assert row_of(app, 0) == ""


async def test_a_click_on_the_way_out_asks_for_the_end() -> None:
    app = WidgetApp(lambda: [BusyLine(clock=Clock())])
    async with app.running() as pilot:
        app.query_one(BusyLine).begin("Summing up")
        await pilot.pause()
        await pilot.click(BusyLine, offset=(2, 0))
        assert app.heard_of(BusyLine.CancelRequested) == []
        await pilot.click(BusyLine, offset=(row_of(app, 0).index("Esc"), 0))
        assert len(app.heard_of(BusyLine.CancelRequested)) == 1


async def test_a_busy_line_that_cannot_be_cancelled_offers_nothing() -> None:
    app = WidgetApp(lambda: [BusyLine(clock=Clock())])
    async with app.running() as pilot:
        app.query_one(BusyLine).begin("[b]Storing", cancel="")
        await pilot.pause()
        assert row_of(app, 0) == "[b]Storing · 0:00"


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0:00"), (7.9, "0:07"), (61, "1:01"), (3600, "1:00:00")])
async def test_a_duration_reads_like_a_clock(seconds: float, text: str) -> None:
    assert elapsed_text(seconds) == text


# Confirm dialog


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("enter",), False),
        (("escape",), False),
        (("right", "enter"), True),
        (("tab", "enter"), True),
        (("right", "left", "enter"), False),
    ],
)
async def test_the_dialog_starts_on_cancel(keys: tuple[str, ...], answer: bool) -> None:
    app = WidgetApp(list)
    answers: list[bool | None] = []
    async with app.running() as pilot:
        app.push_screen(ConfirmModal("Reset [/x]?", HOSTILE), answers.append)
        await pilot.pause()
        await pilot.press(*keys)
    assert answers == [answer]


async def test_the_dialog_works_by_mouse() -> None:
    app = WidgetApp(list)
    answers: list[bool | None] = []
    async with app.running() as pilot:
        app.push_screen(ConfirmModal("Reset?", is_destructive=True), answers.append)
        await pilot.pause()
        await pilot.click("#confirm")
    assert answers == [True]


async def test_a_long_text_leaves_the_buttons_on_the_screen() -> None:
    app = WidgetApp(list)
    async with app.running((80, 24)) as pilot:
        app.push_screen(ConfirmModal("Reset?", "Much is said here.\n" * 60))
        await pilot.pause()
        assert app.screen.query_one("#confirm").region.bottom <= 24
        await pilot.press("pagedown", "down")
        assert app.screen.query_one(VerticalScroll).scroll_offset.y == 9
