"""Invariants of any text that is typed for an item of the bank, or selected as a quote."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from core.domain.bank.checks import LAST_PROMPT
from core.domain.bank.details import (
    Attribute,
    Details,
    EventDetails,
    FactDetails,
    PersonDetails,
    StateDetails,
    ThreadDetails,
    TraitDetails,
    texts_of,
)
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT, Item
from core.domain.errors import StoryEngineError
from core.domain.ids import EventId, ItemId, SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.engine.services.bank.item_changes import edited, quote_of, require_storable
from core.text.cleaning import clean, clean_line, is_blank
from storyengine_tui.screens.bank.bank_rows import cells_of, columns_of, rows_of
from storyengine_tui.screens.bank.detail_fields import read, typed_fields
from storyengine_tui.screens.bank.item_details import evidence_line, passages_of_item
from storyengine_tui.screens.bank.item_numbers import read_decay, read_prompt, read_share
from tests.bad_text import acts
from tools.fuzz_texts import require_sentence

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SESSION = Session(id=SessionId(UUID(int=1)), names={Slot.RED: "Kara"}, created_at=_NOW, updated_at=_NOW)


def check_bank_edit(content: bytes) -> None:
    """Typed text is stored clean and within its bounds, or refused in a sentence; a quote is in its event.

    The first line is a name, the second a number; the rest is the text, and the selected words come after its
    last line with a dash alone.
    """
    typed = content.decode("utf-8", "replace")
    name, _, rest = typed.partition("\n")
    number, _, text = rest.partition("\n")
    said, _, words = text.rpartition("\n-\n")
    try:
        share = read_share(number, 0.5)
        assert 0 <= share <= 1, f"{number!r} is read as {share}"
    except StoryEngineError as error:
        require_sentence(error)
        share = 0.5
    try:
        last = read_prompt(number)
        assert last is None or 0 <= last <= LAST_PROMPT, f"{number!r} is read as prompt {last}"
        assert 0 <= read_decay(number, 0.5) <= 1, f"{number!r} is no rate"
    except StoryEngineError as error:
        require_sentence(error)
    for details in (
        PersonDetails(relationship=text, **_typed(PersonDetails(), text)),
        EventDetails(participants=(name, text), outcome=number, **_typed(EventDetails(), number)),
        ThreadDetails(stakes=text, **_typed(ThreadDetails(), number)),
        TraitDetails(strength=share, steps=(text, name)),
        FactDetails(attributes=(Attribute(name=name, value=text),)),
        StateDetails(other=name),
    ):
        _edit(name, text, details, share)
    _quote(said or text, words or text)


def _typed(details: Details, text: str) -> dict[str, Any]:
    """Return what is read of a text for each field that is neither a text nor a choice; refusals are none."""
    values: dict[str, Any] = {}
    for name, before in typed_fields(details):
        if isinstance(before, str) or name == "participants":
            continue
        try:
            values[name] = read(name, text, before)
        except StoryEngineError as error:
            require_sentence(error)
    return values


def _edit(name: str, text: str, details: Details, share: float) -> None:
    item = Item(
        id=ItemId(UUID(int=2)),
        session_id=_SESSION.id,
        name="Kara",
        text="She waits.",
        details=type(details)(),
        prompt_index=1,
        created_at=_NOW,
        updated_at=_NOW,
    )
    after = edited(item, replace(item, name=name, text=text, details=details, importance=share))
    try:
        require_storable([after])
    except StoryEngineError as error:
        require_sentence(error)
    else:
        assert clean_line(after.name) == after.name, "a name that is not clean got in"
        assert clean(after.text) == after.text, "a text that is not clean got in"
        assert all(clean_line(one) == one for one in texts_of(after.details)), "a detail that is not clean"
        assert 0 < len(after.name) <= LONGEST_ITEM_NAME
        assert 0 < len(after.text) <= LONGEST_TEXT
        assert not is_blank(after.name), "an item without a name"
        assert not is_blank(after.text), "an item without a text"
    # A model's answer may be as bad; it is shown as text whatever it has.
    for shown in (after, replace(item, name=name, text=text, details=details)):
        _show(shown)


def _quote(said: str, words: str) -> None:
    event = Event(
        id=EventId(UUID(int=3)),
        session_id=_SESSION.id,
        prompt_index=1,
        ordinal=1,
        role=Role.AGENT,
        slot=Slot.RED,
        text=clean(said),
        created_at=_NOW,
    )
    try:
        quote = quote_of(_SESSION, event, words, _NOW)
        require_storable([quote])
    except StoryEngineError as error:
        require_sentence(error)
        return
    (proof,) = quote.evidence
    assert event.text[proof.start : proof.end] == proof.words == quote.text, "a quote that nobody said"
    _show(quote)


def _show(item: Item) -> None:
    rows = rows_of([item], {}, 1)
    columns = columns_of(rows, 80, kind="Kind")
    cells = cells_of(rows[0], _SESSION, columns, sign="*")
    history = [item, replace(item, version=2)]
    passages = passages_of_item(item, history, None, _SESSION, None, is_out=False, provenance=None, others={})
    for text in (*cells, *(one.text for one in passages), *map(evidence_line, item.evidence)):
        assert not acts(text), f"something in it acts: {text!r}"
