"""A plot of numbers in block characters."""

from hypothesis import given
from hypothesis import strategies as st

from storyengine_tui.screens.calls.inputs.plot_screen import HEIGHT, WIDTH, plot_lines


def test_a_rise_has_a_higher_column_for_each_number() -> None:
    lines = plot_lines([0, 100, 200, 300, 400])
    assert len(lines) == HEIGHT
    assert lines[0] == "      400 │    █"
    assert lines[-1] == "        0 │ ████"
    assert [sum(line[11:].ljust(5)[column] != " " for line in lines) for column in range(5)] == [
        0,
        2,
        3,
        5,
        6,
    ]


def test_the_top_can_be_said_and_has_its_unit() -> None:
    assert plot_lines([50.0], 100, " %")[0] == "    100 % │"
    assert plot_lines([100.0], 100, " %")[0] == "    100 % │█"


def test_nothing_has_no_plot() -> None:
    assert plot_lines([]) == []


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=400))
def test_no_peak_is_lost_and_no_column_is_outside(values: list[float]) -> None:
    lines = plot_lines(values)
    assert len(lines) == HEIGHT
    assert max(map(len, lines)) <= 11 + WIDTH
    columns = min(WIDTH, len(values))
    at_peak = values.index(max(values)) * columns // len(values)
    assert max(values) < 1e-6 or "█" in lines[0][11:], at_peak
    shown = sum(cell != " " for cell in lines[-1][11:])
    assert shown <= columns
    assert shown >= min(columns, 1) * any(values)
