"""A session as one JSON document, versioned and hash-checked, and as the rows of a new session.

A checksum covers the document's own body as parsed, never what the program makes of it: a field that
is added later has a default, and leaves every earlier file readable. A change that a default cannot express
needs a new version and an upgrade of earlier bodies. No version is ever dropped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import chain
from operator import not_
from typing import Annotated, Any, Final

from pydantic import FailFast, Field, GetCoreSchemaHandler, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from core.domain.audience import EVERYONE
from core.domain.bank.details import ADDED as ADDED_DETAILS
from core.domain.bank.details import without_unset
from core.domain.bank.item import Item, ItemAccess
from core.domain.errors import ErrorCode, StorageError, StoryEngineError
from core.domain.ids import SessionId
from core.domain.requests.request import Artifact, Content, Request, RequestRecord
from core.domain.session.language import Language
from core.domain.session.lore import Lorebooks
from core.domain.session.profile import ADDED
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import Statuses
from core.domain.story.context_status import problems_of_statuses as problems_of_statuses
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Secret
from core.exchange.import_bounds import BoundExceededError, parse
from core.exchange.integrity import audiences as audience_integrity
from core.exchange.integrity import session as integrity
from core.exchange.integrity.bank import problems_of_bank, problems_of_condensed
from core.exchange.library.library_marks import BookMark, problems_of_book_mark, problems_of_lore_marks
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.storage.while_others_change import TRIES
from core.text.canonical_json import canonical, checksum
from core.text.cleaning import clean, clean_line

VERSION: Final = 8
_READABLE: Final = (1, 2, 3, 4, 5, 6, 7, VERSION)
"""Version 1 has the same body. Its checksum was taken of the body as read and written again; for a file that
the program wrote these are the same bytes. Version 3 adds takes and revisions: in earlier ones every prompt
has one take, and every block one revision. Version 4 adds audiences, lines and secrets: in earlier ones
everyone knows everything. Version 5 adds the book of a chapter, and what it took over from the one before.
Version 6 adds what slots have of characters of the library: in earlier ones they were made by hand.
Version 7 adds the memory bank, model and tags of a slot, and the groups of a secret: each is left out where
there is none. Version 8 adds the language of the bank, English in earlier ones, and what
`core.domain.bank.details.ADDED` names: in earlier ones it is unset. A chapter that has neither is written as
version 7."""
FORMAT: Final = "storyengine-session"
"""The name of the format, at the beginning of a file."""
_HEARD: Final = ("events", "blocks", "revisions", "requests")
_EVERYONE: Final = [slot.value for slot in EVERYONE]
_DEFAULTS: Final[Mapping[str, object]] = {
    "audience": _EVERYONE,
    "present": _EVERYONE,
    "private_pins": {},
    "away": {},
    "may_be_silent": [],
    "hint_after": 0,
    "then": [],
    "follows": False,
    "adds_unasked": False,
    "may_add": [],
    "keeps_bank": False,
    "language": Language.ENGLISH,
}
_MAX_REASON_CHARS: Final = 300


class ImportRefusedError(StoryEngineError):
    """The file is not an export of this program, or was changed since."""

    def __init__(self, reason: str) -> None:
        # A reason may quote the file, which is untrusted and may be long.
        reason = clean_line(reason)
        if len(reason) > _MAX_REASON_CHARS:
            reason = f"{reason[:_MAX_REASON_CHARS]}…"
        super().__init__(
            ErrorCode.STORAGE_LOAD_FAILED,
            f"The file cannot be imported: {reason}; nothing was changed.",
            "Use a file written by `storyengine export SESSION --format json`. "
            "Cards are for `storyengine cast import`, lorebooks for `storyengine lore import`.",
        )


def _flat_schema(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    record = handler.generate_schema(RequestRecord)
    return core_schema.no_info_after_validator_function(
        lambda read: read.request(),
        record,
        serialization=core_schema.plain_serializer_function_ser_schema(
            RequestRecord.of, return_schema=record
        ),
    )


def _artifact_schema(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Leave the cost of a call out where it is unknown: such an export is what it always was."""
    schema = handler.generate_schema(Artifact)
    drop = core_schema.wrap_serializer_function_ser_schema(
        lambda artifact, write: {
            name: value for name, value in write(artifact).items() if name != "cost" or value is not None
        },
        schema=schema,
    )
    return core_schema.no_info_after_validator_function(lambda read: read, schema, serialization=drop)


CostedArtifact = Annotated[Artifact, GetPydanticSchema(_artifact_schema)]
"""A call, with its cost where that is known."""
FlatRequest = Annotated[Request, GetPydanticSchema(_flat_schema)]
"""A request of any kind, serialised as a flat record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBody:
    """All stored data of one session."""

    session: Session
    tab1: Tab1Inputs
    prompt_blocks: Annotated[PromptBlocks, Field(exclude_if=not_)] = NO_PROMPT_BLOCKS
    """Left out where the chapter has none: an export of it is what it always was."""
    secrets: Annotated[tuple[Secret, ...], Field(exclude_if=not_)] = ()
    lore: Annotated[Lorebooks, Field(exclude_if=not_)] = ()
    """The lorebooks of the chapter; their copies are among `contents`."""
    unsent: Mapping[Slot, str] = field(default_factory=dict)
    events: Annotated[tuple[Event, ...], FailFast()] = ()
    statuses: Annotated[Statuses, Field(exclude_if=not_)] = ()
    """The GM's status of events; a program that does not know this field reads the rest as it is."""
    takes: tuple[int, ...] = ()
    """The take that is canon at each prompt and those that redo brings back; empty if canon never changed."""
    blocks: Annotated[tuple[MemoryBlock, ...], FailFast()] = ()
    revisions: Annotated[tuple[MemoryBlock, ...], FailFast()] = ()
    """Blocks that are not canon."""
    condensed: Annotated[tuple[CondensedMemory, ...], FailFast(), Field(exclude_if=not_)] = ()
    """Left out where no memory was condensed."""
    drafts: Annotated[tuple[NarrativeDraft, ...], FailFast()] = ()
    requests: Annotated[tuple[FlatRequest, ...], FailFast()] = ()
    artifacts: Annotated[tuple[CostedArtifact, ...], FailFast()] = ()
    contents: Annotated[tuple[Content, ...], FailFast()] = ()
    items: Annotated[tuple[Item, ...], FailFast(), Field(exclude_if=not_)] = ()
    """Every version of each item of the memory bank, one item after the other."""
    accesses: Annotated[tuple[ItemAccess, ...], Field(exclude_if=not_)] = ()
    book: Annotated[BookMark | None, Field(exclude_if=not_)] = None
    """The book that the chapter is in; left out where it is in none."""


# Created on first use: they take a tenth of a second, and few runs of the program export.
@cache
def _bodies() -> TypeAdapter[SessionBody]:
    return TypeAdapter(SessionBody)


async def read_body(store: SessionStore, session_id: SessionId) -> SessionBody:
    """Read a consistent state of a session while another window may write.

    Raises StorageError when the session does not exist, or changes during every attempt.
    """
    for _ in range(TRIES):
        snapshot = await store.load(session_id)
        body = await _read_body(store, snapshot)
        if await store.load(session_id) == snapshot:
            return body
    raise changes_too_fast("written")


def changes_too_fast(undone: str) -> StorageError:
    """Return the refusal of a chapter that another window changes during every attempt to read it."""
    return StorageError(
        ErrorCode.STORAGE_LOAD_FAILED,
        f"The chapter changes faster than it can be read; nothing was {undone}.",
        "Try again when the call that runs there has ended.",
    )


async def _read_body(store: SessionStore, snapshot: Snapshot) -> SessionBody:
    body = await read_records(store, snapshot)
    session_id = snapshot.session.id
    inputs = await store.calls.contents(session_id, {artifact.input_ref for artifact in body.artifacts})
    parts = {part for manifest in inputs.values() for _, _, part in json.loads(manifest)}
    outputs = {artifact.output_ref for artifact in body.artifacts if artifact.output_ref}
    copies = {one.copy_hash for one in body.lore}
    contents = {**inputs, **await store.calls.contents(session_id, parts | outputs | copies)}
    return replace(body, contents=tuple(Content(hash, text) for hash, text in sorted(contents.items())))


async def read_records(store: SessionStore, snapshot: Snapshot) -> SessionBody:
    """Return what is stored of a session but for the texts of calls and lorebooks, its `contents`."""
    session_id = snapshot.session.id
    has_changed = snapshot.session.canon_version > 0
    return SessionBody(
        session=snapshot.session,
        tab1=snapshot.tab1,
        prompt_blocks=snapshot.prompt_blocks,
        secrets=snapshot.secrets,
        lore=snapshot.lore,
        condensed=snapshot.condensed,
        unsent=snapshot.unsent,
        events=tuple(await store.log(session_id)),
        statuses=snapshot.statuses,
        takes=tuple(await store.takes(session_id)) if has_changed else (),
        blocks=tuple(await store.blocks(session_id)),
        revisions=tuple(await store.revisions(session_id)) if has_changed else (),
        drafts=tuple(await store.drafts(session_id)),
        # Calls first: a request that is stored and done meanwhile would be missing to its call.
        artifacts=tuple(await store.calls.artifacts(session_id)),
        requests=tuple(await store.calls.requests(session_id)),
        items=tuple(await store.bank.history(session_id)),
        accesses=tuple((await store.bank.accesses(session_id)).values()),
    )


def to_json(body: SessionBody) -> bytes:
    """Return the export as UTF-8 JSON, with the same bytes for the same session."""
    plain = _without_defaults(json.loads(_bodies().dump_json(body)))
    document = {
        "format": FORMAT,
        "version": _version_of(plain),
        "sha256": checksum(canonical(plain)),
        "body": plain,
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8")


def _version_of(plain: Mapping[str, Any]) -> int:
    """Return the oldest of the last two versions that has all of it: an older program reads what it can."""
    has_added = any(ADDED_DETAILS & item["details"].keys() for item in plain.get("items", ()))
    return VERSION if has_added or "language" in plain["session"] else VERSION - 1


def _without_defaults(plain: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a body the audiences that are everyone, and what else most chapters do not have."""
    for record in (plain["session"], *(one for name in _HEARD for one in plain[name])):
        for name, default in _DEFAULTS.items():
            if record.get(name) == default:
                del record[name]
    if not plain["tab1"]["carried"]["lines"]:
        del plain["tab1"]["carried"]
    if not plain["tab1"]["profiles"]:
        del plain["tab1"]["profiles"]
    for item in plain.get("items", ()):
        item["details"] = without_unset(item["details"])
    for secret in plain.get("secrets", ()):
        if not secret["groups"]:
            del secret["groups"]
    for profile in plain["tab1"].get("profiles", {}).values():
        for name in ADDED:
            if not profile[name]:
                del profile[name]
    return plain


def from_json(document: bytes) -> SessionBody:
    """Read an export of any version; raise ImportRefusedError when it is invalid or was changed."""
    header = _header(document)
    version, plain = header.get("version"), header.get("body")
    if type(version) is not int or version not in _READABLE:
        raise ImportRefusedError(f"its version is {version!r}, and this program reads 1 to {VERSION}")
    if not isinstance(plain, dict):
        raise ImportRefusedError("it has no body")
    try:
        written = canonical(plain)
    except ValueError as error:
        raise ImportRefusedError("it holds characters that UTF-8 does not have") from error
    if header.get("sha256") != checksum(written):
        raise ImportRefusedError("its content does not match its checksum")
    try:
        body = _bodies().validate_json(json.dumps(plain))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ImportRefusedError(f"{where}: {first['msg'].lower()}") from error
    _refuse_what_we_never_write(plain, body)
    return body


def _header(document: bytes) -> dict[str, Any]:
    try:
        header = parse(document)
    except BoundExceededError as error:
        raise ImportRefusedError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ImportRefusedError("it is not JSON") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ImportRefusedError("it is not an export of Story Engine")
    return header


def _refuse_what_we_never_write(plain: object, body: SessionBody) -> None:
    """Raise ImportRefusedError for content that no export has: a forger can compute the checksum too."""
    if not all(clean(text) == text for text in _texts(plain)):
        raise ImportRefusedError("it holds control characters or escape sequences")
    if not all(Content.of(content.text) == content for content in body.contents):
        raise ImportRefusedError("a content does not match its own checksum")
    owners = {body.session.id, *(thing.session_id for thing in _things(body))}
    if len(owners) > 1:
        raise ImportRefusedError("it holds parts of more than one chapter")
    problem = next(problems_of_body(body), None)
    if problem is not None:
        raise ImportRefusedError(problem)


def problems_of_body(body: SessionBody) -> Iterator[str]:
    """Yield which invariants of a session do not hold."""
    session = body.session
    return chain(
        integrity.problems_of_times(_times(body)),
        integrity.problems_of_ids(_ids(body)),
        integrity.problems_of_setting(session, body.tab1, body.unsent),
        integrity.problems_of_exported_blocks(body.prompt_blocks),
        audience_integrity.problems_of_secrets(body.session, body.secrets),
        audience_integrity.problems_of_stage(body.session, body.events),
        audience_integrity.problems_of_reveals(body.events, body.secrets),
        integrity.problems_of_play(session, body.events, body.takes),
        problems_of_statuses(body.statuses, body.events),
        integrity.problems_of_memory(session, body.blocks, body.revisions),
        problems_of_condensed(body.condensed, (*body.blocks, *body.revisions)),
        integrity.problems_of_requests(session, body.requests, body.events),
        integrity.problems_of_drafts(session, body.drafts, body.blocks, body.requests),
        problems_of_book_mark(body.book),
        problems_of_lore_marks(body.lore, body.contents),
        integrity.problems_of_calls(body.artifacts, body.contents, body.requests),
        problems_of_bank(session, body.items, body.accesses, body.events),
    )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _things(
    body: SessionBody,
) -> Iterator[Event | MemoryBlock | CondensedMemory | NarrativeDraft | Request | Artifact | Item]:
    story = (body.events, body.blocks, body.revisions, body.condensed, body.drafts)
    return chain(*story, body.requests, body.artifacts, body.items)


def _ids(body: SessionBody) -> Iterator[Sequence[object]]:
    memory = (*body.blocks, *body.revisions)
    for records in (body.events, memory, body.condensed, body.drafts, body.requests, body.artifacts):
        yield [record.id for record in records]
    yield [(block.first, block.place, block.revision) for block in memory]
    yield [content.hash for content in body.contents]
    yield [(call.request_id, call.attempt, call.call) for call in body.artifacts]


def _times(body: SessionBody) -> Iterator[datetime | None]:
    session = body.session
    yield from (session.created_at, session.updated_at, session.archived_at)
    yield from (thing.created_at for thing in _things(body))
    for request in body.requests:
        yield from (request.updated_at, request.retry_after)
