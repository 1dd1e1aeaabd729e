"""Plays a chapter script without a screen, from the session's current state to a finished draft.

It uses only the GM's commands, so a second run after a crash continues where the first one stopped.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import groupby

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import Request, RequestState, SummaryRequest
from core.domain.requests.retry_policy import TRANSIENT
from core.domain.session.session_state import SessionState
from core.domain.story.event import Event, Role
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.scene.scene_commands import SCRIPTED, is_scripted, notation_of, scene_text
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScript
from core.exchange.scripts.prompts import ScriptPrompt
from core.exchange.scripts.scene import ScriptLine, absent_at

RETRIES = 3
"""Retries of a call after a transient failure, before playing stops."""

MAX_WAIT_SECONDS = 120.0
"""Maximum wait in seconds that a service can request; for a longer one, playing stops."""


@dataclass(frozen=True, slots=True)
class Step:
    """Progress, for display."""

    text: str
    done: int
    total: int


class ScriptMismatchError(StoryEngineError):
    """The prompts that were played differ from the script; `why` is a sentence without its end."""

    def __init__(self, why: str) -> None:
        super().__init__(
            ErrorCode.ILLEGAL_COMMAND,
            f"{why}; nothing was changed.",
            "Start over with --new, or undo the edit.",
        )


@dataclass(eq=False)
class ScriptPlayer:
    """Plays a script in an open session; one that branches is played line by line (`ChapterScript.lines`).

    Without `is_last`, the chapter is not ended: a branch of it is what goes on.
    """

    _session: SessionHandle
    _script: ChapterScript
    _on_step: Callable[[Step], None]
    _: KW_ONLY
    is_last: bool = True
    retry_wait: float = 2.0
    """Seconds before a call is tried again, where the service names no time."""

    async def play(self) -> None:
        """Play to a stored draft, or to where a branch goes on.

        Raises the error that stops it, after which all earlier steps are stored.
        """
        await self._session.wait_idle()
        await self._use_prompt_blocks()
        if self._state is SessionState.DRAFT_TAB1:
            await self._set_up()
        if not self._script.prompts:
            raise StoryEngineError(
                ErrorCode.ILLEGAL_COMMAND,
                "World and cast are locked; the script has no prompt to play yet.",
                "Add a [[prompt]] to it and run it again, or play on in the screen.",
            )
        await self._check_played()
        await self._use_secrets()
        await self._use_language()
        await self._use_bank()
        if self._state is not SessionState.ENDED:
            await self._use_silence()
            await self._prompts()
            if self.is_last:
                await self._end()
        if not self.is_last:
            await self._session.wait_idle()
            self._step("Going on in a branch", self._total)
            return
        if self._session.snapshot.draft_count == 0:
            await self._define()
            self._step("Writing the chapter", len(self._script.prompts) + 2)
            await self._complete(await self._session.build_narrative(viewpoint=self._script.viewpoint))
        if self._script.keeps_bank and self._session.keeping.unread:
            self._step("Reading the chapter for its memory bank", self._total)
            await self._session.keeping.wait_until_read()
        self._step("The chapter is written", self._total)

    @property
    def _total(self) -> int:
        return len(self._script.prompts) + 3

    @property
    def _state(self) -> SessionState:
        return self._session.snapshot.session.state

    def _step(self, text: str, done: int) -> None:
        self._on_step(Step(text, done, self._total))

    async def _set_up(self) -> None:
        script = self._script
        self._step("Setting up world and cast", 0)
        await self._keep_what_the_script_did_not_write()
        await self._session.edits.edit_tab1(tab1_of(script))
        await self._use_secrets()
        await self._use_silence()
        await self._define()
        self._step("Locking world and cast into memory", 0)
        await self._complete(await self._session.lock())

    async def _keep_what_the_script_did_not_write(self) -> None:
        """Save texts that the GM wrote on the screen after a failed lock, before the script replaces them."""
        snapshot, script = self._session.snapshot, self._script
        tab1, cast = snapshot.tab1, snapshot.cast
        pairs = [(tab1.world, script.world), (tab1.chapter, script.chapter)]
        pairs += [(cast[one.slot].identity, one.identity) for one in script.cast]
        if any(current.strip() and current != scripted for current, scripted in pairs):
            await self._session.create_save_point("before the script was played again")

    async def _use_prompt_blocks(self) -> None:
        """Give the chapter the prompt blocks of the script; without any, those that the GM made stay."""
        blocks = self._script.prompt_blocks
        if blocks and blocks != self._session.snapshot.prompt_blocks:
            await self._session.edits.edit_prompt_blocks(blocks)

    async def _use_secrets(self) -> None:
        """Give the chapter the secrets of the script; those that the GM added after them stay."""
        wanted, stored = self._script.secrets, self._session.snapshot.secrets
        if self._session.snapshot.session.tab1_locked:
            wanted = self._session.snapshot.settled(wanted)
        if stored[: len(wanted)] == wanted:
            return
        if self._state is SessionState.ENDED:
            raise ScriptMismatchError("The secrets of the script are not those that the chapter ended with")
        await self._session.scene.edit_secrets((*wanted, *stored[len(wanted) :]))

    async def _use_silence(self) -> None:
        """Let those characters be silent that the script names; without any, those of the chapter stay."""
        wanted, session = self._script.silence, self._session.snapshot.session
        if wanted is not None and session.audience_of(wanted) != session.may_be_silent:
            await self._session.scene.set_silence(wanted)

    async def _use_bank(self) -> None:
        """Keep a memory bank, or none, as the script says; where it does not say, the chapter stays."""
        wanted = self._script.keeps_bank
        if wanted is not None and wanted != self._session.snapshot.session.keeps_bank:
            await self._session.keeping.keep(is_on=wanted)

    async def _use_language(self) -> None:
        """Set the language of the script; where it does not say, that of the chapter stays."""
        wanted = self._script.language
        if wanted is not None and wanted is not self._session.snapshot.session.language:
            await self._session.keeping.set_language(wanted)

    async def _define(self) -> None:
        """Store the script's narrative definition and target, unless they are stored already."""
        session, script = self._session.snapshot.session, self._script
        if (session.definition, session.target_words) != (script.definition, script.target_words):
            await self._session.edits.define_narrative(script.definition, script.target_words)

    async def _check_played(self) -> None:
        session, length = self._session.snapshot.session, self._script.length
        played = session.prompt_index
        if played > max(prompt.index for prompt in self._script.prompts):
            raise ScriptMismatchError(f"The chapter has {played} prompts and the script only {length}")
        if self._state is SessionState.ENDED and played < length:
            raise ScriptMismatchError(
                f"The chapter was ended after prompt {played}, and the script has {length}"
            )
        lines: list[Event] = []
        """Lines of the script before the next prompt to check."""
        for _, at_index in groupby(
            await self._session.reads.canon(last=played), key=lambda one: one.prompt_index
        ):
            events = list(at_index)
            self._check_prompt(events, lines, played)
            lines = [event for event in events if is_scripted(event)]
        following = [prompt.lines for prompt in self._script.prompts if prompt.index == played + 1]
        if not any(_are_lines(lines, wanted[: len(lines)]) for wanted in (*following, ())):
            raise ScriptMismatchError(f"The lines after prompt {played} are not those of the script")

    def _check_prompt(self, events: Sequence[Event], lines: Sequence[Event], played: int) -> None:
        """Raise ScriptMismatchError unless canon has a prompt of the script, and its lines before it."""
        index = events[0].prompt_index
        if not index:
            return
        # The newest prompt may be one that the script undoes next.
        wanted = [one for one in self._script.prompts if one.index == index]
        wanted = [one for one in wanted if index == played or not one.is_undone]
        text = events[0].text
        replied = [one.slot for one in events if one.role is Role.AGENT and not one.is_afterthought]
        slot, then = replied[0], tuple(replied[1:])
        wanted = [one for one in wanted if one.text.strip() == text]
        if not wanted:
            raise ScriptMismatchError(f"Prompt {index} of the script is not what was played before")
        if slot is not None and slot not in {one.slot for one in wanted}:
            name = self._session.snapshot.session.name_of(slot)
            raise ScriptMismatchError(f"Prompt {index} of the script was played to {name} before")
        if not any(then == one.then[: len(then)] for one in wanted):
            raise ScriptMismatchError(f"Prompt {index} of the script was answered by others before")
        if not any(one.audience in (None, events[0].audience) for one in wanted):
            raise ScriptMismatchError(f"Prompt {index} of the script was heard by others before")
        if not any(_are_lines(lines, one.lines) for one in wanted):
            raise ScriptMismatchError(f"The lines before prompt {index} of the script were others before")

    async def _prompts(self) -> None:
        for number, prompt in enumerate(self._script.prompts, start=1):
            played = self._session.snapshot.session.prompt_index
            if played < prompt.index:
                if prompt.is_undone and await self._takes_of(prompt):
                    continue  # it was played and undone before
                name = self._session.snapshot.session.name_of(prompt.slot)
                self._step(f"Prompt {prompt.index} to {name}", number)
                await self._set_the_scene(prompt)
                await self._complete(
                    await self._session.submit_prompt(
                        prompt.slot, prompt.text, heard_by=prompt.audience, then=prompt.then, is_typed=False
                    )
                )
            if played <= prompt.index:
                await self._complete_replies()
            if not await self._is_newest(prompt):
                continue
            for take in range(await self._takes_of(prompt) + 1, prompt.takes + 1):
                self._step(f"Prompt {prompt.index}, take {take}", number)
                await self._complete(await self._session.takes.reroll())
                await self._complete_replies()
            if prompt.is_undone:
                await self._session.takes.undo()

    async def _complete_replies(self) -> None:
        """Wait for the further replies to the newest prompt; one that failed before is retried."""
        while (further := self._session.snapshot.further_reply) is not None:
            again = await self._session.retry(further.id) if further.has_failed else further.id
            await self._complete(again)

    async def _set_the_scene(self, prompt: ScriptPrompt) -> None:
        """Store who is present, and those lines before a prompt that a stopped run had not stored."""
        scene, session = self._session.scene, self._session.snapshot.session
        gone = absent_at(prompt.away, prompt.index)
        if prompt.present is not None:
            here = [slot for slot in session.slots if slot in prompt.present and slot not in gone]
            if session.audience_of(here) != session.here:
                await scene.set_present(prompt.present)
        if prompt.away is not None and gone != absent_at(self._session.snapshot.session.away, prompt.index):
            await scene.set_away(gone)
        session = self._session.snapshot.session
        recent = self._session.snapshot.recent
        stored = [event for event in recent if event.prompt_index == session.prompt_index]
        for line in prompt.lines[sum(map(is_scripted, stored)) :]:
            hearers = session.hearers_of(prompt.slot, line.audience)
            add = scene.roll if line.is_roll else scene.begin_scene if line.begins_scene else scene.narrate
            await add(line.text, hearers=hearers, metadata={SCRIPTED: True})

    async def _is_newest(self, prompt: ScriptPrompt) -> bool:
        """Whether a prompt is the newest of canon, and more than an ordinary step may be left of it."""
        session = self._session.snapshot.session
        if session.prompt_index != prompt.index or (prompt.takes == 1 and not prompt.is_undone):
            return False
        newest = await self._session.reads.canon(first=prompt.index)
        return newest[0].text == prompt.text.strip()

    async def _takes_of(self, prompt: ScriptPrompt) -> int:
        """Return how many takes with its text were played where a prompt belongs."""
        return await self._session.takes.count(prompt.index, prompt.text.strip())

    async def _end(self) -> None:
        self._step("Ending the chapter", len(self._script.prompts) + 1)
        await self._session.wait_idle()
        failed = self._failed_summary()
        if failed is not None and self._session.time_of_service(failed) is not None:
            await asyncio.sleep(self._wait_before_retry(failed))
        for tries_left in range(RETRIES, -1, -1):
            await self._session.wait_idle()
            await self._want_end()
            if self._state is SessionState.ENDED:
                return
            failed = self._failed_summary()
            if failed is None or not tries_left or failed.error_code not in TRANSIENT:
                raise _stopped(failed)
            await asyncio.sleep(self._wait_before_retry(failed))

    async def _want_end(self) -> None:
        """End the chapter, again if a failed summary becomes due at this moment and runs first."""
        for tries_left in range(RETRIES, -1, -1):
            if self._state is not SessionState.ACTIVE:
                return
            try:
                await self._session.end_chapter()
                break
            except IllegalCommandError:
                if not tries_left:
                    raise
            await self._session.wait_idle()
        await self._session.wait_idle()

    def _failed_summary(self) -> Request | None:
        requests = self._session.snapshot.requests
        return next((request for request in requests if isinstance(request, SummaryRequest)), None)

    async def _complete(self, request_id: RequestId) -> None:
        """Wait for a request, and retry it after transient failures."""
        for tries_left in range(RETRIES, -1, -1):
            request = await self._session.wait(request_id)
            if request.state is RequestState.DONE:
                return
            if not tries_left or request.error_code not in TRANSIENT:
                raise _stopped(request)
            await asyncio.sleep(self._wait_before_retry(request))
            request_id = await self._session.retry(request_id)

    def _wait_before_retry(self, request: Request) -> float:
        """Return the seconds to wait: our own wait, or the service's if that is longer.

        Raises StoryEngineError if it exceeds `MAX_WAIT_SECONDS`; a service is never called before its time.
        """
        time = self._session.time_of_service(request)
        if time is None:
            return self.retry_wait
        requested = (time - utc_now()).total_seconds()
        if requested > MAX_WAIT_SECONDS:
            raise _stopped(request)
        return max(self.retry_wait, requested)


def tab1_of(script: ChapterScript) -> Tab1Edit:
    """Return the edit of tab 1 that a chapter script asks for."""
    return Tab1Edit(
        title=script.title,
        world=script.world,
        chapter=script.chapter,
        character_count=len(script.cast),
        names=script.names,
        identities={one.slot: one.identity for one in script.cast},
        profiles={one.slot: one.profile for one in script.cast},
    )


def _are_lines(events: Sequence[Event], lines: Sequence[ScriptLine]) -> bool:
    """Whether these events are the lines of a script."""
    return len(events) == len(lines) and all(map(_is_line, events, lines))


def _is_line(event: Event, line: ScriptLine) -> bool:
    if line.begins_scene:
        is_heard = not line.text or line.audience in (None, event.audience)
        return event.begins_scene and event.text == scene_text(line.text) and is_heard
    text = notation_of(event) if line.is_roll else event.text
    return text == line.text and line.audience in (None, event.audience)


def _stopped(request: Request | None) -> StoryEngineError:
    code = (request and request.error_code) or ErrorCode.LLM_ERROR
    message = request.error_message if request else ""
    return StoryEngineError(code, message, "Everything up to here is stored; run the same command to go on.")
