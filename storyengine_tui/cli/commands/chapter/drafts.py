"""`storyengine drafts`: the drafts of a chapter are listed, printed and compared (design 19)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.requests.request import NarrativeRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.story.draft import NarrativeDraft
from core.text.analysis.difference import differences
from core.text.analysis.difference_lines import Kind, difference_lines
from core.text.cleaning import clean, clean_line
from core.text.numbers import counted
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, closed_chapter
from storyengine_tui.cli.printing import shown
from storyengine_tui.cli.running import print_bytes, print_json, print_rows

NO_DRAFT = "The chapter is not written yet: there is no draft."
Viewpoints = Mapping[RequestId, str]


async def drafts(
    session: SessionArgument,
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", min=1, help="The draft to print.", show_default=False)
    ] = None,
    other: Annotated[
        int | None,
        typer.Argument(metavar="OTHER", min=1, help="Another one to compare it with.", show_default=False),
    ] = None,
    is_json: Annotated[
        bool, typer.Option("--json", help="Print a comparison as JSON, with all of both texts.")
    ] = False,
) -> None:
    """List the drafts of a chapter, print one of them, or compare two by paragraphs and words.

    A comparison has a line for each paragraph: = counts those that both drafts have, - and + have one of one
    draft alone, and in ~ the words in [-…-] are only in the first, those in {+…+} only in the second.
    """
    if is_json and other is None:
        raise typer.BadParameter("--json is for a comparison; name two drafts.")
    async with closed_chapter(session) as closed:
        found = await closed.reads.drafts()
        asked = await closed.reads.requests(RequestKind.NARRATIVE)
        chapter = (await closed.reads.load()).session
    told = [one for one in asked if isinstance(one, NarrativeRequest)]
    viewpoints = {one.id: chapter.name_of(one.viewpoint) for one in told if one.viewpoint is not None}
    if number is None:
        print_rows(
            ("Draft", "Made", "Words", "Target", "As", "Model"),
            [_cells(one, viewpoints) for one in found],
            NO_DRAFT,
        )
        return
    first = _numbered(found, number)
    if other is None:
        print_bytes((first.text.rstrip() + "\n").encode())
        return
    second = _numbered(found, other)
    if is_json:
        print_json(_as_json(first, second))
    else:
        print_bytes("".join(f"{line}\n" for line in _comparison(first, second, viewpoints)).encode())


def _numbered(found: Sequence[NarrativeDraft], number: int) -> NarrativeDraft:
    draft = next((one for one in found if one.version == number), None)
    if draft is None:
        has = counted(len(found), "draft") if found else "none"
        raise IllegalCommandError(f"There is no draft {number:,}; the chapter has {has}.")
    return draft


def _cells(draft: NarrativeDraft, viewpoints: Viewpoints) -> tuple[str, ...]:
    name = viewpoints.get(draft.request_id, "") if draft.request_id is not None else ""
    return (
        f"{draft.version}",
        f"{draft.created_at.astimezone():%Y-%m-%d %H:%M}",
        f"{draft.words:,}",
        f"{draft.target_words:,}" if draft.target_words else "",
        clean_line(name),
        clean_line(draft.model),
    )


def _comparison(first: NarrativeDraft, second: NarrativeDraft, viewpoints: Viewpoints) -> Iterator[str]:
    """Yield what made each draft, then how their wishes differ, if they do, and how their texts differ."""
    for mark, draft in (("---", first), ("+++", second)):
        number, made, words, target, name, model = _cells(draft, viewpoints)
        length = f"{words} of about {target} words" if target else f"{words} words"
        yield f"{mark} draft {number}, {made}, {length}, {f'as {name} sees it, ' if name else ''}{model}"
    wishes = _lines(first.definition, second.definition)
    if any(line[0] != Kind.SAME for line in wishes):
        yield from ("@@ How to write it", *wishes)
    yield from ("@@ Written chapter", *_lines(first.text, second.text))


def _lines(before: str, after: str) -> list[str]:
    return [shown(line.text) for line in difference_lines(differences(clean(before), clean(after)))]


def _as_json(first: NarrativeDraft, second: NarrativeDraft) -> dict[str, object]:
    """Return the parts of each paragraph; those of `before` in order are all of the first draft."""
    return {
        "first": first.version,
        "second": second.version,
        "definition": _parts(first.definition, second.definition),
        "text": _parts(first.text, second.text),
    }


def _parts(before: str, after: str) -> list[list[dict[str, object]]]:
    return [
        [{"before": part.before, "after": part.after, "is_same": part.is_same} for part in one.parts]
        for one in differences(before, after)
    ]
