"""Thoughts that a service streams before an answer never get into it, however the stream is cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.providers.answer import ThoughtFilter


def seen(pieces: list[str]) -> tuple[list[str], bool]:
    thoughts = ThoughtFilter()
    return [*map(thoughts.visible, pieces), thoughts.rest()], thoughts.has_thought


@st.composite
def cut(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    """Return a text, and the pieces in which it is streamed."""
    text = draw(texts)
    places = sorted(draw(st.sets(st.integers(0, len(text)))))
    return text, [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


TAGGED = st.lists(st.sampled_from(["<", "th", "ink>", "</", "</think>", "<think>", " ", "\n", "I nod."])).map(
    "".join
)


@given(cut(TAGGED | st.text()))
@example(("  <think>", [" ", " <think>"]))
def test_what_is_seen_of_an_answer_does_not_depend_on_how_it_is_streamed(
    answer: tuple[str, list[str]],
) -> None:
    text, pieces = answer
    (found, has_thought), (whole, had) = seen(pieces), seen([text])
    assert has_thought == had == text.lstrip().startswith("<think>")
    before = text[: len(text) - len(text.lstrip())]
    if not had:
        assert "".join(found) == "".join(whole) == text
    else:
        _, tag, after = text.lstrip().removeprefix("<think>").partition("</think>")
        answered = after.lstrip() if tag else ""
        shown = "".join(found)
        assert shown.endswith(answered)
        # White space before a thought is shown as far as it came before the piece with the tag.
        assert before.startswith(shown.removesuffix(answered))


@pytest.mark.parametrize("text", ["I nod.", "<b>I nod", " I say <think>aloud</think>", "\n\n", "< 3"])
def test_an_answer_without_thoughts_is_shown_at_once(text: str) -> None:
    shown, _ = seen([text])
    assert shown == [text, ""]


def test_of_a_long_thought_little_is_kept() -> None:
    thoughts = ThoughtFilter()
    thoughts.visible("<think>")
    for _ in range(1_000):
        assert thoughts.visible("and then " * 100) == ""
    assert len(thoughts._held) < len("</think>")
    assert thoughts.visible("</think>I nod.") == "I nod."
