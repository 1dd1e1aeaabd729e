"""Thoughts that a service streams before an answer never get into it, however the stream is cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.providers.answer import AnswerFilter, behind_thought


def seen(pieces: list[str]) -> tuple[list[str], bool]:
    thoughts = AnswerFilter()
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
    thoughts = AnswerFilter()
    thoughts.visible("<think>")
    for _ in range(1_000):
        assert thoughts.visible("and then " * 100) == ""
    assert len(thoughts._held) < len("</think>")
    assert thoughts.visible("</think>I nod.") == "I nod."


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("<thinking>She knows.</thinking>\n\nI nod.", "I nod."),
        ("<thought>She knows.</thought>I nod.", "I nod."),
        ("[THINK]She knows.[/THINK]I nod.", "I nod."),
        (
            "<|channel|>analysis<|message|>She knows.<|end|><|start|>assistant<|channel|>final<|message|>"
            "I nod.<|return|>",
            "I nod.",
        ),
        ("I nod.<|im_end|>", "I nod."),
        ("I nod.</s>", "I nod."),
        ("I nod.<|im_end|>\n<|im_start|>user\nAnd then?", "I nod."),
        ("I nod.<end_of_turn>\n<start_of_turn>user", "I nod."),
        ("I nod. [/INST] And you nod.", "I nod. "),
        ("<think>\n\n</think>\n\nI nod.<|eot_id|>", "I nod."),
        ("<|im_start|>assistant\nI nod.<|im_end|>", "I nod."),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nI nod.", "I nod."),
        ("assistant\n\nI nod.", "I nod."),
        ("<|im_start|>assistant\n<think>She knows.</think>I nod.", "I nod."),
        ("[/INST] I nod.", "I nod."),
        ("<|im_end|>", ""),
        ("I cross <s>her</s> name out.", "I cross <s>her</s> name out."),
        ("I write a <|b|> and [INS", "I write a <|b|> and [INS"),
        ("<thinks> I nod.", "<thinks> I nod."),
    ],
)
def test_thoughts_and_the_marks_of_a_chat_template_are_no_part_of_an_answer(said: str, answer: str) -> None:
    for pieces in ([said], list(said), [said[:7], said[7:]]):
        shown, _ = seen(pieces)
        assert "".join(shown).lstrip() == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("She knows. I should nod.\n</think>\n\nI nod.", "I nod."),
        ("I say <think>aloud</think>", "I say <think>aloud</think>"),
        ("I nod.", "I nod."),
    ],
)
def test_a_thought_whose_beginning_a_server_kept_is_no_part_of_an_answer(said: str, answer: str) -> None:
    assert behind_thought(said) == answer
