"""`storyengine drafts`: drafts are listed, printed and compared, as plain text and as JSON."""

import json
from collections.abc import Callable

import pytest
import typer

from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Script
from storyengine_tui.cli.commands.chapter.drafts import drafts
from tests.tui.cli.test_marks_on_the_command_line import given
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import MEMORY, NARRATIVE, REPLIES, make_ended

FIRST = "The boat was gone.\n\n“Yes,” said Jonas [/x].\n\nThe oars were wet."
SECOND = "The boat had gone.\n\n“Yes,” said Jonas [/x].\n\n[red]A bell rang.[/]"
TEXTS = Script(
    reply=(
        *MEMORY,
        Entry(match=NARRATIVE, text=FIRST, times=1),
        Entry(match=NARRATIVE, text=SECOND),
        REPLIES,
    )
)


def test_drafts_are_listed_printed_and_compared(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def use(engine: Engine) -> None:
        given(engine, monkeypatch)
        session_id = await make_ended(engine)
        await drafts("last")
        assert capsys.readouterr().out == ""
        with pytest.raises(IllegalCommandError, match="There is no draft 1; the chapter has none"):
            await drafts("last", 1)
        session = await engine.open(session_id)
        await session.edits.define_narrative("Short sentences.", 50)
        await session.wait(await session.build_narrative())
        await session.edits.define_narrative("Short sentences, please.", None)
        await session.wait(await session.build_narrative(viewpoint=Slot.RED))
        name = session.snapshot.session.name_of(Slot.RED)
        await session.aclose()
        await check(name, lambda: capsys.readouterr().out)

    desktop.script = TEXTS
    desktop.prepare_now(use)


async def check(name: str, out: Callable[[], str]) -> None:
    await drafts("last")
    rows = [line.split("\t") for line in out().splitlines()]
    assert [(row[0], *row[2:5]) for row in rows] == [("1", "12", "50", ""), ("2", "11", "", name)]
    await drafts("last", 1)
    assert out() == f"{FIRST}\n"
    await drafts("last", 1, 2)
    lines = out().splitlines()
    assert lines[0].startswith("--- draft 1, 20")
    assert ", 12 of about 50 words, " in lines[0]
    assert f", 11 words, as {name} sees it, " in lines[1]
    assert lines[2:] == [
        "@@ How to write it",
        "~ Short sentences{+, please+}.",
        "@@ Written chapter",
        "~ The boat [-was-]{+had+} gone.",
        "= 1 paragraph the same",
        "- The oars were wet.",
        "+ [red]A bell rang.[/]",
    ]
    await drafts("last", 2, 2)
    assert out().splitlines()[2:] == ["@@ Written chapter", "= 3 paragraphs the same"]
    await drafts("last", 1, 2, is_json=True)
    found = json.loads(out())
    parts = [part for paragraph in found["text"] for part in paragraph]
    assert ("".join(part["before"] for part in parts), "".join(part["after"] for part in parts)) == (
        FIRST,
        SECOND,
    )
    assert (found["first"], found["second"], len(found["definition"])) == (1, 2, 1)
    with pytest.raises(IllegalCommandError, match="There is no draft 3; the chapter has 2 drafts"):
        await drafts("last", 1, 3)
    with pytest.raises(typer.BadParameter, match="name two drafts"):
        await drafts("last", 1, is_json=True)
