"""Bad text of every kind × every field × every source, through the store and out again."""

import json
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.domain.errors import ErrorCode, LimitExceededError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.profile import GENERAL, Profile
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.transcript import render_all, render_events
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.scripts.player import ScriptPlayer
from core.engine.session.session_handle import SessionHandle
from core.exchange.chapter_file import write_chapter
from core.exchange.scripts.chapter_script import ChapterScriptError, parse_chapter_script
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import SessionBody, from_json, read_body, to_json
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.text.cleaning import clean, clean_line
from db.store import PostgresStore
from tests.bad_text import ENDING, KINDS, OPENING, BadText, acts
from tests.engine.windows import chapter, create, done, window

pytestmark = pytest.mark.anyio

ALONE = ("many scripts", "unfinished sequences", "prompt injection")
"""Kinds that are long, or that change what follows them."""


def grouped() -> list[BadText]:
    """Return the kinds, three of one sort in a text that plays a chapter; each its own in `make torture`."""
    if os.environ.get("STORYENGINE_TORTURE") == "full":
        return [*KINDS]
    texts = [kind for kind in KINDS if kind.name in ALONE]
    for is_legitimate in (False, True):
        some = [one for one in KINDS if one.is_legitimate is is_legitimate and one.name not in ALONE]
        for first in range(0, len(some), 3):
            three = some[first : first + 3]
            name = ", ".join(one.name for one in three)
            texts.append(BadText(name, " ".join(one.middle for one in three), is_legitimate))
    return texts


EVERY = pytest.mark.parametrize("kind", grouped(), ids=lambda kind: kind.name)
OURS = ("memory_type", "color", "from_marker", "to_marker")


class Says(ScriptedProvider):
    """A model whose every word is the bad text, in small pieces; memory stays in its form."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        answer = ""
        async for item in super().stream(request):
            if isinstance(item, TextDelta):
                answer += item.text
                continue
            said = self._text
            if request.schema is not None:
                said = json.dumps(put(json.loads(answer), self._text[:390]))
            piece = max(7, len(said) // 500)
            for start in range(0, len(said), piece):
                yield TextDelta(said[start : start + piece])
            yield item


def put(value: Any, text: str) -> Any:
    """Return memory with the text as every string of it that the engine does not know better."""
    match value:
        case str():
            return text
        case list():
            return [put(item, text) for item in value]
        case dict():
            return {key: item if key in OURS else put(item, text) for key, item in value.items()}
        case _:
            return value


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from strings(item)
        case dict():
            for key, item in value.items():
                yield from strings(key)
                yield from strings(item)


async def check(store: PostgresStore, session_id: SessionId, kind: BadText, tmp_path: Path) -> SessionBody:
    """Whatever is stored acts on nothing, and goes out, in and out again as the same bytes."""
    body = await read_body(store, session_id)
    document = to_json(body)
    assert [text for text in strings(json.loads(document)) if acts(text)] == []
    fresh = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(document), fresh))
    again = to_json(await read_body(store, fresh)).replace(str(fresh).encode(), str(session_id).encode())
    assert json.loads(again)["body"] == json.loads(document)["body"]
    transcript = render_all(body.events, body.session).text
    for draft in body.drafts:
        file = write_chapter(draft.text, "Bad [/x] text", tmp_path)
        assert file.read_text("utf-8").rstrip("\n") == draft.text.rstrip()
    assert not acts(transcript)
    if kind.is_legitimate:
        assert all(clean(text) == text for text in (kind.text, kind.middle))
    return body


async def play(session: SessionHandle, text: str) -> None:
    for _ in range(2):
        await done(session, await session.submit_prompt(Slot.RED, text + " And so on." * 200))
    await session.wait_idle()
    await session.end_chapter()
    await session.wait_idle()
    await done(session, await session.build_narrative())


@EVERY
async def test_typed_or_pasted_into_every_field_and_returned_by_every_agent(
    store: PostgresStore, kind: BadText, tmp_path: Path
) -> None:
    text = kind.text
    async with window(store, Says(text), await create(store, 2)) as session:
        await session.edits.edit_tab1(
            Tab1Edit(
                world=text,
                chapter=text,
                identities={Slot.RED: text},
                names={Slot.RED: text[:30]},
                title=text[:180],
                profiles={
                    Slot.RED: Profile(short_description=text[:400], aliases=(text[:60],), group=text[:60])
                },
            )
        )
        await session.edits.define_narrative(text, 50)
        await session.edits.save_unsent(Slot.ORANGE, text)
        await done(session, await session.lock())
        await play(session, text)
        session_id = session.id
    body = await check(store, session_id, kind, tmp_path)
    expected = clean(text)
    # On one line, whatever stood in them.
    assert body.session.names == {Slot.RED: clean_line(text[:30])}
    assert body.session.title == clean_line(text[:180])
    assert (body.tab1.world, body.tab1.identities[Slot.RED]) == (expected, expected)
    told = body.tab1.profile_of(Slot.RED)
    assert told.short_description == clean_line(text[:400])
    assert (told.aliases, told.group) == (
        tuple(filter(None, [clean_line(text[:60])])),
        clean_line(text[:60]) or GENERAL,
    )
    assert body.session.definition == expected
    assert body.unsent[Slot.ORANGE] == expected
    assert expected.strip() in body.events[0].text
    assert len(body.blocks) == 2, "the lock and the summary were taken as they came"
    for reply in (body.events[1].text, body.drafts[0].text):
        assert reply.startswith(OPENING.strip())
        # What begins with a mark of a section is not part of a character's reply.
        assert ENDING.strip() in reply or ENDING not in expected or "=== END" in text
    if kind.is_legitimate:
        assert text in render_events(body.events[:1], body.session)
        assert kind.middle.strip() in body.drafts[0].text


async def test_played_from_a_file(store: PostgresStore, tmp_path: Path) -> None:
    texts = [kind.text.encode("utf-8", "ignore").decode() for kind in KINDS]
    whole = "\n".join(texts)

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

    script = parse_chapter_script(
        "\n".join(
            [
                *(f"{field} = {quoted(whole)}" for field in ("world", "chapter", "narrative")),
                f"[[agent]]\nidentity = {quoted(whole)}",
                *(f"[[prompt]]\ntext = {quoted(text)}" for text in texts),
            ]
        )
    )
    async with window(store, None, await create(store)) as session:
        await ScriptPlayer(session, script, lambda _: None).play()
        session_id = session.id
    body = await check(store, session_id, BadText("all kinds", whole, is_legitimate=False), tmp_path)
    prompts = [event.text for event in body.events if event.role is Role.USER]
    assert prompts == [clean(text).strip() for text in texts]
    assert body.tab1.world == clean(whole).strip()


async def test_ten_megabytes_on_one_line_are_refused_wherever_they_come_from(store: PostgresStore) -> None:
    line = "x" * 10_000_000
    with pytest.raises(ChapterScriptError):
        parse_chapter_script(f'world = "{line}"\nchapter = "c"\n[[agent]]\n')
    async with chapter(store, Says(line)) as session:
        for typed in (
            lambda: session.submit_prompt(Slot.RED, line),
            lambda: session.edits.save_unsent(Slot.RED, line),
            lambda: session.edits.define_narrative(line, None),
            lambda: session.edits.retitle(line),
        ):
            with pytest.raises(LimitExceededError):
                await typed()
        request = await session.wait(await session.submit_prompt(Slot.RED, "Speak."))
        assert request.error_code is ErrorCode.LLM_TRUNCATED, "a later input could not hold it"
        assert not await session.reads.canon()


async def test_a_reply_of_hundreds_of_lines_is_kept(store: PostgresStore) -> None:
    lines = "\n".join(str(number) for number in range(800))
    async with chapter(store, Says(lines)) as session:
        await done(session, await session.submit_prompt(Slot.RED, "Count."))
        [_, reply] = await session.reads.canon()
    assert reply.text == lines
