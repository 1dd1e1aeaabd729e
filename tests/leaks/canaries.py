"""Canary tokens with their labels, and a model that checks every input and spreads what it was given.

The labels are kept here by rules of their own, from what the GM did, and never read from the program: an
input that has a token outside its label is a leak, and one that lacks a token inside it has forgotten.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from core.domain.audience import Audience
from core.domain.errors import ErrorCode
from core.domain.session.carry_over import CarriedLine, CarryKind, CarryOver
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.providers.base import Completion, ModelRequest, OutputSchema, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider

TOKEN = re.compile(r"Q\d+z")
_SLOT = re.compile(r"^=== AGENT_IDENTITY ===\nName: .*\nSlot: (\d)", re.MULTILINE)
_NAME = re.compile(r"^=== AGENT_IDENTITY ===\nName: (.*)$", re.MULTILINE)
_SECTION = r"^=== {name} ===\n(.*?)^=== END {name} ===$"
ADDS = "adds something of its own accord"
MOST_SPREAD = 24
"""How many tokens of its input one delta repeats; a list in memory has at most 64 entries."""

Slots = frozenset[int]


def tokens_in(text: str) -> set[str]:
    """Return the canaries of a text."""
    return set(TOKEN.findall(text))


@dataclass
class Ledger:
    """Every token with those who may know it, and what was found."""

    cast: Slots = frozenset()
    labels: dict[str, Slots] = field(default_factory=dict)
    secrets: dict[str, Slots] = field(default_factory=dict)
    """The tokens of secrets, with those who knew them from the beginning."""
    told: dict[str, Slots] = field(default_factory=dict)
    """The tokens of secrets, and those told again, with those to whom canon tells them now."""
    told_again: set[str] = field(default_factory=set)
    """The tokens that others than those who heard them first are told later; `told` has who knows now."""
    pinned: dict[str, Slots] = field(default_factory=dict)
    """The tokens of canon that the GM pinned, with those who could know it then."""
    constant_lore: set[str] = field(default_factory=set)
    """The tokens of entries of lorebooks that are always active."""
    triggers: dict[str, tuple[str, Slots]] = field(default_factory=dict)
    """The tokens of entries that another token sets off, with that one, and those who may know the book."""
    of_bank: set[str] = field(default_factory=set)
    """The tokens that items of a memory bank alone have."""
    leaks: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    inputs: int = 0
    checked: int = 0
    """How many times a token was found where it may be."""
    count: int = 0
    set_off_count: int = 0
    """How many times an entry was found that something set off."""
    bank_count: int = 0
    """How many times a token was found that only items have."""
    kept_count: int = 0
    """How many narratives had words to keep."""

    def new(self, label: Slots) -> str:
        """Return a token for those in `label`."""
        self.count += 1
        token = f"Q{self.count}z"
        self.labels[token] = label
        return token

    def set_off(self, key: str, label: Slots) -> str:
        """Return a token for an entry that `key` sets off, in a book for those in `label`."""
        self.count += 1
        token = f"Q{self.count}z"
        self.triggers[token] = key, label
        return token

    def begin_next(self, places: Mapping[int, int | None]) -> None:
        """Go on with the next chapter; `places` says whose place before it each one of its cast had.

        None had none: who is new knows nothing of what was played. Lorebooks are known by place.
        """
        lore = {token: self.labels[token] for token in self.constant_lore}
        known = {
            token: frozenset(slot for slot, before in places.items() if before in self.label_of(token))
            for token in (*self.labels, *self.secrets)
        }
        self.labels, self.secrets, self.told, self.pinned = known | lore, {}, {}, {}
        self.told_again = set()

    def label_of(self, token: str) -> Slots:
        if token in self.triggers:
            key, label = self.triggers[token]
            is_known = key in self.labels or key in self.secrets or key in self.triggers
            return label & self.label_of(key) if is_known else frozenset()
        return self._due_to(token) | self.pinned.get(token, frozenset())

    def _due_to(self, token: str) -> Slots:
        """Return those who must be given a token by canon itself, whatever the GM pinned."""
        if token in self.secrets:
            return self.secrets[token] | self.told.get(token, frozenset())
        return self.labels[token] | self.told.get(token, frozenset())

    def pin(self, text: str) -> None:
        """Note that the GM keeps a text: those who could know it go on to know it, whatever is undone."""
        label = self.common(tokens_in(text))
        for token in tokens_in(text):
            self.pinned[token] = self.pinned.get(token, frozenset()) | label

    def common(self, tokens: set[str]) -> Slots:
        """Return the label of what is made from these tokens."""
        label = self.cast
        for token in tokens:
            label &= self.label_of(token)
        return label

    def check(self, text: str, slot: int, where: str, expected: set[str]) -> None:
        """Note what `text`, which is for `slot`, must not have, and what it lacks of `expected`."""
        self.inputs += 1
        found = tokens_in(text)
        for token in found:
            self.checked += 1
            self.set_off_count += token in self.triggers
            self.bank_count += token in self.of_bank
            if slot not in self.label_of(token):
                self.leaks.append(f"{where} of slot {slot} has {token} of {sorted(self.label_of(token))}")
        for token in expected - found:
            if slot in self._due_to(token):
                self.forgotten.append(f"{where} of slot {slot} lacks {token}")


class Spreader(ScriptedProvider):
    """A model whose every answer has a token of its own, and whose memory repeats what it was given."""

    def __init__(self, ledger: Ledger, expected: Callable[[], Awaitable[set[str]]]) -> None:
        super().__init__()
        self._ledger = ledger
        self._expected = expected
        self.failures = 0
        """How many of the next calls fail."""
        self.broken = 0
        """How many of the next summaries are no JSON at first."""
        self.holds: Callable[[ModelRequest], bool] = lambda _: False
        """Which calls never end: the program is killed while one of them runs."""
        self.held: Callable[[], None] = lambda: None
        self.viewpoint: int | None = None
        self.never_sent: Callable[[], Awaitable[set[str]]] = _nothing
        """Returns the tokens of lines that are never sent."""
        self.in_library: dict[str, int] = {}
        """The slots of characters that the library has, by their names."""
        self.draws: Callable[[OutputSchema, str, str], str] = lambda *_: "{}"
        """Answers a question of the memory bank, by its input and the part of play that it is about."""
        self.adds_for: Slots = frozenset()
        """Those who hear what a character adds unasked."""
        self.decided = 0
        """How often a character decided whether it adds something."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        text = "\n".join(message.content for message in request.messages)
        slot = _SLOT.search(text)
        expected = await self._expected()  # it notes who knows what by now
        if slot is not None:
            self._ledger.check(text, int(slot[1]), "the input", expected | self._ledger.constant_lore)
        elif request.schema is not None and request.schema.name == "changes":
            [name] = _NAME.findall(text)
            self._ledger.check(text, self.in_library[name], "what changed", set())
        elif request.schema is None and self.viewpoint is not None:
            self._ledger.check(text, self.viewpoint, "the narrative", expected)
            sent = await self.never_sent() & tokens_in(text)
            self._ledger.leaks += [f"the narrative has {token}, which is never sent" for token in sent]
            self._ledger.kept_count += "=== WORDS_TO_KEEP ===" in text
        if self.holds(request):
            self.held()
            async for item in super().stream(request):
                yield item
                await _forever()
        if request.schema is not None and request.schema.name.startswith("bank_"):
            chunk = _section(text, "RECENT_CONTEXT_CHUNK")
            yield TextDelta(self.draws(request.schema, text, chunk))
            yield Completion(finish_reason="stop", model=request.model)
            return
        if self.failures:
            self.failures -= 1
            raise ProviderError(ErrorCode.LLM_REQUEST_ERROR)
        if request.schema is not None and request.schema.name == "turn_delta":
            if self.broken:
                self.broken -= 1
                yield TextDelta(f"no JSON, but {' '.join(tokens_in(text))}")
                yield Completion(finish_reason="stop", model=request.model)
                return
            answer = "".join(
                [item.text async for item in super().stream(request) if isinstance(item, TextDelta)]
            )
            yield TextDelta(self._spread(json.loads(answer), text))
        elif request.schema is not None and request.schema.name == "afterthought":
            self.decided += 1
            reason = f"For {self._ledger.new(frozenset())}."
            yield TextDelta(json.dumps({"reason": reason, "speaks": self.decided % 3 > 0}))
        elif slot is not None and ADDS in text:
            yield TextDelta(f"Besides, {self._ledger.new(self.adds_for)} it is.")
        elif slot is not None:
            yield TextDelta(self._reply(text))
        else:
            async for item in super().stream(request):
                yield item
            return
        yield Completion(finish_reason="stop", model=request.model)

    def _reply(self, text: str) -> str:
        """Return words, or where the input allows it an action or silence with a reason for the GM alone."""
        own = self._ledger.new(self._label_of_prompt(text))
        if "[silent]" not in text or self._ledger.count % 3 == 0:
            return f"I take it in. {own} it is."
        reason = f"[why] Because of {self._ledger.new(frozenset())}."
        if self._ledger.count % 2:
            return f"[silent]\n{reason}"
        return f"[action] bows to {own}\n{reason}"

    def _label_of_prompt(self, text: str) -> Slots:
        return self._ledger.common(tokens_in(_section(text, "USER_PROMPT")))

    def _spread(self, delta: dict[str, object], text: str) -> str:
        """Return a delta that repeats its chunk and some of the memory before it, with a token of its own."""
        chunk = sorted(tokens_in(_section(text, "RECENT_CONTEXT_CHUNK")))
        earlier = sorted(tokens_in(text) - set(chunk))
        spread = [*chunk, *earlier[:: max(1, len(earlier) // 4)]][:MOST_SPREAD]
        own = self._ledger.new(self._ledger.common(tokens_in(text)))
        delta["canon_locks"] = [f"{token} is so." for token in (*spread[: len(spread) // 2], own)]
        threads = [
            {"thread": token, "stakes": "", "next_likely_trigger": ""} for token in spread[len(spread) // 2 :]
        ]
        delta["unresolved_threads"] = threads
        return json.dumps(delta)


def _section(text: str, name: str) -> str:
    found = re.search(_SECTION.format(name=name), text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


async def _nothing() -> set[str]:
    return set()


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def from_earlier_chapters(ledger: Ledger, labels: Iterable[Slots]) -> tuple[CarryOver, set[str]]:
    """Return a line of each kind with a token for those in its label, and somebody of another chapter."""
    lines, tokens = [], set[str]()
    for kind, label in zip(CarryKind, labels, strict=True):
        token = ledger.new(label)
        tokens.add(token)
        names = [*(Slot(slot).default_name for slot in label), "Somebody else"]
        lines.append(CarriedLine(kind=kind, text=f"Before this {token}.", known_to=tuple(names)))
    return CarryOver(budget=10_000, lines=tuple(lines)), tokens


def audience_of(slots: Slots) -> Audience:
    return Audience.of(Slot(slot) for slot in slots)


def slots_of(audience: Audience) -> Slots:
    return frozenset(slot.value for slot in audience)


async def look_back(engine: Engine, session: SessionHandle, model: Spreader) -> None:
    """Store the whole cast in the library, and ask what the chapter changed about each."""
    roster = session.snapshot.session.roster
    for slot, name in roster:
        model.in_library[name] = slot.value
        await engine.library.characters.create(name, "Waits.")
    begun = await session.cast_work.propose_changes()
    assert len(begun.asked) == len(roster)
    for asked in begun.asked:
        await session.wait(asked)
