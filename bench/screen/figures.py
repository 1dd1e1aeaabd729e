"""From samples to the rows of the table: every one with the floor that it is held against."""

from bench.measure import Figure
from bench.screen.visits import ACTIONS, Samples

_MILLI = 1000.0
_MB = 2.0**20


def screen_figures(samples: Samples) -> list[Figure]:
    """Return the rows of everything that was measured."""
    rows = _Rows(samples)
    rows.against("first paint", "warm first paint", "floor first paint", 1.25)
    rows.plain("  of the floor", "floor first paint")
    rows.against("  processor seconds until then", "warm first processor", "floor first processor", None)
    rows.against("ready to type, server stopped", "warm ready", "warm first paint", 2.0, "first paint")
    rows.against(
        "ready to type, server running", "attached ready", "attached first paint", 2.0, "first paint"
    )
    rows.plain("  the chapter open, server stopped", "warm open")
    rows.plain("  the chapter open, server running", "attached open")
    rows.against("  the same, a hundred times as long", "huge open", "long open", 1.5, "long")
    rows.plain("key to screen, p50", "long key p50")
    rows.against("key to screen, p95", "long key p95", "floor key p95", 1.2)
    rows.plain("  of the floor, p50", "floor key p50")
    rows.plain("  of the floor, p95", "floor key p95")
    rows.plain("key while 100 tokens/s stream, p50", "streaming key p50")
    rows.against("key while 100 tokens/s stream, p95", "streaming key p95", "floor key p95", 1.5)
    rows.against(
        "processor per 1,000 tokens", "long processor at 60", "blank processor at 60", 1.3, "empty transcript"
    )
    rows.plain("  at 500 tokens/s", "long processor at 500")
    rows.at_most("bytes per key", "long key bytes", 300)
    rows.at_most("bytes per token at 60/s", "long bytes at 60", 260)
    rows.at_most("bytes per token at 500/s", "long bytes at 500", 60)
    for action in (*ACTIONS, "resizing"):
        rows.beyond(action, "floor key p50", 50)
    rows.plain("  of the floor, resizing", "floor resizing")
    rows.plain("  of the floor, with its database libraries", "floor memory", unit="MB")
    rows.memory("memory, idle", "memory blank")
    rows.memory("memory, long chapter open", "memory long")
    rows.memory("memory after the replies", "memory after")
    rows.against(
        "memory after the last replies", "memory after", "memory early", 1.05, "the first hundred", unit="MB"
    )
    rows.against("  against half of them", "memory after", "memory half", None, unit="MB")
    rows.at_most("processor when idle", "idle processor", 1.0, "% of a core")
    rows.at_most("  of the floor", "floor idle processor", None, "% of a core")
    return rows.made


class _Rows:
    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self.made: list[Figure] = []

    def plain(self, what: str, name: str, unit: str = "ms") -> None:
        value = self._samples.median(name)
        if value is not None:
            self.made.append(Figure(what, value / _MB if unit == "MB" else value * _MILLI, unit))

    def against(
        self, what: str, name: str, floor: str, most: float | None, called: str = "floor", unit: str = "ms"
    ) -> None:
        value, base = self._samples.median(name), self._samples.median(floor)
        if value is None or base is None:
            return
        shown = value / _MB if unit == "MB" else value * _MILLI
        goal = "" if most is None else f"≤ {most} × {called}"
        is_met = None if most is None else value / base <= most
        self.made.append(Figure(what, shown, unit, value / base, goal, is_met))

    def at_most(self, what: str, name: str, most: float | None, unit: str = "bytes") -> None:
        value = self._samples.median(name)
        if value is None:
            return
        goal = "" if most is None else f"≤ {most:g}"
        self.made.append(Figure(what, value, unit, None, goal, None if most is None else value <= most))

    def beyond(self, what: str, floor: str, most: float) -> None:
        value, base = self._samples.median(what), self._samples.median(floor)
        if value is None or base is None:
            return
        more = (value - base) * _MILLI
        goal = f"≤ {most:g} ms beyond floor's key"
        self.made.append(Figure(what, value * _MILLI, "ms", None, goal, more <= most))

    def memory(self, what: str, name: str) -> None:
        self.against(what, name, "floor memory", 1.3, unit="MB")
