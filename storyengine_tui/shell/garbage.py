"""Has Python look for garbage when nothing else is to be done: with a long story it takes 0.1 s and more."""

import gc
from collections.abc import Callable
from typing import Final

_DUE: Final = 10
"""Collections of younger objects after which all objects are looked through, as Python has it."""
_OVERDUE: Final = 100
"""The same while there is always something else to be done; until then some tens of megabytes may gather."""
_NEVER: Final = 2**31 - 1


class Garbage:
    """Turns garbage collection on where the start turned it off (`storyengine_tui.cli`)."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        """`is_quiet` tells whether no key was pressed a moment ago and nothing is being written."""
        self._is_quiet = is_quiet
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
        if self._is_on and gc.get_count()[2] >= (_DUE if self._is_quiet() else _OVERDUE):
            gc.collect()
