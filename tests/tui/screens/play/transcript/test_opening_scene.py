"""The opening scene of a chapter has the rows that are there, and no more of them."""

from dataclasses import replace

import pytest

from storyengine_tui.screens.play.play_view import play_view
from storyengine_tui.screens.play.transcript.opening_scene import OpeningScene, scene_lines
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from tests.core.rooms.simulation import active
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.play_table import at_table

TO_DO = "Write the first prompt to 1 Mira in the panel below."


def scene_of(chapter: str) -> tuple[str, str]:
    """Return the opening scene of a chapter, and what to do."""
    snapshot = active().snapshot
    view = play_view(replace(snapshot, tab1=replace(snapshot.tab1, chapter=chapter)))
    return view.scene, view.to_do


def test_a_scene_that_fits_is_shown_whole() -> None:
    scene, to_do = scene_of("The boat is late.\n\n" * 100)
    lines = scene_lines(scene, to_do, 78, 40)
    assert " ".join(lines[:-2]) == scene == "The scene: " + " ".join(["The boat is late."] * 100)
    assert lines[-2] == ""
    assert lines[-1].startswith("Write the first prompt to ")


@pytest.mark.parametrize("rows", [3, 9, 25])
@pytest.mark.parametrize("width", [20, 78])
def test_a_scene_that_is_too_long_fills_its_rows_and_ends_with_a_whole_word(rows: int, width: int) -> None:
    for shift in range(8):
        chapter = "x" * shift + "a flood " * 900
        *lines, blank, to_do = scene_lines(chapter, "Write to Mira.", width, rows)
        assert len(lines) == rows - 2
        assert (blank, to_do) == ("", "Write to Mira.")
        shown = " ".join(lines).removesuffix("…")
        assert chapter.startswith(f"{shown} ")
        assert width - len(lines[-1]) <= len(" flood…"), "only the word that has no room is left out"
        assert max(map(len, lines)) <= width


def test_a_scene_in_a_script_without_blanks_is_not_cut_to_its_title() -> None:
    for title in ("", "第一章 "):
        *lines, _, _ = scene_lines(f"{title}{'洪' * 500}", "Write.", 40, 8)
        assert len(lines) == 6
        assert len(lines[-1]) == 20


def test_what_to_do_stands_alone_where_there_is_no_room_for_the_scene() -> None:
    for rows in (1, 2):
        assert scene_lines("The boat is late.", TO_DO, 78, rows) == [TO_DO]


def test_a_scene_with_blank_lines_is_no_part_of_what_to_do() -> None:
    lines = scene_lines("The boat is late.\n\nIt rains.", TO_DO, 78, 9)
    assert lines == ["The boat is late.", "", "It rains.", "", TO_DO]


@pytest.mark.anyio
async def test_more_rows_have_more_of_the_opening_scene(desktop: Desktop) -> None:
    words = " ".join(f"word{number}" for number in range(900))
    async with at_table(desktop, size=(80, 24)) as table:
        panel = table.pane.query_one(TranscriptPanel)
        panel.view = replace(table.pane.current_view(), scene=words, to_do=TO_DO)
        shown = panel.query_one(OpeningScene)

        def is_full() -> bool:
            return shown.size.height == panel.size.height - 2 and TO_DO in screen_text(table.app)

        await table.until(is_full)
        few = shown.size.height
        await table.pilot.resize_terminal(80, 40)
        await table.until(lambda: is_full() and shown.size.height == few + 16)
        assert "…" in screen_text(table.app)
        await table.pilot.resize_terminal(80, 24)
        await table.until(lambda: is_full() and shown.size.height == few)
        await table.play("Who is there?")
        assert not shown.display
