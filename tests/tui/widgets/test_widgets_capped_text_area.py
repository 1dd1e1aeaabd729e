"""The text area that stops at its limit, whatever way the text comes in."""

from collections.abc import Callable

import pytest
from textual import events
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Region

from core.domain.session.limits import Limits
from core.domain.slot import Slot
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, fitting
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = [pytest.mark.anyio, pytest.mark.paints]

FAMILY = "👩‍👩‍👧"


def area_app(text: str = "", *, limit: int = 10, read_only: bool = False) -> WidgetApp:
    return WidgetApp(lambda: [CappedTextArea(text, limit=limit, read_only=read_only)])


def area_of(app: WidgetApp) -> CappedTextArea:
    return app.query_one(CappedTextArea)


async def test_typing_stops_at_the_limit_and_says_so() -> None:
    app = area_app(limit=3)
    async with app.running() as pilot:
        await pilot.press(*"abcd")
        assert area_of(app).text == "abc"
        assert app.bells == 1
        assert [message.refused for message in app.heard_of(CappedTextArea.LimitReached)] == [1]
        assert [message.text for message in app.heard_of(CappedTextArea.Edited)] == ["a", "ab", "abc"]


async def test_a_field_that_was_removed_is_painted_blank_by_the_dialog_over_its_page() -> None:
    app = area_app("text")
    async with app.running():
        area = area_of(app)
        await area.remove()
        assert [strip.text for strip in area.render_lines(Region(0, 0, 4, 2))] == [" " * 4] * 2


async def test_a_paste_is_taken_up_to_the_limit() -> None:
    app = area_app("1234567", limit=10)
    async with app.running() as pilot:
        app.post_message(events.Paste("abcdef"))
        await pilot.pause()
        assert area_of(app).text == "1234567abc"
        assert [message.refused for message in app.heard_of(CappedTextArea.LimitReached)] == [3]


async def test_a_paste_does_not_take_the_focus_back_from_the_next_field() -> None:
    pasted, following = CappedTextArea(limit=10, id="pasted"), CappedTextArea(limit=10, id="following")
    app = WidgetApp(lambda: [pasted, following])
    async with app.running() as pilot:
        following.focus()
        await pilot.pause()
        pasted.post_message(events.Paste("abc"))  # Tab and what is typed next may overtake a paste.
        await pilot.pause()
        assert pasted.text == "abc"
        assert app.focused is following


async def test_a_paste_in_place_of_a_selection_has_the_room_of_what_it_replaces() -> None:
    app = area_app("1234567890", limit=10)
    async with app.running() as pilot:
        area_of(app).select_all()
        app.post_message(events.Paste("abcdefghij"))
        await pilot.pause()
        assert area_of(app).text == "abcdefghij"
        assert app.bells == 0


async def test_a_key_marks_all_that_the_next_one_replaces() -> None:
    app = area_app("123\n456", limit=10)
    async with app.running() as pilot:
        await pilot.press("ctrl+g")
        assert area_of(app).selected_text == "123\n456"
        await pilot.press("x")
        assert area_of(app).text == "x"


async def test_a_refused_edit_leaves_the_selection_and_the_text() -> None:
    app = area_app("abc", limit=3)
    async with app.running() as pilot:
        area_of(app).limit = 1
        area_of(app).selection = area_of(app).selection._replace(start=(0, 2), end=(0, 3))
        await pilot.press("x")
        assert area_of(app).text == "abc"
        assert area_of(app).selected_text == "c"


async def test_control_characters_of_a_paste_go_and_line_breaks_stay() -> None:
    app = area_app(limit=50)
    async with app.running() as pilot:
        app.post_message(events.Paste("a\x1b[31mb\x07\r\nc\td"))
        await pilot.pause()
        assert area_of(app).text == "ab\nc\td"


async def test_undo_and_redo_stay_within_the_limit_and_tell() -> None:
    app = area_app("12345678", limit=10)
    async with app.running() as pilot:
        app.post_message(events.Paste("abcdef"))
        await pilot.pause()
        await pilot.press("ctrl+z")
        assert area_of(app).text == "12345678"
        await pilot.press("ctrl+y", "ctrl+y")
        assert area_of(app).text == "12345678ab"
        assert [message.text for message in app.heard_of(CappedTextArea.Edited)] == [
            "12345678ab",
            "12345678",
            "12345678ab",
        ]


async def test_a_loaded_text_is_clean_shown_from_its_end_and_no_edit() -> None:
    app = area_app(limit=20)
    async with app.running() as pilot:
        area_of(app).load_text("one\r\ntwo\x1b[2J")
        await pilot.pause()
        assert area_of(app).text == "one\ntwo"
        assert area_of(app).cursor_location == (1, 3)
        assert app.heard_of(CappedTextArea.Edited) == []


async def test_the_first_text_too_is_shown_from_its_end() -> None:
    app = area_app("one\ntwo", limit=20)
    async with app.running() as pilot:
        await pilot.press("!")
        assert area_of(app).text == "one\ntwo!"


async def test_a_load_stops_at_the_limit_and_says_what_stayed_outside() -> None:
    app = area_app(limit=3)
    async with app.running() as pilot:
        area_of(app).text = "abcdef"
        await pilot.pause()
        assert area_of(app).text == "abc"
        assert [message.refused for message in app.heard_of(CappedTextArea.LimitReached)] == [3]


async def test_read_only_takes_nothing_and_can_be_copied() -> None:
    app = area_app("abc", read_only=True)
    async with app.running() as pilot:
        await pilot.press("x")
        app.post_message(events.Paste("y"))
        await pilot.press("ctrl+a")
        area_of(app).select_all()
        await pilot.press("ctrl+c")
        assert area_of(app).text == "abc"
        assert app.copied == ["abc"]


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("abc", 5, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("abc", -1, ""),
        (f"a{FAMILY}", 3, "a"),
        (FAMILY, 2, ""),
        ("e\u0301x", 1, ""),
    ],
)
async def test_what_fits_ends_between_characters_that_are_seen(text: str, room: int, expected: str) -> None:
    assert fitting(text, room) == expected


async def test_the_cursor_does_not_blink() -> None:
    app = area_app()
    async with app.running():
        assert not area_of(app).cursor_blink


def prompt_area() -> PromptArea:
    return PromptArea(Slot.RED, Limits(), "Agent Red", "first", send=lambda *sent: None)


@pytest.mark.parametrize(
    ("build", "new_line"), [(lambda: CappedTextArea("first", limit=500), "enter"), (prompt_area, "ctrl+j")]
)
@pytest.mark.parametrize("way", ["typed", "pasted", "deleted"])
async def test_undo_and_redo_go_past_the_place_where_the_scroll_bar_comes_and_goes(
    build: Callable[[], CappedTextArea], new_line: str, way: str
) -> None:
    app = WidgetApp(lambda: [build()])
    async with app.running(size=(40, 6)) as pilot:
        area = area_of(app)
        area.focus()
        seen = [area.text]
        if way == "typed":
            for number in range(12):
                await pilot.press(new_line, *f"{number}")
        else:
            app.post_message(events.Paste("\n".join(f"line {number}" for number in range(12))))
        await pilot.pause()
        seen.append(area.text)
        if way == "deleted":
            area.select_all()
            await pilot.press("delete")
            assert area.text == ""
        for _ in range(40):
            await pilot.press("ctrl+z")
        assert area.text == seen[0]
        for _ in range(40):
            await pilot.press("ctrl+y")
        assert area.text == ("" if way == "deleted" else seen[1])


async def test_ctrl_home_and_ctrl_end_go_to_the_ends_of_the_text() -> None:
    app = area_app("one\ntwo", limit=50)
    async with app.running() as pilot:
        await pilot.press("ctrl+home", "a", "ctrl+end", "z")
        assert area_of(app).text == "aone\ntwoz"


async def test_what_was_painted_before_its_text_was_wrapped_is_painted_again() -> None:
    app = area_app("a long line of words", limit=100)
    async with app.running() as pilot:
        area = area_of(app)
        area.wrapped_document.wrap(6)
        area.refresh()
        await pilot.pause()
        assert "a&#160;long&#160;line" not in app.export_screenshot()
        area.post_message(events.Resize(area.size, area.virtual_size))
        await pilot.pause()
        assert "a&#160;long&#160;line&#160;of&#160;words" in app.export_screenshot()


@pytest.mark.needs(Part.TEXT_WRAP)
async def test_a_text_is_wrapped_for_another_width_and_not_for_every_visit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrapped: list[int] = []
    wrap = WrappedDocument.wrap

    def counted(self: WrappedDocument, width: int, tab_width: int | None = None) -> None:
        wrapped.append(width)
        wrap(self, width, tab_width)

    app = area_app("the lamp went out " * 40, limit=5_000)
    async with app.running() as pilot:
        area = area_of(app)
        area.insert("and nobody saw who had climbed the stair ", (0, 20))
        monkeypatch.setattr(WrappedDocument, "wrap", counted)
        for _ in range(3):
            area.display = False
            await pilot.pause()
            area.display = True
            await pilot.pause()
        assert wrapped == []
        await pilot.resize_terminal(40, 20)
        await pilot.pause()
        assert wrapped[-1:] == [area.wrap_width]
        fresh = WrappedDocument(area.document, area.wrap_width, area.indent_width)
        assert area.wrapped_document.lines == fresh.lines
