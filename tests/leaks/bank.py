"""Memory banks in random chapters: what a model draws from play carries canaries of what it was given."""

import json
from typing import TYPE_CHECKING, Any, Final

from core.domain.bank.details import Details, FactDetails, StateDetails
from core.domain.bank.evidence import LONGEST_WORDS
from core.domain.slot import Slot
from core.engine.services.bank.item_changes import NewItem
from core.providers.base import OutputSchema
from tests.leaks.canaries import Ledger, audience_of, slots_of, tokens_in
from tests.leaks.stored import Stored, read_stored

if TYPE_CHECKING:
    from tests.leaks.random_chapter import RandomChapter

MOST_DRAWN: Final = 6
"""How many canaries of a chunk become items."""
MOST_QUOTED: Final = 4
"""How many lines of a chapter the GM keeps as quotes, at most."""
_LISTS: Final = ("states", "facts", "states", "people", "places", "events", "threads")
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "states": {"other": "", "is_over": False},
    "people": {"relationship": ""},
    "events": {"participants": [], "outcome": ""},
    "threads": {"category": "Goal", "stakes": "", "is_closed": False},
}


def answer(ledger: Ledger, schema: OutputSchema, text: str, chunk: str) -> str:
    """Return the answer to a question of the bank: it repeats what `text`, its input, has."""
    asked: dict[str, Any] = schema.schema["properties"]  # type: ignore[assignment]
    if schema.name == "bank_scan":
        return json.dumps(_found(ledger, asked, text, chunk))
    if schema.name == "bank_match":
        return json.dumps({number: one["enum"][ledger.count % 2 - 1] for number, one in asked.items()})
    known = " ".join(sorted(tokens_in(text))[:MOST_DRAWN])
    changed = {"change": "contradicts", "text": f"They take {_own(ledger, text)} in now, and {known}."}
    return json.dumps(dict.fromkeys(asked, changed))


def _found(ledger: Ledger, asked: dict[str, Any], text: str, chunk: str) -> dict[str, object]:
    """Return an item for some canaries of the chunk, with one of its own and one of what was before it.

    Each is tried with every prompt as its evidence: the program keeps the one whose words have it.
    """
    earlier = sorted(tokens_in(text) - tokens_in(chunk)) or [""]
    state = asked["states"]["items"]["properties"]
    found: dict[str, list[dict[str, object]]] = {name: [] for name in asked}
    for number, token in enumerate(sorted(tokens_in(chunk))[-MOST_DRAWN:], start=ledger.count):
        name, own = _LISTS[number % len(_LISTS)], _own(ledger, text)
        who = state["who"]["enum"]
        entry = {
            "words": token,
            "name": f"Of {own}",
            "text": f"They take {token} in for {own}, {earlier[number % len(earlier)]}.",
            "importance": 1 + number % 4,
            "who": who[number % len(who)],
            "aspect": state["aspect"]["enum"][number % len(state["aspect"]["enum"])],
            **_FIELDS.get(name, {}),
        }
        found[name] += [{**entry, "prompt": prompt} for prompt in state["prompt"]["enum"]]
    return found  # type: ignore[return-value]


def _own(ledger: Ledger, text: str) -> str:
    """Return a token that items alone have, for those who know all of what they are made from."""
    token = ledger.new(ledger.common(tokens_in(text)))
    ledger.of_bank.add(token)
    return token


async def switch(chapter: "RandomChapter") -> None:
    """Stop keeping a bank, and begin again at once: what was not read is read."""
    if chapter.keeps_bank:
        await chapter._try(chapter.session.keeping.keep, is_on=False)
        await chapter._try(chapter.session.keeping.keep, is_on=True)


async def change(chapter: "RandomChapter") -> None:
    """Change items as the GM does: take out, pin, merge, take back, or add one for some of the cast."""
    if not chapter.keeps_bank:
        return
    bank, items = chapter.session.bank, await chapter.session.bank.items()
    some = chapter.draw.sample(list(items), min(2, len(items)))
    what = chapter.draw.choice(["pin", "pin", "reject", "merge", "add", "add", "undo"])
    if what == "add":
        hearers = chapter._some()
        own = chapter.ledger.new(hearers)
        chapter.ledger.of_bank.add(own)
        kinds: list[Details] = [FactDetails(), StateDetails()]
        details = chapter.draw.choice(kinds)
        about = None if isinstance(details, FactDetails) else Slot(chapter.draw.choice(chapter.cast))
        session = chapter.session.snapshot.session
        added = NewItem(f"The {own}", f"They take {own} in.", details, audience_of(hearers), about)
        await chapter._try(bank.add, session, added)
    elif what == "undo":
        await chapter._try(bank.undo)
    elif some:
        await chapter._try(getattr(bank, what), some)


async def keep_quotes(chapter: "RandomChapter") -> None:
    """Keep the words of some lines of canon, which a narrative has again as words to keep."""
    canon = (await read_stored(chapter.store, chapter.session.id)).played
    if chapter.keeps_bank:
        for event in chapter.draw.sample(canon, min(MOST_QUOTED, len(canon))):
            session, words = chapter.session.snapshot.session, event.text[:LONGEST_WORDS]
            await chapter._try(chapter.session.bank.quote, session, event, words)


def mislabelled(chapter: "RandomChapter", stored: Stored) -> list[str]:
    """Return what is wrong with the labels of items that are stored, in words."""
    ledger, takes = chapter.ledger, {(event.prompt_index, event.take) for event in stored.canon}
    changing = ledger.secrets.keys() | ledger.told_again
    return [
        f"an item for {item.label.mask} has {token}"
        for item in stored.versions
        if (item.prompt_index, item.take) in takes
        for token in tokens_in(f"{item.name} {item.text}")
        - (changing if item.prompt_index > stored.session.prompt_index else ledger.secrets.keys())
        if not slots_of(item.label) & ledger.cast <= ledger.label_of(token)
    ]
