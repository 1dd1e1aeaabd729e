"""Has Python look for garbage when nothing else is to be done: with a long story it takes 0.1 s and more."""

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
        self._is_on = False

    def start(self) -> None:
        """Begin to collect; what the start has made is never looked through."""
        if not gc.isenabled():
            gc.freeze()
            young, middle, _ = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)
            gc.enable()
        # Or the app before this one did, which ended by a bug.
        self._is_on = gc.get_threshold()[2] == _NEVER

    def look(self) -> None:
        """Look through all objects if it is time, to be called now and then."""
        if not self._is_on:
            return
        young, middle, _ = gc.get_threshold()
        count = gc.get_count()[2]
        expected = max(self._took, count * young * middle * _FOR_AN_OBJECT)
        is_quiet = self._quiet_seconds() >= max(LEAST_PAUSE, expected * _PAUSE_FOR_A_SECOND)
        if count >= (_DUE if is_quiet else _OVERDUE):
            began = time.perf_counter()
            gc.collect()
            self._took = time.perf_counter() - began
