"""The rules by which one entry is activated or not, in their fixed order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from core.library.lore.activation.buffer import Hit, ScanBuffer
from core.library.lore.activation.compiled import CompiledEntry, CompiledKey
from core.library.lore.activation.result import Reason
from core.library.lore.activation.scene import ActivationInput
from core.library.lore.activation.timers import Timer
from core.library.lore.book import Logic

_ACTIVE: Final = frozenset((Reason.KEY, Reason.CONSTANT, Reason.ACTIVATE, Reason.STICKY, Reason.KEPT))
NO_HIT: Final = Hit()
_LOGIC: Final = {
    Logic.AND_ANY: "one of them is needed",
    Logic.NOT_ALL: "not all of them may be there",
    Logic.NOT_ANY: "none of them may be there",
    Logic.AND_ALL: "all of them are needed",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision of the rules about an entry."""

    reason: Reason
    key: str = ""
    hit: Hit = NO_HIT
    detail: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the entry would be active."""
        return self.reason in _ACTIVE

    @property
    def is_sticky(self) -> bool:
        """Whether the entry is active from before: it goes first, and needs no luck."""
        return self.reason in (Reason.STICKY, Reason.KEPT)


class Rules:
    """The rules for one scene. `is_recursion` and `level` change from pass to pass."""

    def __init__(self, buffer: ScanBuffer, scene: ActivationInput) -> None:
        self._buffer = buffer
        self._scene = scene
        self._length = scene.message_count
        self._replies = self._length if scene.replies is None else scene.replies
        self._tags = {tag.casefold() for tag in scene.tags}
        self.is_recursion = False
        """Whether it is a pass behind the first one."""
        self.level = 0
        """The level of recursion that is open."""

    def verdict(self, compiled: CompiledEntry, timer: Timer) -> Verdict:
        """Return what becomes of an entry in this pass, but for groups, chance and budget."""
        reason = self._refusal(compiled, timer) or self._activation(compiled, timer)
        return Verdict(reason) if reason is not None else self._by_keys(compiled)

    def found(self, keys: Sequence[CompiledKey], compiled: CompiledEntry) -> list[bool]:
        """Return of each key whether it is in the texts of an entry."""
        return [self._is_found(key, compiled) for key in keys]

    def _refusal(self, compiled: CompiledEntry, timer: Timer) -> Reason | None:
        """Return why an entry is not looked at, whatever its keys."""
        entry = compiled.entry
        if not entry.is_enabled:
            return Reason.DISABLED
        if entry.triggers and self._scene.trigger not in entry.triggers:
            return Reason.TRIGGER
        if (entry.filter_names or entry.filter_tags) and not self._is_for_character(compiled):
            return Reason.CHARACTER
        if self._length < entry.delay:
            return Reason.DELAY
        if timer.is_cooling:
            return Reason.COOLDOWN
        if compiled.decorators.numbers or compiled.decorators.flags:
            reason = self._condition(compiled, timer)
            if reason is not None:
                return reason
        if timer.is_sticky:
            return None
        level = entry.delay_until_recursion
        if level and not (self.is_recursion and level <= self.level and compiled.is_recursive):
            return Reason.WAITS_FOR_RECURSION
        if entry.excludes_recursion and self.is_recursion:
            return Reason.EXCLUDES_RECURSION
        return None

    def _is_for_character(self, compiled: CompiledEntry) -> bool:
        entry = compiled.entry
        is_named = not entry.filter_names or self._scene.character in entry.filter_names
        is_tagged = not entry.filter_tags or any(tag.casefold() in self._tags for tag in entry.filter_tags)
        if not entry.filter_excludes:
            return is_named and is_tagged
        return not ((entry.filter_names and is_named) or (entry.filter_tags and is_tagged))

    def _condition(self, compiled: CompiledEntry, timer: Timer) -> Reason | None:
        numbers, flags = compiled.decorators.numbers, compiled.decorators.flags
        every = numbers.get("activate_only_every")
        is_refused = (
            self._replies < numbers.get("activate_only_after", 0)
            or (every is not None and (every == 0 or self._replies % every != 0))
            or "is_greeting" in numbers  # A chapter begins with no greeting of a card.
            or ("dont_activate_after_match" in flags and timer.was_active)
        )
        return Reason.CONDITION if is_refused else None

    def _activation(self, compiled: CompiledEntry, timer: Timer) -> Reason | None:
        """Return what activates or refuses an entry before its keys are looked at."""
        flags = compiled.decorators.flags
        if "activate" in flags:
            return Reason.ACTIVATE
        if "dont_activate" in flags:
            return Reason.DONT_ACTIVATE
        if compiled.entry.is_constant:
            return Reason.CONSTANT
        if timer.is_sticky:
            return Reason.STICKY
        if "keep_activate_after_match" in flags and timer.was_active:
            return Reason.KEPT
        return None if compiled.keys else Reason.NO_KEYS

    def _by_keys(self, compiled: CompiledEntry) -> Verdict:
        slow = ""
        for key in compiled.keys:
            try:
                hit = self._buffer.find(key, compiled)
            except TimeoutError:
                slow = slow or key.shown
                continue
            if hit is not None:
                return self._second(compiled, key.shown, hit)
        return Verdict(Reason.EXPRESSION_TOO_SLOW, slow) if slow else Verdict(Reason.NOT_FOUND)

    def _second(self, compiled: CompiledEntry, shown: str, hit: Hit) -> Verdict:
        """Return the verdict once a primary key was found."""
        if not (compiled.secondary or compiled.decorators.lists):
            return Verdict(Reason.KEY, shown, hit)
        excluding = self._first_found(compiled.excluded, compiled)
        if excluding is None and compiled.excluded_together:
            together = compiled.excluded_together
            excluding = together[0].shown if all(self.found(together, compiled)) else None
        if excluding is not None:
            return Verdict(Reason.EXCLUDED_KEY, excluding)
        if not all(any(self.found(line, compiled)) for line in compiled.additional):
            return Verdict(Reason.SECONDARY, shown, detail="@@additional_keys")
        if compiled.secondary and not self._allows(compiled):
            return Verdict(Reason.SECONDARY, shown, detail=_LOGIC[compiled.entry.logic])
        return Verdict(Reason.KEY, shown, hit)

    def _allows(self, compiled: CompiledEntry) -> bool:
        found = (self._is_found(key, compiled) for key in compiled.secondary)
        match compiled.entry.logic:
            case Logic.AND_ANY:
                return any(found)
            case Logic.NOT_ALL:
                return not all(found)
            case Logic.NOT_ANY:
                return not any(found)
            case Logic.AND_ALL:
                return all(found)

    def _first_found(self, keys: Iterable[CompiledKey], compiled: CompiledEntry) -> str | None:
        return next((key.shown for key in keys if self._is_found(key, compiled)), None)

    def _is_found(self, key: CompiledKey, compiled: CompiledEntry) -> bool:
        try:
            return self._buffer.find(key, compiled) is not None
        except TimeoutError:
            return False
