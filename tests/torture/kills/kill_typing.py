"""Kills while the GM types without a pause: a prompt, the world, the definition, a prompt block and more.

The program dies, or all of it; or PostgreSQL alone: then the program goes on, and stores all that was typed.
"""

import time
from dataclasses import dataclass
from itertools import product

import psycopg

from tests.e2e.terminal.game_master import GameMaster
from tests.torture.kills.dying_program import kill_server
from tests.torture.kills.kill_matrix import ROOT, Torturer
from tests.torture.kills.kill_orders import Point, Victim
from tests.torture.kills.kill_storage import clear, play_one, rows, served
from tests.torture.readers.reader import Reader

_BETWEEN_KEYS = 0.05
"""Seconds between two keys of a GM who never pauses."""
PROMISED = 1.0
"""Seconds after which what was typed must be stored."""
_BACK = 60.0
"""Seconds that a program may take to store what was typed, once its database was killed."""


@dataclass(frozen=True)
class Field:
    """A field that the GM types in: the chapter's preparation, the keys to it, and its place in the store.

    The way is of keys, and of what shows then. It is stored where a query says, or in files.
    """

    name: str
    until: str
    way: tuple[tuple[tuple[str, ...], str], ...]
    stored: str = ""
    files: str = ""


CAN_WRITE = "End Chapter (F8)"
"""Shows once the chapter is open to write; before that, the palette does not list what writes."""
UNENDED = "end of the chapter wanted: before"
FIELDS = (
    Field("a prompt", UNENDED, (((), "━ To "),), "SELECT text FROM unsent_text"),
    Field("the world", "lock begun: before", ((("f2", "end"), "World"),), "SELECT world FROM tab1_input"),
    Field(
        "the definition",
        "narrative begun: before",
        ((("f4",), "How to write it"),),
        "SELECT definition FROM session",
    ),
    Field(
        "a prompt block",
        UNENDED,
        (
            ((), "being played"),
            (("ctrl+p", *"prompt b"), "Your own rules"),
            (("enter",), "· variant"),
            (("n",), "keep in mind"),
        ),
        "SELECT blocks::text FROM prompt_blocks",
    ),
    Field(
        "a correction",
        UNENDED,
        (((), "being played"), (("f4",), "as they were locked"), (("+",), "Correct memory")),
        files="correction-*",
    ),
    Field(
        "a line of the GM",
        UNENDED,
        (
            ((), CAN_WRITE),
            (("ctrl+p", *"add a line"), "Tell what happens"),
            (("enter",), "no character answers"),
        ),
        files="line-*",
    ),
    Field(
        "a reply",
        UNENDED,
        (((), CAN_WRITE), (("ctrl+p", *"correct the r"), "Write the newest"), (("enter",), "another take")),
        files="reply.*",
    ),
)
ROUNDS = tuple(product(FIELDS, (Victim.PROGRAM, Victim.ALL, Victim.POSTGRES)))


def kill_typing(torturer: Torturer, count: int) -> None:
    """Kill the screen, its database or both while the GM types: what is older than a second is stored."""
    torturer.home.write("replies.toml", "")
    played: Field | None = None
    for number in range(count):
        field, victim = ROUNDS[number % len(ROUNDS)]
        if played != field:
            clear(torturer)
            torturer.forget()
            (torturer.home.data / "last-session").unlink(missing_ok=True)
            play_one(torturer, f"Typed {number}", until=field.until)
            played = field
        typed = type_until(torturer, field, torturer.random.uniform(1.5, 3.5), victim, f"n{number}")
        torturer.figures.killed.append(Point(f"the GM types {field.name}", victim))
        stored = stored_in(torturer, field) + kept_at_start(torturer)
        with served(torturer) as url:
            Reader().check(url)
        lost = [word for word in typed if word not in stored]
        torturer.figures.typed += sum(map(len, typed))
        torturer.figures.typed_lost += sum(map(len, lost))
        assert not lost, f"typed more than {PROMISED:.0f} s before the kill, and gone: {lost}"


def type_until(torturer: Torturer, field: Field, seconds: float, victim: Victim, mark: str) -> list[str]:
    """Type words for so long, then kill; return those that must be stored."""
    home = torturer.home
    times: list[tuple[float, str]] = []
    environment = {
        "PYTHONPATH": str(ROOT),
        "STORYENGINE_PROVIDER": "scripted",
        "STORYENGINE_SCRIPT": str(home.work / "replies.toml"),
    }
    with GameMaster(home, environment) as window:
        window.wait_for("F1 Help")
        for keys, shown in field.way:
            window.press(*keys)
            window.wait_for(shown)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            times.append((time.monotonic(), _type_word(window, f"{mark}w{len(times)}.")))
        with served(torturer) as address:
            url = address
        at = time.monotonic()
        if victim is not Victim.PROGRAM:
            kill_server(torturer.server_home, with_supervisor=victim is Victim.ALL)
        if victim is Victim.POSTGRES:
            words = [word for _, word in times]
            words += [_type_word(window, f"{mark}v{number}.") for number in range(5)]
            _wait_until_stored(torturer, url, field, window, words[-1])
            window.kill()
            return words
        window.kill()
    return [word for when, word in times if at - when > PROMISED]


def _type_word(window: GameMaster, word: str) -> str:
    window.type(f"{word} ")
    time.sleep(_BETWEEN_KEYS * len(word))
    return word


def _wait_until_stored(torturer: Torturer, url: str, field: Field, window: GameMaster, word: str) -> None:
    """The program has its database back by itself, and stores what it holds; nobody else starts it."""
    deadline = time.monotonic() + _BACK
    while word not in _stored_if_up(torturer, url, field):
        assert window.process.poll() is None, f"it ended by itself\n{window.text}"
        assert time.monotonic() < deadline, f"not stored in {_BACK:.0f} s\n{window.text}"
        time.sleep(0.2)  # between two questions to another process


def _stored_if_up(torturer: Torturer, url: str, field: Field) -> str:
    try:
        return _stored(torturer, url, field)
    except psycopg.OperationalError:
        return ""


def kept_at_start(torturer: Torturer) -> str:
    """Return what was typed into a start, and was in no field before the kill: the next start has it."""
    early = torturer.home.data / "early-text"
    return early.read_text() if early.exists() else ""


def stored_in(torturer: Torturer, field: Field) -> str:
    """Return what is stored of a field."""
    with served(torturer) as url:
        return _stored(torturer, url, field)


def _stored(torturer: Torturer, url: str, field: Field) -> str:
    if field.files:
        return "\n".join(file.read_text() for file in torturer.home.data.glob(field.files))
    return "\n".join(str(text) for (text,) in rows(url, field.stored))
