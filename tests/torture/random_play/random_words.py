"""Every word that the GM was told is stored, by chapter, held against what plain SQL finds there."""

from collections import Counter
from collections.abc import Collection

from core.domain.ids import SessionId
from tests.torture.readers.reader import Connection, check_session


class Ledger:
    """Knows what must be there: a word that was confirmed, until the GM takes it out again."""

    def __init__(self, raw: Connection) -> None:
        self._raw = raw
        self._told: dict[SessionId, list[str]] = {}
        self._confirmed: dict[SessionId, set[str]] = {}
        self.diary: list[str] = []
        """What was done, for whoever reads of a fault."""

    def begin(self, session_id: SessionId) -> None:
        """A chapter begins."""
        self._told[session_id] = []
        self._confirmed[session_id] = set()

    def confirm(self, session_id: SessionId, words: Collection[str]) -> None:
        """The GM was told that these are stored."""
        self._confirmed[session_id].update(words)

    def let_go(self, session_id: SessionId, word: str) -> None:
        """The GM takes a word out: from now on it may be gone."""
        self._confirmed[session_id].discard(word)

    def check(self, session_id: SessionId) -> None:
        """Hold a chapter against the rules, and its words against what was confirmed."""
        with self._raw.transaction():
            self._raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            check_session(self._raw, session_id, may_be_late=True)
            told, elsewhere = self._texts(session_id)
        before = self._told[session_id]
        assert told[: len(before)] == before, "the story only grows"
        self._told[session_id] = told
        assert not _twice(told), f"in the story twice: {_twice(told)}; {self.diary}"
        gone = self._confirmed[session_id] - set(words_of("\n".join((*told, *elsewhere))))
        assert not gone, f"confirmed, and gone: {gone}; {self.diary}"

    def check_all(self) -> None:
        """The same for every chapter, those that were set aside included."""
        for session_id in self._told:
            self.check(session_id)

    def count(self) -> tuple[int, int, int]:
        """Count, in all chapters as they are stored now: words confirmed, of these lost, and told twice."""
        confirmed = lost = twice = 0
        for session_id, words in self._confirmed.items():
            told, elsewhere = self._texts(session_id)
            found = words.intersection(words_of("\n".join((*told, *elsewhere))))
            confirmed += len(words)
            lost += len(words) - len(found)
            twice += len(_twice(told))
        return confirmed, lost, twice

    def _texts(self, session_id: SessionId) -> tuple[list[str], list[str]]:
        """Return the GM's prompts in the story, and everything else of the GM's that is stored."""
        key = [session_id]
        told = self._raw.execute(
            "SELECT text FROM event WHERE session_id = %s AND ordinal = 0 ORDER BY prompt_index", key
        ).fetchall()
        asked = self._raw.execute(
            "SELECT text FROM llm_request WHERE session_id = %s"
            " AND state IN ('pending', 'processing', 'failed')",
            key,
        ).fetchall()
        unsent = self._raw.execute("SELECT text FROM unsent_text WHERE session_id = %s", key).fetchall()
        return [text for (text,) in told], [text for (text,) in (*asked, *unsent)]


def words_of(text: str) -> list[str]:
    """Return the words in a text that the random GM wrote."""
    return [word for word in text.split() if word.startswith("<") and word.endswith(">")]


def _twice(told: Collection[str]) -> list[str]:
    return [word for word, count in Counter(words_of("\n".join(told))).items() if count > 1]
