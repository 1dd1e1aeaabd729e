"""Puts into words what the work for a memory bank has not done, for screens and commands (design 15)."""

from collections.abc import Iterable

from core.domain.requests.request import Request
from core.domain.requests.request_kinds import RequestKind
from core.text.numbers import counted


def failed_in_words(requests: Iterable[Request]) -> str:
    """Return which work for a bank failed and is not retried automatically; empty if none did."""
    requests = tuple(requests)
    failed = [one.kind for one in requests if one.has_failed]
    parts = failed.count(RequestKind.EXTRACTION)
    unread = f"{counted(parts, 'part')} could not be read" if parts else ""
    if any(one.kind is RequestKind.EXTRACTION and one.holds_up for one in requests):
        waiting = sum(one.kind is RequestKind.EXTRACTION and one.state.is_open for one in requests)
        unread += f" and {waiting:,} {'waits' if waiting == 1 else 'wait'} for it" if waiting else ""
    unmade = "vectors not made" if RequestKind.EMBEDDING in failed else ""
    return ", ".join(filter(None, (unread, unmade)))


def unread_in_words(requests: Iterable[Request]) -> str:
    """Return how much of a chapter its bank lacks, by its open and failed requests; empty if nothing."""
    parts = sum(one.kind is RequestKind.EXTRACTION for one in requests)
    if not parts:
        return ""
    return (
        f"{counted(parts, 'part of this chapter is', 'parts of this chapter are')} not read into the memory "
        f"bank yet; the next chapter recalls nothing of {'it' if parts == 1 else 'them'} until then."
    )
