"""Calls that show as one row of the history: vectors are made in many batches, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from core.ledger.sums import dollars
from storyengine_tui.screens.calls.inputs import call_rows
from storyengine_tui.screens.calls.inputs.call_rows import UNKNOWN, CallRow


@dataclass(frozen=True, slots=True)
class CallRun:
    """One call, or several that made vectors with one model, with no other call between them."""

    calls: tuple[CallRow, ...]
    """The newest first."""

    @property
    def number(self) -> int:
        """The number of its first call, by which it is known however many follow."""
        return self.calls[-1].number

    @property
    def failed(self) -> int:
        """Number of its calls that failed."""
        return sum(call.artifact.error_code is not None for call in self.calls)


def runs_of(calls: Sequence[CallRow], opened: frozenset[int]) -> list[CallRun]:
    """Return calls, the newest first, as rows; a run whose number is in `opened` shows each of its calls."""
    runs: list[CallRun] = []
    for key, group in groupby(calls, lambda call: call.artifact.model if call.makes_vectors else None):
        run = CallRun(tuple(group))
        is_one_row = key is not None and run.number not in opened
        runs += [run] if is_one_row else (CallRun((call,)) for call in run.calls)
    return runs


def tokens_of(run: CallRun) -> str:
    """Return the counts of input and output tokens, as far as the calls have any."""
    usages = [call.artifact.usage for call in run.calls]
    counts = ([one.input_tokens for one in usages], [one.output_tokens for one in usages])
    known = ([count for count in each if count is not None] for each in counts)
    return " → ".join(f"{sum(each):,}" if each else UNKNOWN for each in known)


def first_of(run: CallRun) -> str:
    """Return the time to the first token of a single call."""
    return call_rows.seconds(run.calls[0].artifact.first_token_ms if len(run.calls) == 1 else None)


def cost_of(run: CallRun) -> str:
    """Return what the calls cost together; empty where that is nothing, and unknown where one is."""
    amounts = [call.entry.amount for call in run.calls]
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts):
        return UNKNOWN
    total = sum(known)
    return dollars(total) if total else ""


def outcome_of(run: CallRun) -> str:
    """Return how the call ended, in a word or two; of several how many there are, and how many failed."""
    count = len(run.calls)
    if count == 1:
        return call_rows.outcome_of(run.calls[0])
    return f"{run.failed:,} of {count:,} failed" if run.failed else f"{count:,} calls"
