"""Lorebooks in a chapter script: their names are read, and attached when it is played."""

import pytest

from core.config.models.assignments import defaults_for
from core.domain.errors import StoryEngineError
from core.domain.session.lore import MOST_BOOKS
from core.engine.engine import Engine
from core.engine.scripts.sessions import attach_lore_of
from core.exchange.scripts.chapter_script import ChapterScript, ChapterScriptError, parse_chapter_script
from core.providers.scripted.provider import ScriptedProvider
from tests.store.in_memory.memory_store import MemoryStore

BASE = """
{}
world = "A sea."
chapter = "The lamp."
[[agent]]
name = "Kara"
"""


def read(top: str) -> ChapterScript:
    return parse_chapter_script(BASE.format(top))


def test_a_script_names_lorebooks_each_once() -> None:
    assert read("").lore == ()
    assert read('lore = [" Harbour ", "harbour", "The\\nGuild\\u001b[31m"]').lore == ("Harbour", "The Guild")
    assert read('lore = ["Harbour"]').key == read("").key, "it can be changed while the chapter is played"


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ('lore = "Harbour"', "lore must be a list in brackets, not text."),
        ("lore = [5]", "lore must be a list of names in quotes, not of a number."),
        ('lore = [" "]', "lore must have names of 1 to 100 characters."),
        (
            f"lore = {[str(n) for n in range(MOST_BOOKS + 1)]}",
            "lore names 21 lorebooks; a chapter has at most 20.",
        ),
    ],
)
def test_what_names_no_lorebooks_is_reported(top: str, said: str) -> None:
    with pytest.raises(ChapterScriptError) as refused:
        read(top)
    assert [str(problem) for problem in refused.value.problems] == [said]


@pytest.mark.anyio
async def test_its_lorebooks_are_attached_once_and_an_unknown_one_before_any() -> None:
    engine = Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="here")
    library = engine.library
    await library.lore.import_lore(b'{"entries": {"0": {"uid": 0, "constant": true}}}', "Harbour.json")
    session = await engine.open(await engine.create())
    with pytest.raises(StoryEngineError, match="no lorebook in the library called “Guild”"):
        await attach_lore_of(read('lore = ["Harbour", "Guild"]'), session, library)
    assert not session.snapshot.lore
    await attach_lore_of(read('lore = ["HARBOUR"]'), session, library)
    before = session.snapshot.lore
    assert [book.name for book in before] == ["Harbour"]
    await library.lore.archive(await library.lore.find("Harbour"))
    await attach_lore_of(read('lore = ["harbour"]'), session, library)
    assert session.snapshot.lore == before
    await session.aclose()
