"""Asks for the vectors that the items of a chapter lack (design 15)."""

from dataclasses import replace
from datetime import datetime

from core.domain.ids import SessionId
from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.engine.changes.moves import new_work, with_all_tries
from core.engine.kinds.bank.embedding import OF_TEXTS
from core.storage.snapshot import Snapshot


def vectors_due(
    snapshot: Snapshot, now: datetime, *, of_texts: bool = False
) -> tuple[BackgroundRequest, ...]:
    """Return the request for vectors after items were stored or changed, or for those of texts too.

    None where no bank is kept, and where one waits, runs, or needs the GM: that one makes all of them. One
    whose tries an outage used up begins again.
    """
    spec = KIND_SPECS[RequestKind.EMBEDDING]
    requests = (one for one in snapshot.requests if isinstance(one, BackgroundRequest))
    there = [one for one in requests if one.kind is RequestKind.EMBEDDING]
    there = [one for one in there if one.text == OF_TEXTS or not of_texts]
    is_possible = snapshot.session.keeps_bank and snapshot.session.state in spec.runs_in
    if not is_possible or not all(one.has_another_round for one in there):
        return ()
    if there:
        return tuple(with_all_tries(one, now) for one in there)
    return (replace(request_for_vectors(snapshot.session.id, now), text=OF_TEXTS if of_texts else ""),)


def request_for_vectors(session_id: SessionId, now: datetime) -> BackgroundRequest:
    """Return a request for vectors; one that stands for a search of the GM is never stored."""
    return BackgroundRequest(**new_work(RequestKind.EMBEDDING, session_id, now))
