"""A kill of a single command: the command, the steps before and after it, and its points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_orders import Point, Report
from tests.torture.kills.kill_storage import drawn

Command = tuple[str, ...]
"""A command of the program; `{}` in it is the session."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A command that is killed, what comes before it unharmed, and what after it."""

    command: Command
    kinds: tuple[str, ...] = ("",)
    """How the steps begin at which it is killed."""
    before: tuple[Command, ...] = ()
    after: tuple[Command, ...] = ()
    until: str = ""
    """The last step that it comes to each time; how far it goes beyond is a matter of time."""
    in_vain: int = 1
    """Calls of a model whose answers may get lost in one kill: those under way."""


def of(command: Command, session_id: str) -> Command:
    """Return the command for a session."""
    return tuple(word.format(session_id) for word in command)


def give(torturer: Torturer, commands: Sequence[Command], session_id: str) -> Sequence[Report]:
    """Give commands that nobody kills, one after the other; each must go well."""
    reports = []
    for command in commands:
        ended, report = torturer.run([], *of(command, session_id))
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        reports.append(report)
    return reports


def points_of(
    torturer: Torturer,
    operations: Sequence[Operation],
    session_id: str,
    most: int | None,
    is_own: Callable[[str], bool] = bool,
) -> dict[Operation, list[Point]]:
    """Return the points of each operation, in random order; of all together at most `most`.

    They are the steps of its kinds that `is_own` accepts.
    """
    found: dict[Operation, list[Point]] = {}
    for operation in operations:
        give(torturer, operation.before, session_id)
        # One turn, as in the kill: a step that ends soon would be over before it was seen under way.
        ended, done = torturer.run([], *of(operation.command, session_id), names_steps=True, most_turns=1)
        assert ended.returncode == 0, f"{operation.command}: {ended.stderr}"
        steps = list(dict.fromkeys(done.steps))
        give(torturer, operation.after, session_id)
        steps = steps[: steps.index(operation.until) + 1] if operation.until else steps
        own = [step for step in steps if step.startswith(operation.kinds) and is_own(step)]
        assert {step.rpartition(": ")[2] for step in own} >= {"before", "under way", "after"}, steps
        found[operation] = drawn(own, torturer, None)
    order = list(found)
    torturer.random.shuffle(order)
    while most is not None and sum(map(len, found.values())) > most:
        # Each operation keeps its share.
        found[max(order, key=lambda operation: len(found[operation]))].pop()
    return found
