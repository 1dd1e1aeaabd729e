"""Prints what was measured of canon, and which goals it misses; and the same as plain values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.canon.frames import FactKind
from bench.canon.measure import BANK_WAYS, Results, Times, Way, merged, together
from bench.canon.plot import recall_plot
from bench.measure import WIDTH

LEAST_RECALL: Final = 0.95
LEAST_KEPT: Final = 0.99
MOST_MS: Final = 25.0
MOST_RECALL_MS: Final = 10.0
MOST_GROWN: Final = 1.2
LONG, SHORT, SPARSE, DENSE = "long", "short", "sparse", "dense"
"""Chapters whose inputs are compared: the one that is measured, one with fewer prompts and items, one with
fewer items alone, and one with fewer prompts alone."""
_GROWTHS: Final = (
    ("more prompts with few items", SPARSE, SHORT),
    ("more prompts with as many items", LONG, DENSE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one seed, or of several together."""

    seeds: tuple[int, ...]
    prompts: int
    items: int
    """Items of one chapter's bank."""
    vectors_seconds: float
    """Time for the vectors of all items, in seconds."""
    question_vector_milliseconds: float
    tokens: tuple[int, int]
    """The budget of an input, and that with the bundled model."""
    results: Results
    small: Results
    """With the inputs of the bundled model."""
    book: Results
    """Asked from the next chapter of the book."""
    in_turns: Times
    """By the chapter: `LONG`, `SHORT`, `SPARSE` or `DENSE`; empty for other seeds than the first."""

    @classmethod
    def of_all(cls, each: Sequence["Figures"]) -> "Figures":
        """Return the figures of several seeds over all questions together."""
        first = each[0]
        return cls(
            seeds=tuple(seed for one in each for seed in one.seeds),
            prompts=first.prompts,
            items=first.items,
            vectors_seconds=median(one.vectors_seconds for one in each),
            question_vector_milliseconds=median(one.question_vector_milliseconds for one in each),
            tokens=first.tokens,
            results=merged(one.results for one in each),
            small=merged(one.small for one in each),
            book=merged(one.book for one in each),
            in_turns=first.in_turns,
        )

    def as_json(self) -> dict[str, object]:
        """Return the figures as plain values."""
        return {
            "seeds": list(self.seeds),
            "prompts": self.prompts,
            "items": self.items,
            "vectors_seconds": self.vectors_seconds,
            "question_vector_milliseconds": self.question_vector_milliseconds,
            "tokens": list(self.tokens),
            "results": _plain(self.results),
            "small": _plain(self.small),
            "book": _plain(self.book),
            "in_turns": {name: median(times) for name, times in self.in_turns.items()},
            "kinds": [kind.value for kind in FactKind],
        }


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, and the value that was measured."""

    name: str
    value: float
    is_met: bool


def goals_of(found: Figures) -> Iterator[Goal]:
    """Yield every goal with the figure measured; all are about recall by words and meaning."""
    both = together(found.results, Way.BOTH)
    recall = found.results[Way.BOTH, max(distance for _, distance in found.results)].recall
    yield Goal(f"recall by both, farthest ≥ {LEAST_RECALL}", recall, recall >= LEAST_RECALL)
    kept = both.kept_recall
    yield Goal(f"pinned and confirmed ≥ {LEAST_KEPT}", kept, kept >= LEAST_KEPT)
    everywhere = together(merged((found.results, found.small, found.book)), Way.BOTH)
    yield Goal("older values recalled 0", everywhere.stale, not everywhere.outdated)
    yield Goal("leaks 0", float(everywhere.leaks), not everywhere.leaks)
    yield Goal("inputs over budget 0", float(everywhere.over_budget), not everywhere.over_budget)
    taken, recalling = median(both.milliseconds), median(both.recall_milliseconds)
    yield Goal(f"input ≤ {MOST_MS} ms", taken, taken <= MOST_MS)
    yield Goal(f"of it recall ≤ {MOST_RECALL_MS} ms", recalling, recalling <= MOST_RECALL_MS)
    times = {name: median(every) for name, every in found.in_turns.items()}
    for which, name, beside in _GROWTHS:
        grown = times[name] / times[beside]
        yield Goal(f"input, {which} ≤ {MOST_GROWN} ×", grown, grown <= MOST_GROWN)


def print_figures(found: Figures) -> None:
    """Print tables and plot."""
    console = _console()
    seeds = ", ".join(map(str, found.seeds))
    for title, results in (
        ("asked in the same chapter", found.results),
        ("asked in the next chapter", found.book),
    ):
        console.print(_table(f"Canon, seed {seeds}: {title}", results))
        if results is found.results:
            console.print(recall_plot(results))
    both = together(found.small, Way.BOTH)
    each = ", ".join(
        f"{found.small[Way.BOTH, distance].recall:.2f} {distance:,} later"
        for distance in _distances(found.small)
    )
    console.print(
        f"With inputs of {found.tokens[1]:,} tokens in place of {found.tokens[0]:,}, by both: {each}; "
        f"kept {both.kept_recall:.2f}, stale {both.stale:.2f}, leaks {both.leaks}, "
        f"over budget {both.over_budget}, {median(both.tokens):,.0f} tokens."
    )
    console.print(
        f"vectors of all items {found.vectors_seconds:.0f} s, "
        f"of one question {found.question_vector_milliseconds:.0f} ms (made while the GM reads on)"
    )


def print_goals(found: Figures) -> bool:
    """Print the goals, and which of them are missed; return whether all are met."""
    goals = list(goals_of(found))
    table = Table("goal", "value", "", title="Goals")
    for goal in goals:
        table.add_row(goal.name, f"{goal.value:,.2f}", "yes" if goal.is_met else "NO")
    console = _console()
    console.print(table)
    times = {name: median(every) for name, every in found.in_turns.items()}
    each = ", ".join(f"{name} {taken:.1f} ms" for name, taken in times.items())
    console.print(
        f"An input in chapters of other sizes: {each}; long ÷ short {times[LONG] / times[SHORT]:.2f}"
    )
    missed = [f"{goal.name} (it is {goal.value:,.3f})" for goal in goals if not goal.is_met]
    console.print(f"Missed: {'; '.join(missed)}." if missed else "Every goal is met.")
    return not missed


def _console() -> Console:
    return Console() if Console().is_terminal else Console(width=WIDTH)


def _distances(results: Results) -> list[int]:
    return sorted({distance for _, distance in results})


def _table(title: str, results: Results) -> Table:
    distances = _distances(results)
    columns = [f"{distance:,} later" for distance in distances]
    more = ("all", "kept", "precision", "stale", "leaks", "tokens", "input ms", "recall ms")
    table = Table("recall", *columns, *more, title=title)
    for way in Way:
        every = together(results, way)
        of_bank = (f"{every.precision:.3f}", f"{every.stale:.2f}", f"{every.leaks}")
        times = (every.milliseconds, every.recall_milliseconds)
        table.add_row(
            way.value,
            *(f"{results[way, distance].recall:.2f}" for distance in distances),
            f"{every.recall:.2f}",
            f"{every.kept_recall:.2f}",
            *(of_bank if way in BANK_WAYS else ("", "", "")),
            f"{median(every.tokens):,.0f}",
            *(f"{median(one):.1f}" if one else "" for one in times),
        )
    return table


def _plain(results: Results) -> dict[str, object]:
    return {f"{way.value}, {distance}": result.as_json() for (way, distance), result in results.items()}
