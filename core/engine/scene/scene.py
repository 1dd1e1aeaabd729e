"""The scene of a session: presence, lines of the GM, rolls and secrets (design 13)."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from core.agents.context_builder import ContextBuilder
from core.domain.clock import Clock
from core.domain.dice import Draw, Roll, read_dice, roll
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.event import Event
from core.domain.story.secret import Secret
from core.engine.scene import scene_commands, staging
from core.engine.sync.session_writer import AppliesChanges


@dataclass(eq=False)
class Scene:
    """Commands about who knows what. Each is durable when it returns.

    They raise the errors of `SessionHandle`; the refusals of the state machine say what to do instead.
    """

    _writer: AppliesChanges
    _builder: ContextBuilder
    _clock: Clock
    draw: Draw = secrets.randbelow

    async def set_present(self, slots: Iterable[Slot]) -> None:
        """Store the characters that are in the scene from here on."""
        await self._writer.apply(lambda snapshot: scene_commands.set_present(snapshot, slots, self._clock()))

    async def set_away(self, away: Mapping[Slot, int]) -> None:
        """Store who is away from now on, each with the prompt of the return; all others are back."""
        await self._writer.apply(lambda snapshot: staging.set_away(snapshot, away, self._clock()))

    async def set_silence(self, slots: Iterable[Slot]) -> None:
        """Store which characters may act without words or say nothing."""
        await self._writer.apply(
            lambda snapshot: staging.set_silence(snapshot, self._builder, slots, self._clock())
        )

    async def set_hint(self, prompts: int) -> None:
        """Store after how many prompts a silent character is pointed out; 0 for never."""
        await self._writer.apply(lambda snapshot: staging.set_hint(snapshot, prompts, self._clock()))

    async def narrate(self, text: str, **line: Unpack[scene_commands.LineOptions]) -> None:
        """Add a line that is addressed to no character. Those present witness it, or those in `hearers`."""
        await self._writer.apply(
            lambda snapshot: scene_commands.add_line(snapshot, text, self._clock(), **line)
        )

    async def roll(self, notation: str, **line: Unpack[scene_commands.LineOptions]) -> Roll:
        """Roll dice such as `2d6+1` and add the result as a line; return the roll."""
        rolled = roll(read_dice(notation), self.draw)
        await self._writer.apply(
            lambda snapshot: scene_commands.add_roll(snapshot, rolled, self._clock(), **line)
        )
        return rolled

    async def begin_scene(self, words: str = "", **line: Unpack[scene_commands.LineOptions]) -> None:
        """Begin a new scene, with a line of these words if there are any."""
        await self._writer.apply(
            lambda snapshot: scene_commands.begin_scene(snapshot, words, self._clock(), **line)
        )

    async def set_status(self, events: Sequence[Event], status: ContextStatus) -> None:
        """Store whether models are sent these events of the log from now on."""
        await self._writer.apply(
            lambda snapshot: scene_commands.set_status(snapshot, events, status, self._clock())
        )

    async def reveal(self, number: int, to: Iterable[Slot]) -> None:
        """Reveal a secret to these characters, as a line."""
        await self._writer.apply(lambda snapshot: scene_commands.reveal(snapshot, number, to, self._clock()))

    async def edit_secrets(self, edited: Sequence[Secret]) -> None:
        """Replace the secrets of the chapter; once tab 1 is locked, only add some or plan reveals."""
        await self._writer.apply(
            lambda snapshot: scene_commands.edit_secrets(snapshot, self._builder, edited, self._clock())
        )
