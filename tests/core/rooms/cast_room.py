"""A chapter with characters of the library in its cast, and what is asked and proposed about them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from core.domain.audience import Audience
from core.domain.clock import utc_now
from core.domain.ids import CharacterId, new_uuid
from core.domain.proposal import Proposal
from core.domain.requests.request import Artifact, Request
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.session.cast_work import Begun, CastWork
from core.engine.session.session_handle import SessionHandle
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.providers.scripted.script import Entry, ScriptMatch
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play, room

SAID = "I fear the sea since it took my brother, and “I never row again”."
SECRET_PLACE = "The key lies under the ninth step."
AGO = utc_now() - timedelta(days=30)


def mira(**fields: Any) -> LibraryCharacter:
    values: dict[str, Any] = {
        "id": CharacterId(new_uuid()),
        "name": "Mira",
        "identity": "Mira keeps the lamp.",
        "traits": (Trait(name="Patient", description="She waits.", strength=0.5),),
        "topics": (
            Topic(name="The sea", exposure_now=0.5),
            Topic(name="Bread", exposure_now=0.25, exposure_desired=0.0),
        ),
        "created_at": AGO,
        "updated_at": AGO,
    }
    return LibraryCharacter(**(values | fields))


def change(**fields: object) -> dict[str, object]:
    return {
        "prompt": 1,
        "quote": "took my brother",
        "about": "identity",
        "name": "",
        "text": "She lost her brother to the sea.",
        "value": 0,
        "why": "It is new.",
        **fields,
    }


def answers(schema: str, payload: dict[str, object] | None = None, **fields: Any) -> Entry:
    return Entry(match=ScriptMatch(schema=schema), payload=payload, **fields)


def changes(*entries: dict[str, object], **fields: Any) -> Entry:
    return answers("changes", {"changes": list(entries)}, **fields)


def library(
    *characters: LibraryCharacter, entries: tuple[Entry, ...] = ()
) -> tuple[Room, tuple[LibraryCharacter, ...]]:
    made = room(*entries, Entry(match=ScriptMatch(schema="text"), text=SAID))
    session = made.store.snapshot.session
    named = replace(session, names={Slot.RED: "mira", Slot.ORANGE: "Jon"})
    made.store.snapshot = replace(made.store.snapshot, session=named)
    made.store._one.session = named
    return made, characters


@asynccontextmanager
async def ended(
    *characters: LibraryCharacter, entries: tuple[Entry, ...] = (), whisper: str = ""
) -> AsyncIterator[tuple[SessionHandle, Room]]:
    """A chapter that was played and has ended, with these characters in the library."""
    made, kept = library(*characters, entries=entries)
    for one in kept:
        await made.store.library.put_character(one)
    async with made.opened() as session:
        await play(session, "Who is there?", "And now?")
        if whisper:
            heard = await session.submit_prompt(Slot.ORANGE, whisper, heard_by=Audience.of([Slot.ORANGE]))
            await session.wait(heard)
            await session.wait_idle()
        await session.end_chapter()
        while session.snapshot.open_requests:
            await session.wait(session.snapshot.open_requests[0].id)
        yield session, made


async def settled(session: SessionHandle, begun: Begun) -> list[Request]:
    return [await session.wait(one) for one in begun.asked]


async def calls(session: SessionHandle, kind: RequestKind = RequestKind.CEREMONY) -> list[Artifact]:
    ids = {one.id for one in await session.reads.requests() if one.kind is kind}
    return [one for one in await session.reads.artifacts() if one.request_id in ids]


async def proposed(made: Room, character: LibraryCharacter) -> list[Proposal]:
    return [*await made.store.library.proposals(character.id)]


async def inputs(session: SessionHandle) -> str:
    """Return everything that was sent for characters of the library."""
    found: list[str] = []
    for one in await calls(session):
        manifest = (await session.reads.contents([one.input_ref]))[one.input_ref]
        hashes = [part for _, _, part in json.loads(manifest)]
        found += (await session.reads.contents(hashes)).values()
    return "\n".join(found)


def work_of(session: SessionHandle) -> CastWork:
    return session.cast_work
