"""Proposals for the characters of the library, and the GM's decisions about them (design 14)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain.clock import Clock
from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId, SessionId
from core.domain.proposal import Proposal, ProposalState
from core.library.characters.character import LibraryCharacter
from core.library.characters.checks import cleaned_character
from core.library.proposals.taking import fits, taken, taken_back
from core.storage.chapter_store import ChapterStore
from core.storage.library_store import LibraryStore

_GONE = "The character is archived, so nothing is proposed for it; restore it first."
_NOTHING_TO_UNDO = "Nothing was taken or dropped for this character."


@dataclass(frozen=True, slots=True)
class Offered:
    """A proposal that is open, and whether the character still has what it is for."""

    proposal: Proposal
    character: LibraryCharacter
    is_outdated: bool
    chapter: str = ""
    """The title of the chapter that it is from; empty where that is archived, or was purged."""


class ProposalLibrary:
    """The proposals of one store."""

    def __init__(self, store: LibraryStore, chapters: ChapterStore, clock: Clock) -> None:
        self._chapters = chapters
        self._store = store
        self._clock = clock

    async def offered(
        self, character_id: CharacterId | None = None, *, session_id: SessionId | None = None
    ) -> list[Offered]:
        """Return what is open for a character, or for all, by characters and then oldest first.

        With a session only what its end has brought.
        """
        found: dict[CharacterId, list[Proposal]] = {}
        for one in await self._store.proposals(character_id):
            found.setdefault(one.character_id, []).append(one)
        titles: dict[SessionId | None, str] = {}
        if found:
            titles = {one.id: one.title for one in await self._chapters.listed()}
        return [
            Offered(one, character, not fits(character, one), titles.get(one.session_id, ""))
            for character in await self._store.characters()
            for one in found.get(character.id, ())
            if session_id is None or one.is_after(session_id)
        ]

    async def accept(self, proposal: Proposal) -> LibraryCharacter:
        """Make the change that is proposed, and return the character as it is stored.

        Raises IllegalCommandError where the character has changed so that it does not fit any more.
        """
        character = await self._character(proposal.character_id)
        return await self._accept(character, [proposal])

    async def accept_all(self, proposals: Sequence[Proposal]) -> tuple[int, int]:
        """Take all that fit, those of a character at once; return how many, and how many are outdated."""
        by_character: dict[CharacterId, list[Proposal]] = {}
        for one in proposals:
            by_character.setdefault(one.character_id, []).append(one)
        count = 0
        for character_id, ours in by_character.items():
            character = await self._character(character_id)
            fitting, changed = [], character
            for one in ours:
                if fits(changed, one):
                    changed = taken(changed, one)
                    fitting.append(one)
            if fitting:
                await self._accept(character, fitting)
            count += len(fitting)
        return count, len(proposals) - count

    async def drop(self, proposals: Sequence[Proposal]) -> None:
        """Turn proposals down; the characters stay as they are."""
        now = self._clock()
        await self._store.settle_proposals(
            [replace(one, state=ProposalState.DROPPED, settled_at=now) for one in proposals]
        )

    async def undo(self, character_id: CharacterId) -> Proposal:
        """Undo what was decided last for a character, and return it: it is open again.

        Raises IllegalCommandError where nothing was, or where what was taken has changed since.
        """
        decided = [one for one in await self._store.proposals(character_id, is_open=False) if not one.is_open]
        if not decided:
            raise IllegalCommandError(_NOTHING_TO_UNDO)
        last = max(decided, key=lambda one: (one.settled_at or one.created_at, one.id))
        again = replace(last, state=ProposalState.OPEN, settled_at=None)
        changed = None
        if last.state is ProposalState.TAKEN:
            character = await self._character(character_id)
            changed = self._now(taken_back(character, last))
        await self._store.settle_proposals([again], character=changed)
        return again

    async def _accept(self, character: LibraryCharacter, proposals: Sequence[Proposal]) -> LibraryCharacter:
        now, changed = self._clock(), character
        for one in proposals:
            changed = taken(changed, one)
        changed = self._now(changed)
        settled = [replace(one, state=ProposalState.TAKEN, settled_at=now) for one in proposals]
        await self._store.settle_proposals(settled, character=changed)
        return replace(changed, version=changed.version + 1)

    def _now(self, character: LibraryCharacter) -> LibraryCharacter:
        return replace(cleaned_character(character), updated_at=self._clock())

    async def _character(self, character_id: CharacterId) -> LibraryCharacter:
        for character in await self._store.characters():
            if character.id == character_id:
                return character
        raise IllegalCommandError(_GONE)
