"""Has Python look for garbage when nothing else is to be done: with a long story it takes 0.5 s and more.

The survivors of a look are frozen, so that the next one goes through new objects alone; everything is looked
through in a long pause.
"""

import gc
import time
from collections.abc import Callable
from typing import Final

_DUE: Final = 10
"""Collections of younger objects after which all objects are looked through, as Python has it."""
_OVERDUE: Final = 100
"""The same while there is always something else to be done; until then some tens of megabytes may gather."""
LEAST_PAUSE: Final = 0.5
"""Seconds without a key after which the GM may not notice a short look."""
_WHOLE_DUE: Final = 10
"""Looks at new objects after which everything is looked through, as Python has its generations."""
_WHOLE_OVERDUE: Final = 100
"""The same where the GM makes no long pause."""
_LONG_PAUSE: Final = 60.0
"""Seconds without a key after which the GM is likely to be elsewhere."""
_PAUSE_FOR_A_SECOND: Final = 20.0
"""Seconds without a key for each second that the last look took: a long one is left for a long pause."""
_FOR_AN_OBJECT: Final = 0.3e-6
"""Seconds that a look takes for each object, about: many new ones, such as the texts of a first search, make
the next look long."""
_NEVER: Final = 2**31 - 1


class Garbage:
    """Turns garbage collection on where the start turned it off (`storyengine_tui.cli`)."""

    def __init__(self, quiet_seconds: Callable[[], float]) -> None:
        """`quiet_seconds` tells how long no key was pressed; 0 while something is being written."""
        self._quiet_seconds = quiet_seconds
        self._took = 0.0
        """Seconds that the last look took."""
        self._whole_took = 0.0
        """Seconds that the last look through everything took, or that the first one may take."""
        self._looks = 0
        """Looks at new objects since then."""
        self._is_on = False

    def start(self) -> None:
        """Begin to collect; what the start has made is looked through with everything alone."""
        if not gc.isenabled():
            gc.freeze()
            young, middle, _ = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)
            gc.enable()
        # Or the app before this one did, which ended by a bug.
        self._is_on = gc.get_threshold()[2] == _NEVER

    def look(self) -> None:
        """Look through new objects, or through all, if it is time; to be called now and then."""
        if not self._is_on:
            return
        young, middle, _ = gc.get_threshold()
        count = gc.get_count()[2]
        expected = max(self._took, count * young * middle * _FOR_AN_OBJECT)
        is_quiet = self._quiet_seconds() >= max(LEAST_PAUSE, expected * _PAUSE_FOR_A_SECOND)
        if count >= (_DUE if is_quiet else _OVERDUE):
            self._took = self._collect()
            self._looks += 1
        elif self._looks >= _WHOLE_DUE and self._is_time_for_everything():
            gc.unfreeze()
            self._whole_took, self._looks = self._collect(), 0

    def _is_time_for_everything(self) -> bool:
        quiet = self._quiet_seconds()
        if quiet < (LEAST_PAUSE if self._looks >= _WHOLE_OVERDUE else _LONG_PAUSE):
            return False
        if not self._whole_took:
            # The first one may be long too. Counted once: that takes a tenth of such a look.
            self._whole_took = gc.get_freeze_count() * _FOR_AN_OBJECT
        return quiet >= self._whole_took * _PAUSE_FOR_A_SECOND

    @staticmethod
    def _collect() -> float:
        """Collect, freeze what is left, and return the seconds that it took."""
        began = time.perf_counter()
        gc.collect()
        gc.freeze()
        return time.perf_counter() - began
