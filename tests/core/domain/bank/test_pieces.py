"""Texts are cut into pieces that a small model can read."""

from hypothesis import given
from hypothesis import strategies as st

from core.domain.bank.pieces import LONGEST_PIECE, SHORTEST_PIECE, pieces_of


@given(st.text(max_size=3_000))
def test_pieces_are_parts_of_the_text_in_order_and_none_is_too_long(text: str) -> None:
    end = 0
    for piece in pieces_of(text):
        assert piece.start >= end
        assert text[piece.start : piece.end] == piece.text
        assert SHORTEST_PIECE <= len(piece.text) <= LONGEST_PIECE
        end = piece.end


def test_short_lines_are_one_piece_and_a_long_one_is_cut_between_words() -> None:
    line = "The lamp is out, and nobody saw it."
    [whole] = pieces_of(f"{line}\n\n{line}")
    assert whole.text == f"{line}\n\n{line}"
    long = " ".join(["lantern"] * 200)
    first, *_ = found = list(pieces_of(long))
    assert len(found) > 1
    assert first.text.endswith("lantern")
    assert first.hash != found[-1].hash
    assert not list(pieces_of("I see."))
