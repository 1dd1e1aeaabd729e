"""Random chapters with further ways: meaning, condensed memory, timers of lore, blocks, partial replies."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from functools import partial

from core.domain.errors import ErrorCode
from core.domain.requests.request import ReplyRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.prompt_block import MOST_PROMPT_BLOCKS, BlockPlace, PromptBlock
from core.domain.slot import Slot
from core.domain.story.condensed import Condensing, Strategy
from core.engine.engine import Engine
from core.engine.kinds.speaking.reply import CONTINUE
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.storage.session_store import SessionStore
from tests.core.values.sessions import waiting
from tests.engine.bank.test_condensing import ANSWER
from tests.engine.bank.test_embedding_calls import plan
from tests.leaks import bank
from tests.leaks.again import is_private
from tests.leaks.canaries import MOST_SPREAD, Slots, Spreader, tokens_in
from tests.leaks.lore import GROUPS, seen_by
from tests.leaks.random_chapter import RandomChapter
from tests.leaks.random_setting import CHOICES
from tests.leaks.windows import OpenStore

REACH = 12
"""So many private tokens set off an entry of a book that is attached in play, and some of those to come."""
MOST_BOOKS = 3


class FurtherSpreader(Spreader):
    """Breaks off in the middle of a reply when told to; condensed memory repeats what it was given."""

    breaks = 0
    """How many of the next replies break off behind their first words."""
    condensed = 0
    """How many blocks of condensed memory were written."""
    continued: Slots = frozenset()
    """Those who hear the reply that is continued."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        if request.schema is not None and request.schema.name == "condense":
            self.condensed += 1
            told = sorted(tokens_in("\n".join(message.content for message in request.messages)))
            events = [
                {"event": one, "cause": "", "effect": "", "participants": []} for one in told[:MOST_SPREAD]
            ]
            yield TextDelta(json.dumps({**ANSWER, "major_events": events, "canon_locks": []}))
            yield Completion(finish_reason="stop", model=request.model)
            return
        is_reply = request.schema is None and "=== USER_PROMPT ===" in request.messages[-1].content
        async for item in super().stream(request):
            yield item
            if is_reply and self.breaks:
                self.breaks -= 1
                raise ProviderError(ErrorCode.LLM_REQUEST_ERROR)

    def _label_of_prompt(self, text: str) -> Slots:
        is_continued = CONTINUE in text
        return self.continued if is_continued else super()._label_of_prompt(text)


class FurtherChapter(RandomChapter):
    """A chapter that goes these ways besides those of the others."""

    chunk = 2
    partials = 0
    """How many replies were kept as far as they came."""

    def __init__(
        self, seed: int, open_store: OpenStore | None = None, *, has_two_windows: bool = False
    ) -> None:
        super().__init__(seed, open_store, has_two_windows=has_two_windows)
        self.model: FurtherSpreader = FurtherSpreader(self.ledger, self._expected)
        self.model.draws = partial(bank.answer, self.ledger)
        self.attached: list[str] = []

    async def new_window(self, label: str = "here") -> tuple[SessionStore, Engine]:
        store, late = await self._open_store(), waiting(3600.0, idle_clock=self.hours.clock)
        choices = replace(CHOICES, condensing=Condensing(Strategy.FIXED, 0.4))
        return store, Engine(store, self.model, choices, label=label, play=late, embedding=plan())

    @property
    def steps(self) -> list[Callable[[], Awaitable[object]]]:
        further = (self._attach, self._detach, self._block, self._keep_partial, self._continue, self._play_on)
        return [*super().steps, self._roll, *further, *further]

    async def _attach(self) -> None:
        """Attach a book for some groups whose entries stay active for a while, or are late, once set off."""
        if len(self.attached) == MOST_BOOKS:
            return
        groups = tuple(self.draw.sample(GROUPS, self.draw.randint(0, 2)))
        label = seen_by(dict(self.session.snapshot.tab1.profiles), self.ledger.cast, groups)
        timers: tuple[dict[str, int], ...] = (
            {"sticky": 20},
            {"sticky": 2, "cooldown": 2},
            {"sticky": 20, "delay": 2},
            {},
        )
        private = [one for one in self.ledger.labels if is_private(self, one)][-REACH:]
        keys = [*private, *(f"Q{self.ledger.count + ahead}z" for ahead in range(REACH, 4 * REACH))]
        entries = {
            str(uid): {
                "uid": uid,
                "scanDepth": 100,
                "key": [key],
                "content": f"Of {self.ledger.set_off(key, label)}.",
                **timers[uid % len(timers)],
            }
            for uid, key in enumerate(keys)
        }
        name = f"in play {self.ledger.count}.json"
        content = json.dumps({"entries": entries}).encode()
        book = (await self.engine.library.lore.import_lore(content, name)).book
        copy = await self.engine.library.lore.copy_of(book)
        await self._try(self.session.edits.attach_lore, replace(copy, book=replace(copy.book, groups=groups)))
        self.attached.append(copy.book.name)

    async def _detach(self) -> None:
        if self.attached:
            name = self.attached.pop(self.draw.randrange(len(self.attached)))
            await self._try(self.session.edits.detach_lore, name)

    async def _block(self) -> None:
        """Add a prompt block for some characters alone."""
        blocks = self.session.snapshot.prompt_blocks
        if len(blocks.blocks) < MOST_PROMPT_BLOCKS:
            slots = self._some()
            block = PromptBlock(
                id=blocks.next_id,
                name="For some",
                text=f"Mind {self._of_tab1(slots)}.",  # it goes by places, as an identity does
                place=self.draw.choice(list(BlockPlace)),
                slots=tuple(Slot(slot) for slot in sorted(slots)),
            )
            await self._try(self.session.edits.edit_prompt_blocks, blocks.with_block(block))

    async def _keep_partial(self) -> None:
        """Keep a reply that broke off, as far as it came."""
        self.model.breaks = 1
        await self._submit(self.draw.choice([None, self._some()]))
        await self._settle()
        self.model.breaks = 0
        for request in self.session.snapshot.failed(ReplyRequest)[-1:]:
            await self._try(self.session.takes.keep_partial, request.id)
            self.partials += 1

    async def _continue(self) -> None:
        """Ask for more of the newest reply."""
        if (label := self._newest_label()) is not None:
            self.model.continued = label
            await self._try(self.session.takes.continue_reply)

    async def _play_on(self) -> None:
        """Play some prompts in a row, and wait for memory to be condensed."""
        for _ in range(3 * self.chunk):
            await self._submit()
            await self._settle()
        for request in self.session.snapshot.requests:
            if request.kind is RequestKind.CONDENSE:
                await self.session.wait(request.id)

    async def _roll(self) -> None:
        hearers = [Slot(slot) for slot in self._some()]
        await self._try(self.session.scene.roll, "2d6", hearers=hearers)
