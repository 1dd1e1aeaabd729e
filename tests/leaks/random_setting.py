"""Sets up a chapter at random: a cast in groups, texts of tab 1, secrets, lorebooks."""

import asyncio
import random
from dataclasses import replace
from functools import partial

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.session.carry_over import CarryKind
from core.domain.session.limits import Limits
from core.domain.slot import first_slots
from core.domain.story.secret import Secret
from core.engine.changes.moves import new_session
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.storage.session_store import SessionStore
from tests.core.rooms.idle_hours import IdleHours
from tests.core.values.sessions import waiting
from tests.leaks import bank
from tests.leaks.again import Kept
from tests.leaks.canaries import (
    Ledger,
    Slots,
    Spreader,
    audience_of,
    from_earlier_chapters,
)
from tests.leaks.lore import GROUPS, attach_books, random_profiles, seen_by
from tests.leaks.windows import OpenStore, Window
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

CHUNK = 3
CHOICES = defaults_for("scripted")


def _in_memory() -> OpenStore:
    database = MemoryDatabase()

    async def open_store() -> SessionStore:
        return MemoryStore(database)

    return open_store


class RandomSetting:
    """World, cast, secrets and lorebooks of a chapter, drawn from a seed."""

    store: SessionStore
    engine: Engine
    session: SessionHandle
    chunk = CHUNK

    def __init__(
        self, seed: int, open_store: OpenStore | None = None, *, has_two_windows: bool = False
    ) -> None:
        self.draw = random.Random(seed)
        self._open_store = open_store or _in_memory()
        self.has_two_windows = has_two_windows
        self.ledger = Ledger()
        self.model = Spreader(self.ledger, self._expected)
        self.model.draws = partial(bank.answer, self.ledger)
        self.keeps_bank = random.Random(f"bank of {seed}").random() < 0.5
        self.hours = IdleHours()
        self.count = self.draw.randint(2, 5)
        self.cast = first_slots(self.count)
        self.ledger.cast = frozenset(self.cast)
        self.present: Slots = frozenset(self.cast)
        self.away: dict[int, int] = {}  # those who left for a while, as the program was told
        self.reveals: list[tuple[str, Slots]] = []
        self.of_tab1: dict[str, Slots] = {}
        self.carried: set[str] = set()  # the tokens of what comes over from an earlier chapter
        self.hidden: set[str] = set()  # the tokens of lines that were never sent, at some time
        self.second: Window | None = None
        self.earlier = asyncio.all_tasks()
        self.crashes = self.strangers = self.handed_over = 0
        self.kept: Kept | None = None  # a save slot of the chapter that is played

    async def _expected(self) -> set[str]:
        """Return the tokens that are to be in every input of those who may know them."""
        raise NotImplementedError

    async def new_window(self, label: str = "here") -> tuple[SessionStore, Engine]:
        """Return a store and an engine on it, as each window has its own."""
        store, late = await self._open_store(), waiting(3600.0, idle_clock=self.hours.clock)
        return store, Engine(store, self.model, CHOICES, label=label, play=late)

    async def _begin(self) -> None:
        self.store, self.engine = await self.new_window()
        labels = [self.draw.choice([self.ledger.cast, self._some(), frozenset()]) for _ in CarryKind]
        carried, self.carried = from_earlier_chapters(self.ledger, labels)
        made = new_session(utc_now(), session_id=SessionId(new_uuid()), carried=carried)
        assert made.session is not None
        limits = Limits(chunk_size=self.chunk)
        await self.store.chapters.create(replace(made, session=replace(made.session, limits=limits)))
        self.session = await self.engine.open(made.session_id)
        everyone = self.ledger.cast
        profiles = random_profiles(self.draw, everyone)
        for slot, profile in profiles.items():
            told = f"Known as {self._of_tab1(everyone)}."
            name, seen, alone = (self._of_tab1(frozenset()) for _ in range(3))  # no input has these
            profiles[slot] = replace(
                profile,
                short_description=told,
                aliases=(name,),
                group=profile.group if self.draw.random() < 0.5 else f"Order of {alone}",
                groups_visible=(*profile.groups_visible, seen),
            )
        await self.session.edits.edit_tab1(
            Tab1Edit(
                world="A sea of glass.",
                chapter=f"It begins {self.ledger.new(everyone)}.",
                identities={slot: f"At heart {self._of_tab1(frozenset({slot}))}." for slot in self.cast},
                character_count=self.count,
                profiles=profiles,
            )
        )
        await attach_books(self.engine, self.session, self.draw, self.ledger, profiles)
        await self.session.scene.edit_secrets([self._secret(number) for number in (1, 2, 3)])
        await self.session.wait(await self.session.lock())
        await self.session.afterthoughts.choose_speakers(self.cast)
        if self.keeps_bank:
            await self.session.keeping.keep(is_on=True)

    def _of_tab1(self, label: Slots) -> str:
        """Return a token for a text of tab 1, which the places of the next chapter have as well."""
        token = self.ledger.new(label)
        self.of_tab1[token] = label
        return token

    def _tagged(self) -> tuple[tuple[str, ...], Slots]:
        """Return some groups, and who knows what is for them by a rule of our own."""
        tags = tuple(self.draw.sample(GROUPS, self.draw.randint(1, 2)))
        profiles = dict(self.session.snapshot.tab1.profiles)
        return tags, seen_by(profiles, self.ledger.cast, tags)

    def _secret(self, number: int) -> Secret:
        known_by, revealed_to = self._some(), self._some()
        audience, groups = audience_of(known_by), tuple[str, ...]()
        if self.draw.random() < 0.5:
            groups, seeing = self._tagged()
            known_by |= seeing
        self.ledger.count += 1
        token = f"Q{self.ledger.count}z"
        self.ledger.secrets[token] = known_by
        at = self.draw.choice([None, self.draw.randint(1, 8)])
        if at is not None:
            self.reveals.append((token, revealed_to))
        return Secret(
            number=number,
            text=f"The secret is {token}.",
            known_by=audience,
            groups=groups,
            reveal_at=at,
            reveal_to=None if at is None else audience_of(revealed_to),
        )

    def _some(self) -> Slots:
        return frozenset(self.draw.sample(self.cast, self.draw.randint(1, self.count)))
