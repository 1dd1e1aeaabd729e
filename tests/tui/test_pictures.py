"""Pictures are compared as they look: not by the pieces that a line is painted in, and by all else."""

import pytest

from tests.tui.conftest import Pictures

FIELD = '<rect fill="{}" x="{}" y="1.5" width="{}" height="24.65" shape-rendering="crispEdges"/>'
WHOLE = "<g>" + FIELD.format("#000", "0", "24.4") + "</g>"


def alike(one: str, other: str) -> bool:
    return Pictures().matches(serialized_data=one, snapshot_data=other)


def test_a_line_of_one_colour_may_be_painted_in_several_pieces() -> None:
    pieces = FIELD.format("#000", "0", "12.2") + FIELD.format("#000", "12.2", "12.2")
    assert alike(WHOLE, f"<g>{pieces}</g>")


@pytest.mark.parametrize(
    "other",
    [
        FIELD.format("#000", "0", "12.2"),
        FIELD.format("#111", "0", "24.4"),
        FIELD.format("#000", "0", "12.2") + FIELD.format("#111", "12.2", "12.2"),
        FIELD.format("#000", "0", "12.2") + FIELD.format("#000", "24.4", "12.2"),
        FIELD.format("#000", "0", "24.4").replace('y="1.5"', 'y="25.9"'),
        FIELD.format("#000", "0", "24.4") + "<text>a</text>",
    ],
    ids=["shorter", "another colour", "two colours", "a gap", "another line", "a text"],
)
def test_what_looks_different_is_different(other: str) -> None:
    assert not alike(WHOLE, f"<g>{other}</g>")
