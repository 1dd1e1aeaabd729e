"""A chapter that keeps a memory bank, with a scripted model, and what is drawn from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.domain.bank.item import Item
from core.domain.requests.request import Artifact, BackgroundRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, ScriptMatch
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import active, with_limits
from tests.core.rooms.takes_model import CHUNK, RowStore

SAID = "I hid the brass key under the mill. My left arm bleeds."
LISTS = ("events", "facts", "people", "places", "threads", "quotes", "traits", "states")


def scan(*, last: str | None = None, fields: dict[str, Any] | None = None, **lists: object) -> Entry:
    """Return the answer to a scan, with empty lists for all that it does not name."""
    payload: dict[str, object] = {name: lists.get(name, []) for name in LISTS}
    return Entry(match=ScriptMatch(schema="bank_scan", last=last), payload=payload, **(fields or {}))


def fact(words: str = "the brass key under the mill", **fields: object) -> dict[str, object]:
    """Return a fact as an answer has it."""
    return {
        "prompt": 1,
        "words": words,
        "name": "The brass key",
        "text": "The brass key lies under the mill.",
        "importance": 3,
        **fields,
    }


def answer(schema: str, payload: dict[str, object] | None = None, **fields: Any) -> Entry:
    """Return the answer to a question with this schema."""
    return Entry(match=ScriptMatch(schema=schema), payload=payload, **fields)


def room(*entries: Entry, keeps_bank: bool = True, other_names: Mapping[Slot, str] | None = None) -> Room:
    """Return a chapter with short chunks, in which every reply is the same.

    `other_names` are further names of characters, as the library has them.
    """
    replies = Entry(match=ScriptMatch(schema="text"), text=SAID)
    simulation = with_limits(active(), chunk_size=CHUNK)
    snapshot = simulation.snapshot
    snapshot = replace(snapshot, session=replace(snapshot.session, keeps_bank=keeps_bank))
    profiles = {slot: Profile(aliases=(name,)) for slot, name in (other_names or {}).items()}
    snapshot = replace(snapshot, tab1=replace(snapshot.tab1, profiles=profiles))
    made = Room(snapshot, *entries, replies)
    made.store = RowStore(snapshot)
    return made


async def read(session: SessionHandle) -> None:
    """Wait until everything is read for the bank."""
    await session.wait_idle()
    await session.keeping.wait_until_read()


async def items(session: SessionHandle) -> Sequence[Item]:
    """Return the items of the chapter that count."""
    return await session._store.bank.items(session.id)


async def extractions(session: SessionHandle) -> list[BackgroundRequest]:
    """Return every request that draws items, oldest first."""
    listed = await session.reads.requests()
    return [
        one for one in listed if isinstance(one, BackgroundRequest) and one.kind is RequestKind.EXTRACTION
    ]


async def calls(session: SessionHandle) -> list[Artifact]:
    """Return the calls that draw items, oldest first."""
    ids = {one.id for one in await extractions(session)}
    return [one for one in await session.reads.artifacts() if one.request_id in ids]


async def texts_of_calls(session: SessionHandle, made: Sequence[Artifact]) -> list[str]:
    """Return the whole input of each call."""
    found = []
    for call in made:
        manifest = (await session.reads.contents([call.input_ref]))[call.input_ref]
        hashes = [part for _, _, part in json.loads(manifest)]
        texts = await session.reads.contents(hashes)
        found.append("\n\n".join(texts[one] for one in hashes))
    return found
