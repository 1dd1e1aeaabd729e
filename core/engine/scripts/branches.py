"""The sessions in which a chapter script that branches is played: the chapter, then one for each branch."""

from core.domain.ids import SessionId
from core.engine.catalog import SessionCatalog
from core.exchange.scripts.chapter_script import ChapterScript
from core.text.canonical_json import canonical, checksum


class ScriptBranches:
    """Finds the branches of a script again, by keys of their own, and makes those that are missing.

    A run that stopped goes on in the last existing branch: what is before it was played to its end.
    """

    def __init__(self, catalog: SessionCatalog, script: ChapterScript) -> None:
        self._catalog = catalog
        self._script = script
        self.lines = script.lines

    async def furthest(self, first: SessionId) -> tuple[int, SessionId]:
        """Return the place in `lines` where play goes on, and its session; `first` is that of the chapter."""
        at, session_id = 0, first
        while at + 1 < len(self.lines):
            found = await self._catalog.find_script(self._key(at + 1, session_id))
            if found is None:
                break
            at, session_id = at + 1, found
        return at, session_id

    async def branch(self, at: int, before: SessionId) -> SessionId:
        """Return the session of line `at`, which branches off from session `before`; make it if missing."""
        branching = self.lines[at].branching
        if branching is None:
            raise ValueError("the first line of a script is no branch")
        return await self._catalog.branch(
            before, branching.branch_at, title=branching.branch_title, script_key=self._key(at, before)
        )

    def _key(self, at: int, before: SessionId) -> str:
        branching = self.lines[at].branching
        where = branching.branch_at if branching else 0
        return checksum(canonical([self._script.key, at, where, str(before)]))
