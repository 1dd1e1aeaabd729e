"""The ledger: costs of calls, summed by purpose (design 18).

Sums are exact decimals: those of the parts are the sum of all, to the last digit. A call of unknown cost is
counted beside a sum, and never as nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final

from core.domain.agent_role import AGENT_NAMES
from core.domain.errors import ErrorCode
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import FREE, LOCAL, YOURS
from core.domain.requests.request import NO_TOKENS, Artifact, Request
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.numbers import counted


class By(StrEnum):
    """Key by which costs are grouped."""

    CALL = "call"
    PROMPT = "prompt"
    CHARACTER = "character"
    AGENT = "agent"
    CHAPTER = "chapter"
    DAY = "day"


_AGENTS: Final = {role.agent_id: name for role, name in AGENT_NAMES.items()}
_ON_THIS_MACHINE: Final = frozenset({"local", "scripted"})
"""Providers whose calls cost nothing, also those that were stored before costs were."""
_NOT_SENT: Final = frozenset({ErrorCode.CONSENT_REQUIRED, ErrorCode.CEILING_REACHED})
_TURNED_AWAY: Final = frozenset(
    {
        ErrorCode.LLM_RATE_LIMITED,
        ErrorCode.LLM_AUTH_ERROR,
        ErrorCode.LLM_CREDIT_EXHAUSTED,
        ErrorCode.LLM_REQUEST_ERROR,
    }
)
"""Errors with which a service answers before a model does; no service charges for them."""
_ENDED_WITHIN: Final = frozenset({None, ErrorCode.LLM_CANCELLED, ErrorCode.LLM_TIMEOUT})
"""Ends of calls that a model may have worked on without a word of it."""
_MAYBE_SENT: Final = frozenset({ErrorCode.LLM_CANCELLED, ErrorCode.STORAGE_SAVE_FAILED})
"""Errors of attempts of which nothing else is on record: the program, or the database, ended meanwhile."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A call in the ledger."""

    chapter: str
    """The title of its chapter."""
    number: int
    """Its number among the calls of its chapter, from 1."""
    artifact: Artifact
    request: Request | None
    """The request that it was made for, where that is known."""
    agent: str
    """The name of the agent, or of the character, that it was made by."""
    may_be_billed: bool = False
    """Whether its chapter has calls of a service, so that this may have been one."""

    @property
    def amount(self) -> Decimal | None:
        """Its cost in US dollars; None if that is unknown."""
        cost = self.artifact.cost
        if cost is not None and cost.amount is not None:
            return cost.amount
        return FREE if self._is_free else None

    @property
    def is_local(self) -> bool:
        """Whether a model of this machine answered, which costs nothing unless the GM has set prices."""
        cost = self.artifact.cost
        return self.artifact.provider in _ON_THIS_MACHINE if cost is None else cost.source == LOCAL

    @property
    def _is_free(self) -> bool:
        made = self.artifact
        was_none = made.call == 0 and not made.provider  # the query of an input has this number too
        was_none = was_none and not (self.may_be_billed and made.error_code in _MAYBE_SENT)
        return self.is_local or was_none or is_free(made)


def is_free(made: Artifact) -> bool:
    """Whether no service charges for a call: it was not sent, or turned away before a model had it."""
    was_answered = made.output_ref is not None or made.usage.output_tokens is not None
    is_refused = made.error_code in _NOT_SENT or (made.error_code in _TURNED_AWAY and not was_answered)
    return is_refused or made.usage == NO_TOKENS


def may_have_cost(made: Artifact) -> bool:
    """Whether a model may have worked on a call: its service did not only fail in place of an answer."""
    was_begun = made.output_ref is not None or made.error_code in _ENDED_WITHIN
    return was_begun and not is_free(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """Total cost of some calls."""

    amount: Decimal = FREE
    """US dollars, of the calls whose cost is known."""
    calls: int = 0
    unknown: int = 0
    """Number of calls of unknown cost."""
    local: int = 0
    """Number of calls answered on this machine, for nothing."""
    own: int = 0
    """Number of calls priced by the GM's own prices."""
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    @property
    def is_spent(self) -> bool:
        """Whether any money was spent, as far as it is known."""
        return self.amount > FREE


def sum_of(entries: Iterable[LedgerEntry]) -> Sum:
    """Return what calls cost together."""
    return sum((_one(entry) for entry in entries), Sum())


def _one(entry: LedgerEntry) -> Sum:
    amount, usage = entry.amount, entry.artifact.usage
    return Sum(
        amount=FREE if amount is None else amount,
        calls=1,
        unknown=int(amount is None),
        local=int(entry.is_local),
        own=int(entry.artifact.cost is not None and entry.artifact.cost.source == YOURS),
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
    )


def sums_by(entries: Sequence[LedgerEntry], by: By) -> list[tuple[str, Sum]]:
    """Return the sum of each group, with its name, in the order in which the groups begin.

    Every call is in exactly one group. Calls and prompts of several chapters are named with their chapter.
    """
    name_of = _NAMERS[by]
    is_several = by in (By.CALL, By.PROMPT) and len({entry.chapter for entry in entries}) > 1
    groups: dict[str, Sum] = {}
    for entry in entries:
        name = f"{entry.chapter}, {name_of(entry)}" if is_several else name_of(entry)
        groups[name] = groups.get(name, Sum()) + _one(entry)
    return list(groups.items())


def entries_of(
    chapter: str, session: Session, artifacts: Sequence[Artifact], requests: Sequence[Request]
) -> list[LedgerEntry]:
    """Return the calls of a chapter, without marks, numbered in the order of `artifacts`."""
    by_id = {request.id: request for request in requests}
    is_billed = may_be_billed(artifacts)
    return [
        LedgerEntry(
            chapter,
            number,
            artifact,
            by_id.get(artifact.request_id),
            agent_name(session, artifact.agent_id),
            is_billed,
        )
        for number, artifact in enumerate(artifacts, start=1)
        if not artifact.is_mark
    ]


def may_be_billed(artifacts: Sequence[Artifact]) -> bool:
    """Return whether a service answered one of these calls, so that others may have been billed too."""
    return any(one.provider not in ("", *_ON_THIS_MACHINE) for one in artifacts)


def agent_name(session: Session, number: int) -> str:
    """Return the name of one of the ten agents; a character's is the one it has in the chapter."""
    return _AGENTS.get(number) or (session.name_of(Slot(number)) if number in list(Slot) else "?")


NO_CHARACTER: Final = "no character"
NO_PROMPT: Final = "no prompt"


def _by_prompt(entry: LedgerEntry) -> str:
    prompts: PromptRange | None = getattr(entry.request, "prompts", None)
    return NO_PROMPT if prompts is None else prompts.named


def _by_character(entry: LedgerEntry) -> str:
    return _by_agent(entry) if entry.artifact.agent_id in list(Slot) else NO_CHARACTER


def _by_agent(entry: LedgerEntry) -> str:
    return f"{entry.artifact.agent_id} {entry.agent}"


_NAMERS: Final[Mapping[By, Callable[[LedgerEntry], str]]] = {
    By.CALL: lambda entry: f"call {entry.number}",
    By.PROMPT: _by_prompt,
    By.CHARACTER: _by_character,
    By.AGENT: _by_agent,
    By.CHAPTER: lambda entry: entry.chapter,
    By.DAY: lambda entry: f"{entry.artifact.created_at.astimezone():%Y-%m-%d}",
}


NO_CALL: Final = "No model has been called yet."
_CENT: Final = Decimal("0.01")
_SMALL: Final = Decimal("0.0001")


def dollars(amount: Decimal) -> str:
    """Return an amount such as `$0.31`; one below a cent has four decimals, and is not shown as nothing."""
    if amount == 0 or amount >= _CENT:
        return f"${amount.quantize(_CENT, rounding=ROUND_HALF_UP):,f}"
    if amount >= _SMALL:
        return f"${amount.quantize(_SMALL, rounding=ROUND_HALF_UP):f}"
    return f"<${_SMALL:f}"


def total_text(total: Sum) -> str:
    """Return what calls cost together, such as `$0.31 and 3 calls of unknown price`."""
    known = total.calls - total.unknown
    beside = f"{counted(total.unknown, 'call')} of unknown price"
    if not total.unknown:
        return dollars(total.amount)
    return f"{dollars(total.amount)} and {beside}" if known else beside


def cost_text(total: Sum) -> str:
    """Return what calls cost together, as `total_text`, and whether all were answered on this machine."""
    if total.calls and total.local == total.calls:
        return f"{dollars(total.amount)} (local)"
    return total_text(total)
