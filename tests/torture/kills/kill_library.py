"""Kills while the library is written: characters, lorebooks and books, the next chapter and the lines that
come over into it, a chat that is imported. Each is stored whole or not at all, and what was stored before is
as it was."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

from core.domain.session.profile import GENERAL
from tests.core.library.cards.card_samples import V2, V3, packed, picture, t_ext, text_of
from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_orders import Point
from tests.torture.kills.kill_scene import begin_played, end_played
from tests.torture.kills.kill_storage import drawn, play_one, rows, served, steps_of

STORES: Final = (
    *("library: ", "session created: ", "lorebooks stored: ", "gaps done: ", "ceremony "),
    *("tab 1 stored: ", "lock pending: ", "lock begun: ", "lock stored: "),
)
"""How the steps begin at which something is stored."""
TITLE: Final = "Of the library"
_REPLIES: Final = """
[[reply]]
match.schema = "gaps"
payload = { short_description = "The last of the lamp.", traits = [{ name = "Watchful" }] }
[[reply]]
match.schema = "changes"
[[reply.payload.changes]]
prompt = 1
quote = "prompt 1: what now?"
about = "identity"
name = ""
text = "Asked without end."
value = 0
why = "It lasts."
"""
_BOOK: Final = {
    "name": "Harbour",
    "entries": {"0": {"uid": 0, "key": ["lamp"], "content": "By the harbour."}},
}
_NOVEL: Final = {"lorebookVersion": 5, "entries": [{"keys": ["lamp"], "text": "By the sea."}]}
"""Of a format that is read and not written."""
_OURS: Final = {"story_engine": {"topics": [{"name": "The sea", "exposure_now": 0.5}]}}
"""A topic that no prompt mentions: a ceremony proposes to let it fade."""
_CHAT: Final = (
    {"user_name": "GM", "character_name": "Kara"},
    {"name": "GM", "is_user": True, "mes": "Who is there?"},
    {"name": "Kara", "mes": "I am.", "swipes": ["Nobody.", "I am."], "swipe_id": 1},
)
_STATE: Final = (
    "SELECT name, aliases, identity, short_description, group_name, is_paused, archived_at IS NULL,"
    " (SELECT array_agg(key ORDER BY key) FROM cast_name WHERE character_id = id),"
    " (SELECT array_agg((cast_trait.name, strength)::text ORDER BY place) FROM cast_trait"
    "   WHERE character_id = id),"
    " (SELECT array_agg((cast_topic.name, perspective)::text ORDER BY place) FROM cast_topic"
    "   WHERE character_id = id),"
    " (SELECT md5(content) FROM cast_card WHERE character_id = id) FROM cast_member ORDER BY 1, 2",
    "SELECT name, part, after::text, why, state FROM cast_proposal JOIN cast_member"
    " ON cast_member.id = character_id ORDER BY 1, 2, 3",
    "SELECT name, groups, entry_count, format, md5(content), archived_at IS NULL FROM lorebook ORDER BY 1, 5",
    "SELECT book.title, author, description, book.archived_at IS NULL, array(SELECT session.title"
    " FROM book_chapter JOIN session ON session.id = session_id WHERE book_id = book.id ORDER BY place)"
    " FROM book ORDER BY 1, 2",
    "SELECT title, state, prompt_index, session.archived_at IS NULL, world, chapter, carried::text,"
    " identities::text,"
    " (SELECT count(*) FROM event WHERE session_id = id),"
    " (SELECT count(*) FROM canon WHERE session_id = id),"
    " (SELECT count(*) FROM memory_block WHERE session_id = id),"
    " array(SELECT (number, name, groups, label, copy_hash)::text FROM session_lorebook"
    "   WHERE session_id = id ORDER BY number)"
    " FROM session LEFT JOIN tab1_input ON tab1_input.session_id = id ORDER BY 1, 2, 3",
)
"""Everything of the library and of its chapters that is no time, no id and no number of a version."""
_LOOSE: Final = (
    "SELECT id FROM cast_member WHERE file_hash IS NOT NULL AND NOT EXISTS"
    " (SELECT FROM cast_card WHERE character_id = id AND cast_card.file_hash = cast_member.file_hash)"
    " OR archived_at IS NULL AND NOT EXISTS (SELECT FROM cast_name WHERE character_id = id)"
    " UNION ALL SELECT id FROM session WHERE NOT EXISTS (SELECT FROM tab1_input WHERE session_id = id)"
)
"""Characters without their cards or names, and chapters without their first tab."""
State = tuple[tuple[tuple[object, ...], ...], ...]
Command = tuple[str | Path, ...]


@dataclass(frozen=True)
class LibraryTrial:
    """A command that is killed when it stores something, and commands that bring back what was."""

    command: Command
    undo: tuple[Command, ...] = ()
    before: tuple[Command, ...] = ()
    undone_by: Callable[[Torturer], None] | None = None
    """What takes away a chapter that was made."""
    has_steps: bool = False
    """Whether it stores one thing after the other; given again, it does what is left of them."""


def kill_library(torturer: Torturer, most: int | None = None) -> None:
    """Kill each command before, in the midst of and after what it stores.

    With `most` at about so many points: each command has its share, or some commands have one.
    """
    session_id = _begin(torturer)
    [draft] = _others(torturer, [session_id])
    trials = _trials(session_id, draft)
    share = None if most is None else max(1, round(most / len(trials)))
    for trial in torturer.random.sample(trials, min(len(trials), most or len(trials))):
        before = _prepared(torturer, trial)
        steps = [step for step in steps_of(torturer, *trial.command) if step.startswith(STORES)]
        assert len(steps) >= 3, f"{trial.command} stores nothing"
        after = _state(torturer)
        assert after != before, f"{trial.command} changes nothing"
        _undo(torturer, trial)
        for point in drawn(steps, torturer, share):
            assert _prepared(torturer, trial) == before, f"{trial.command} was not taken back"
            _kill(torturer, trial, point, before, after, UUID(session_id))
            _undo(torturer, trial)
    end_played(torturer, session_id)


def _begin(torturer: Torturer) -> str:
    """Store an ended chapter in a book, and a character and a lorebook with their files."""
    session_id = begin_played(torturer, TITLE)
    play_one(torturer, TITLE)
    home, joss = torturer.home, {**V2["data"], "name": "Joss", "extensions": _OURS}
    (home.work / "kara.png").write_bytes(picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(V3))))
    (home.work / "joss.json").write_bytes(text_of({**V2, "data": joss}))
    (home.work / "mara.json").write_bytes(text_of({**V2, "data": {**V2["data"], "name": "Mara"}}))
    home.write("harbour.json", json.dumps(_BOOK))
    home.write("quay.json", json.dumps({**_BOOK, "name": "Quay"}))
    home.write("Old.json", json.dumps(_NOVEL))
    home.write("chat.jsonl", "\n".join(map(json.dumps, _CHAT)))
    _do(torturer, "cast", "import", "kara.png")
    _do(torturer, "lore", "import", "harbour.json")
    _do(torturer, "import", "chat.jsonl")
    home.write("replies.toml", _REPLIES)
    _do(torturer, "book", "new", "The Lamp")
    _do(torturer, "book", "add", "The Lamp", session_id)
    _do(torturer, "export", session_id, "--out", home.work / "whole.json")
    return session_id


def _trials(session_id: str, draft: str) -> list[LibraryTrial]:
    new = LibraryTrial(("cast", "import", "joss.json"), _gone("cast", "Joss"))
    lore = LibraryTrial(("lore", "import", "quay.json"), _gone("lore", "Quay"))
    made = LibraryTrial(("book", "new", "Another"), _gone("book", "Another"))
    trials = [new, lore, made]
    for kept, known in ((new, "Joss"), (lore, "Quay"), (made, "Another")):
        group, put_away = str(kept.command[0]), kept.undo[0]
        restored, purged = (group, "restore", known), kept.undo[1]
        trials += [
            LibraryTrial(put_away, (purged,), (kept.command,)),
            LibraryTrial(restored, kept.undo, (kept.command, put_away)),
            LibraryTrial(purged, (), (kept.command, put_away)),
        ]
    edit = ("book", "edit", "The Lamp", "--author")
    attach, detach = ("lore", "attach", "Harbour", draft), ("lore", "detach", "Harbour", draft)
    assist, proposals = ("cast", "assist", "Joss", "--in", session_id), ("cast", "proposals", "Joss")
    archive, restore = ("cast", "archive", "Kara"), ("cast", "restore", "Kara")
    take = (*proposals, "--take", "1")
    gone = partial(_without_chapters, (session_id, draft))
    return [
        *trials,
        *_of_characters(session_id, gone),
        LibraryTrial(("lore", "new", "Empty"), _gone("lore", "Empty")),
        LibraryTrial(
            ("operation", "convert lore", session_id),
            _gone("lore", "Old"),
            (("lore", "import", "Old.json"),),
        ),
        LibraryTrial((*proposals, "--drop", "1"), new.undo, (new.command, assist)),
        _operations(session_id, "grow older", "grow younger"),
        _operations(session_id, "hide lore", "show lore"),
        _operations(session_id, "write lore", "write lore back"),
        LibraryTrial((*edit, "N. N."), ((*edit, ""),)),
        LibraryTrial(("book", "remove", "The Lamp", session_id), (("book", "add", "The Lamp", session_id),)),
        LibraryTrial(
            ("book", "add", "Another", session_id),
            (("book", "add", "The Lamp", session_id), *made.undo),
            (made.command,),
        ),
        LibraryTrial(attach, (detach,)),
        LibraryTrial(detach, (), (attach,)),
        LibraryTrial(assist, new.undo, (new.command,)),
        LibraryTrial(("ceremony", session_id), (*new.undo, restore), (archive, new.command), has_steps=True),
        LibraryTrial(take, new.undo, (new.command, assist)),
        LibraryTrial((*proposals, "--undo"), new.undo, (new.command, assist, take)),
        LibraryTrial(("next", session_id), undone_by=gone),
        LibraryTrial(
            ("next", session_id),
            (*_gone("book", TITLE), ("book", "add", "The Lamp", session_id)),
            (("book", "remove", "The Lamp", session_id),),
            gone,
        ),
        *_of_carried_lines(session_id, gone),
        LibraryTrial(("import", "whole.json"), undone_by=gone),
        LibraryTrial(("import", "chat.jsonl"), undone_by=gone),
    ]


def _of_characters(session_id: str, gone: Callable[[Torturer], None]) -> list[LibraryTrial]:
    """Return changes of a character by hand, and one that is taken into a chapter that is not locked."""
    pause, resume = ("cast", "pause", "Kara"), ("cast", "resume", "Kara")
    group = ("cast", "set", "Kara", "--group")
    trait, topic = ("cast", "trait", "Kara", "Stubborn"), ("cast", "topic", "Kara", "The tide")
    return [
        LibraryTrial(pause, (resume,)),
        LibraryTrial(resume, (), (pause,)),
        LibraryTrial((*group, "Crew"), ((*group, GENERAL),)),
        *(LibraryTrial(one, ((*one, "--remove"),)) for one in (trait, topic)),
        *(LibraryTrial((*one, "--remove"), (), (one,)) for one in (trait, topic)),
        LibraryTrial(
            ("cast", "take", "Mara", "last"),
            _gone("cast", "Mara"),
            (("cast", "import", "mara.json"), ("next", session_id)),
            gone,
        ),
    ]


def _of_carried_lines(session_id: str, gone: Callable[[Torturer], None]) -> list[LibraryTrial]:
    """Return what the GM does with the lines that come over into the next chapter, up to its lock."""
    following = ("next", session_id)
    pin, strike, lock = (
        ("operation", name, session_id) for name in ("pin a line", "strike a line", "lock the next")
    )
    return [
        LibraryTrial(pin, (), (following,), gone),
        LibraryTrial(strike, (), (following,), gone),
        LibraryTrial(lock, (), (following, pin), gone, has_steps=True),
    ]


def _gone(group: str, name: str) -> tuple[Command, Command]:
    return (group, "archive", name), (group, "purge", name, "--yes")


def _operations(session_id: str, name: str, back: str) -> LibraryTrial:
    return LibraryTrial(("operation", name, session_id), (("operation", back, session_id),))


def _kill(
    torturer: Torturer, trial: LibraryTrial, point: Point, before: State, after: State, played: UUID
) -> None:
    ended, done = torturer.run([point], *trial.command, most_turns=1)
    assert done.killed == [point]
    # What was imported has no calls of its own, so the reader's rules are not for it.
    torturer.look(only=played)
    now = _state(torturer)
    assert trial.has_steps or now in (before, after), f"{point} of {trial.command}: half of it was stored"
    assert ended.returncode or now == after, f"{point} of {trial.command}: it says that it is done"
    if now != after:
        _do(torturer, *trial.command)
        assert _state(torturer) == after


def _prepared(torturer: Torturer, trial: LibraryTrial) -> State:
    for command in trial.before:
        _do(torturer, *command)
    return _state(torturer)


def _undo(torturer: Torturer, trial: LibraryTrial) -> None:
    if trial.undone_by is not None:
        trial.undone_by(torturer)
    for command in trial.undo:
        _do(torturer, *command)


def _without_chapters(kept: Collection[str], torturer: Torturer) -> None:
    """Delete every chapter but these."""
    torturer.forget()
    for one in _others(torturer, kept):
        _do(torturer, "archive", one)
        _do(torturer, "purge", one, "--yes")


def _others(torturer: Torturer, kept: Collection[str]) -> list[str]:
    with served(torturer) as url:
        return [str(one) for (one,) in rows(url, "SELECT id FROM session") if str(one) not in kept]


def _do(torturer: Torturer, *arguments: str | Path) -> None:
    """Run an operation of the tests or a command of the program to its end, without a kill."""
    home, settings = torturer.home, torturer.environment
    is_ours = arguments[0] == "operation"
    ended = torturer.run([], *arguments)[0] if is_ours else home.call(*arguments, **settings)
    assert ended.returncode == 0, f"{arguments}: {ended.stderr}"


def _state(torturer: Torturer) -> State:
    """Return everything that is in the library, and raise AssertionError where some of it is half there."""
    with served(torturer) as url:
        assert rows(url, _LOOSE) == [], "a part of something is missing"
        return tuple(tuple(rows(url, query)) for query in _STATE)
