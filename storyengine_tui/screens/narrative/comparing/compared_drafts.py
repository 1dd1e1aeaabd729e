"""The drafts of a chapter, which are compared paragraph by paragraph and word by word (design 19)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from core.domain.ids import RequestId
from core.domain.story.draft import NarrativeDraft
from core.text.analysis.difference import differences
from core.text.analysis.difference_lines import DifferenceLine, Kind, difference_lines
from core.text.cleaning import clean, clean_line
from core.text.numbers import counted
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparedTexts, Comparison
from storyengine_tui.widgets.elapsed import shown_time
from storyengine_tui.widgets.reading.memory_outline import Passage

SAME = "These two drafts have the same words."
WISHES = "How to write it"
CHAPTER = "Written chapter"
MOST_LINES = 10_000
"""More lines than the longest chapters have; others would take seconds to wrap."""
MORE = "… More differs than is shown here; `storyengine drafts` prints all of it."
_STYLES = {Kind.REMOVED: "removed", Kind.ADDED: "added", Kind.SAME: "same"}
_MADE, _LONGEST_NAME, _LEAST_MODEL = 22, 16, 12


def drafts_to_compare(
    drafts: Sequence[NarrativeDraft], viewpoints: Mapping[RequestId, str], shown: int | None
) -> ComparedTexts:
    """Return two or more drafts, the oldest first, to compare.

    At first the draft that shows is compared with the one before it. `viewpoints` has the
    names of the characters whose viewpoints drafts have, by the requests of the drafts.
    """
    after = next((at for at, draft in enumerate(drafts) if draft.version == shown), len(drafts) - 1)
    known = [viewpoints.get(draft.request_id, "") if draft.request_id else "" for draft in drafts]
    names = [f"as {clean_line(name)}" if name else "" for name in known]
    lengths = [_length_of(draft) for draft in drafts]
    rows = [
        (f"{draft.version:,}", shown_time(draft.created_at), length, name, clean_line(draft.model))
        for draft, length, name in zip(drafts, lengths, names, strict=True)
    ]
    longest, widest = (max(map(cell_len, cells)) + 2 for cells in (lengths, names))
    fixed = (("#", 5), ("Made", _MADE), ("Words", longest), ("", min(widest, _LONGEST_NAME)))

    def columns(width: int) -> Sequence[tuple[str, int]]:
        room = width - sum(cells for _, cells in fixed)
        return (*fixed, ("Model", max(_LEAST_MODEL, room)))

    return ComparedTexts(
        heading=f"Drafts of the chapter: {counted(len(drafts), 'draft')}",
        names=[f"draft {draft.version:,}" for draft in drafts],
        columns=columns,
        rows=rows,
        first=(after - 1 if after else 1, after),
        compare=lambda one, other: comparison_of(drafts[one], drafts[other]),
    )


def _length_of(draft: NarrativeDraft) -> str:
    return f"{draft.words:,} of {draft.target_words:,}" if draft.target_words else f"{draft.words:,}"


def comparison_of(before: NarrativeDraft, after: NarrativeDraft) -> Comparison:
    """Return how the words of two drafts differ, and before them those of the wishes that made them."""
    lines = _lines(before.text, after.text)
    passages = [_passage(line) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        passages.append(Passage(MORE))
    if not _differs(lines):
        passages = [Passage(SAME)]
    wishes = _lines(before.definition, after.definition)
    if _differs(wishes):
        heads = [Passage(title, len(title), is_title=True) for title in (WISHES, CHAPTER)]
        passages = [heads[0], *map(_passage, wishes), heads[1], *passages]
    counts: Counter[Kind] = Counter()
    for line in lines:
        counts[line.kind] += line.paragraphs
    words = {Kind.SAME: "the same", Kind.CHANGED: "changed", Kind.REMOVED: "removed", Kind.ADDED: "added"}
    said = ", ".join(f"{counts[kind]:,} {word}" for kind, word in words.items() if counts[kind])
    return Comparison(passages, f"Paragraphs: {said}" if said else "")


def _lines(before: str, after: str) -> list[DifferenceLine]:
    return list(difference_lines(differences(clean(before), clean(after))))


def _differs(lines: Sequence[DifferenceLine]) -> bool:
    return any(line.kind is not Kind.SAME for line in lines)


def _passage(line: DifferenceLine) -> Passage:
    parts = [(part.begin, part.end, _STYLES[part.kind]) for part in line.parts]
    if line.kind is Kind.SAME:
        parts = [(0, len(line.text), _STYLES[line.kind])]
    return Passage(line.text, parts=tuple(parts))
