"""Random play: the real engine on a real server, with random commands, faults of model and store, crashes,
a second window and resets, against a small model of the rules of design 4 to 6.

After every step plain SQL looks at the session (`reader`), and the model adds what only it
knows: every word that was confirmed is somewhere, none is in the story twice, and the story only grows.
"""

import asyncio
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode
from core.domain.ids import RequestId
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import commands
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.torture.random_play.random_windows import AWAY, CODES, SELDOM_NOT, Figures, RandomWindows
from tests.torture.random_play.random_words import words_of

SLOTS = st.sampled_from([Slot.RED, Slot.ORANGE])
FAULTS = st.tuples(st.sampled_from(CODES), st.booleans())
"""A code, and whether the fault comes in the middle of the stream."""
PADDING = " and the ice sings under the boards of the pier while nobody looks" * 3
"""So that what is summarised is longer than its summary."""


class RandomPlay(RandomWindows):
    """A GM in these windows, and a world outside."""

    # The GM. What comes back joins what stands in a panel before the GM types on, as on the screen: so what
    # is typed or sent is decided in the transaction, on what is stored then.

    @rule()
    def lock(self) -> None:
        self.attempt(self.session.lock)

    @rule(slot=SLOTS)
    def type_in_the_composer(self, slot: Slot) -> None:
        word = self.word()

        def typed(snapshot: Snapshot) -> Changes:
            return commands.save_unsent(snapshot, slot, _with(snapshot, slot, word))

        self.attempt(lambda: self.session._writer.apply(typed), word)

    @rule(slot=SLOTS, which=st.integers(0, 5), is_emptied=st.booleans())
    def edit_what_is_in_the_composer(self, slot: Slot, which: int, is_emptied: bool) -> None:
        """Put another word in the place of one, or take everything out that is not sent."""
        word = self.word()

        def edited(snapshot: Snapshot) -> Changes:
            text = snapshot.unsent.get(slot, "")
            written = words_of(text)
            gone = written if is_emptied else written[which % len(written) :][:1] if written else []
            for old in gone:
                self._ledger.let_go(self._session_id, old)
            text = text.replace(gone[0], word) if gone and not is_emptied else word
            return commands.save_unsent(snapshot, slot, text)

        self.attempt(lambda: self.session._writer.apply(edited), word)

    @rule(slot=SLOTS)
    def send_what_is_in_the_composer(self, slot: Slot) -> None:
        word = self.word()

        def sent(snapshot: Snapshot) -> tuple[Changes, RequestId]:
            text = _with(snapshot, slot, word + PADDING)
            return commands.submit_prompt(snapshot, slot, text, utc_now())

        self.attempt(lambda: self.session._ask(sent), word)

    @rule(slot=SLOTS, count=st.integers(1, 3))
    def play_on(self, slot: Slot, count: int) -> None:
        for _ in range(count):
            word = self.word()
            send = partial(self.session.submit_prompt, slot, f"{word}{PADDING}", is_typed=False)
            self.attempt(send, word)
            self.wait_idle()

    # What is drawn must not hang on how far the engine has come, or a run could not be repeated.

    @rule(which=st.integers(0, 3))
    def retry(self, which: int) -> None:
        for request in self.failed()[which : which + 1]:
            self.attempt(partial(self.session.retry, request.id))

    @rule(which=st.integers(0, 3), is_cancelled=st.booleans())
    def withdraw(self, which: int, is_cancelled: bool) -> None:
        command = self.session.cancel if is_cancelled else self.session.withdraw
        for request in self.session.snapshot.requests[which : which + 1]:
            self.attempt(partial(command, request.id))

    @rule(is_meant=SELDOM_NOT.map(lambda seldom: not seldom))
    def end_the_chapter(self, is_meant: bool) -> None:
        if is_meant:  # nothing can be played afterwards
            self.attempt(self.session.end_chapter)

    @rule()
    def build_the_narrative(self) -> None:
        self.attempt(self.session.build_narrative)

    # The world outside

    @rule()
    def fall_silent(self) -> None:
        self._model.gate.clear()

    @rule(faults=st.lists(FAULTS, min_size=1, max_size=3))
    def fail_the_next_calls(self, faults: list[tuple[ErrorCode, bool]]) -> None:
        Figures.faults += len(faults)
        self._model.faults = faults

    @rule(times=st.integers(1, 4), is_late=st.booleans())
    def lose_the_next_commits(self, times: int, is_late: bool) -> None:
        Figures.outages += 1
        self._first.outage._is_late = is_late
        self._first.outage.fail(times, AWAY)

    @rule(turns=st.integers(1, 30))
    def let_it_run(self, turns: int) -> None:
        async def run() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.do(run())

    def failed(self) -> list[Request]:
        return [one for one in self.session.snapshot.requests if one.state is RequestState.FAILED]

    # What must hold

    @invariant()
    def the_rules_hold_in_the_database(self) -> None:
        if not hasattr(self, "_first"):
            return
        Figures.steps += 1
        self._ledger.check(self._session_id)

    def teardown(self) -> None:
        """Whatever happened, the chapter can be played to its end, and every word is where it was."""
        try:
            if hasattr(self, "_first"):
                self._first.outage.fail(0, AWAY)
                self._model.faults = []
                self.do(self._close_second())
                self.do(self._finish())
                self._ledger.check_all()
                confirmed, lost, twice = self._ledger.count()
                Figures.confirmed += confirmed
                Figures.lost += lost
                Figures.twice += twice
        finally:
            self._loop.run_until_complete(self._release())
            self._loop.close()
            self._raw.close()

    async def _release(self) -> None:
        if hasattr(self, "_first"):
            await self.session.aclose()
            await self._first.store.aclose()

    async def _finish(self) -> None:
        self._model.gate.set()
        await self._settled()
        while failed := [one for one in self.failed() if one.kind is RequestKind.REPLY]:
            await self.session.retry(failed[0].id)
            await self._settled()
        for _ in range(5):
            state = self.session.snapshot.session.state
            if state is SessionState.DRAFT_TAB1:
                await self.session.wait(await self.session.lock())
            elif state is SessionState.ACTIVE:
                await self.session.end_chapter()
            await self.session.wait_idle()
        assert self.session.snapshot.session.state is SessionState.ENDED
        if self.session.snapshot.session.prompt_index:
            built = await self.session.wait(await self.session.build_narrative())
            assert built.state is RequestState.DONE, built
        assert not [one for one in self.session.snapshot.requests if one.kind is RequestKind.SUMMARY]
        await self._is_imported_again()


def _with(snapshot: Snapshot, slot: Slot, word: str) -> str:
    """Return what a panel holds once a word more is typed in it."""
    return f"{snapshot.unsent.get(slot, '')} {word}".strip()
