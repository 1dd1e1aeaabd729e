"""Rows of proposals and the domain, both ways."""

from typing import Any

from core.domain.ids import CharacterId, ProposalId, RequestId, SessionId
from core.domain.proposal import Occasion, Proposal, ProposalState, ProposedPart
from db.rows.mapping import Values

_PLAIN = ("id", "character_id", "why", "session_id", "request_id", "prompt_index", "created_at", "settled_at")


def proposal_values(proposal: Proposal) -> Values:
    """Return the row of a proposal."""
    return {
        **{name: getattr(proposal, name) for name in _PLAIN},
        "part": proposal.part.value,
        "occasion": proposal.occasion.value,
        "state": proposal.state.value,
        "before": [dict(record) for record in proposal.before],
        "after": [dict(record) for record in proposal.after],
    }


def to_proposal(row: Any) -> Proposal:
    """Return the proposal of a row."""
    values = {name: getattr(row, name) for name in _PLAIN}
    values |= {
        "id": ProposalId(row.id),
        "character_id": CharacterId(row.character_id),
        "session_id": None if row.session_id is None else SessionId(row.session_id),
        "request_id": None if row.request_id is None else RequestId(row.request_id),
    }
    return Proposal(
        **values,
        part=ProposedPart(row.part),
        occasion=Occasion(row.occasion),
        state=ProposalState(row.state),
        before=tuple(row.before),
        after=tuple(row.after),
    )
