"""Fuzz targets: each importer, with the invariants of any input.

A target takes the bytes of a file and returns; anything that it raises is a finding. A refusal in a sentence
is none.
"""

import asyncio
import json
import os
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter
from textual.events import Key, MouseEvent, Paste, Resize
from textual.message import Message

from core.config.consent import Consent
from core.config.files.paths import ENV_FILE
from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.dice import read_dice
from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import RequestState
from core.domain.session.prompt_block import cleaned_blocks, problems_of_blocks
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.transcript import render_all
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.exchange.integrity.audiences import problems_of_secrets
from core.exchange.scripts.chapter_script import ChapterScript, ChapterScriptError, load_chapter_script
from core.exchange.scripts.scene import absent_at
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import SessionBody, from_json, read_body, to_json
from core.providers.scripted.provider import ScriptedProvider
from core.text.cleaning import clean
from db.store import open_store
from storyengine_tui.bootstrap import configure
from storyengine_tui.screens.models.settings_file import change_settings
from storyengine_tui.textual_ext.terminal.paste_parser import END, LONGEST_KEY, MOST_CELLS, START, PasteParser
from tools.fuzz_bank import check_bank_edit
from tools.fuzz_library import check_card, check_chat, check_lore
from tools.fuzz_texts import (
    check_asked,
    check_catalogue,
    check_correction,
    check_kept_text,
    check_last_session,
    check_listing,
    check_news,
    check_password_tries,
    check_replies,
    check_vectors,
    require_sentence,
)

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus"
_ANY_SESSION = Session(id=SessionId(new_uuid()), created_at=utc_now(), updated_at=utc_now())
_BODY = TypeAdapter(SessionBody)
CHANGES = {("profiles", "local", "provider"): "scripted", ("model",): None}


@dataclass(frozen=True, slots=True)
class Target:
    """One importer. `suffix` is that of its files; `check` raises when something is wrong."""

    name: str
    suffix: str
    check: Callable[[bytes], None]

    @property
    def corpus(self) -> Path:
        """The files that are kept: seeds, and whatever was ever found."""
        return CORPUS / self.name

    @property
    def kept(self) -> list[Path]:
        """The files of the corpus, in the same order everywhere."""
        return sorted(self.corpus.glob(f"*{self.suffix}"))


def check_play_file(content: bytes) -> None:
    """A play file is read whole or refused in sentences; what is read is clean and within its limits."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as folder:
        file = Path(folder) / "chapter.toml"
        file.write_bytes(content)
        try:
            script = load_chapter_script(file)
        except ChapterScriptError as error:
            require_sentence(error)
            return
    texts = [script.title, script.world, script.chapter, script.definition]
    texts += [text for one in script.cast for text in (one.name, one.identity)]
    texts += [prompt.text for prompt in script.prompts]
    texts += [secret.text for secret in script.secrets]
    texts += [line.text for prompt in script.prompts for line in prompt.lines]
    assert all(clean(text) == text for text in texts), "a text that is not clean got in"
    assert cleaned_blocks(script.prompt_blocks) == script.prompt_blocks, (
        "a prompt block that is not clean got in"
    )
    assert not any(problems_of_blocks(script.prompt_blocks)), "a prompt block that cannot be stored got in"
    assert 1 <= len(script.cast) <= 7
    cast = {one.slot for one in script.cast}
    assert {prompt.slot for prompt in script.prompts} <= cast
    check_scene_of_script(script, cast)
    assert script.key == script.key
    for line in script.lines:
        in_order = [prompt.index for prompt in line.prompts if not prompt.is_undone]
        assert in_order == list(range(1, line.length + 1)), "a line of prompts has a gap"


def check_scene_of_script(script: ChapterScript, cast: set[Slot]) -> None:
    """Those who know something play in the chapter, and dice and secrets have their bounds."""
    audiences = [secret.known_by for secret in script.secrets]
    audiences += [secret.reveal_to for secret in script.secrets if secret.reveal_to is not None]
    for prompt in script.prompts:
        known = (prompt.audience, prompt.present, *(line.audience for line in prompt.lines))
        audiences += [audience for audience in known if audience is not None]
        assert prompt.audience is None or prompt.slot in prompt.audience, "the one addressed does not hear it"
        absent = absent_at(prompt.away, prompt.index)
        assert prompt.slot not in absent, "a prompt to one who is away got in"
        assert absent.keys() < cast, "nobody stays in the scene"
        assert all(read_dice(line.text).notation == line.text for line in prompt.lines if line.is_roll)
    assert all(audience.is_everyone or audience.slots <= cast for audience in audiences)
    assert script.silence is None or script.silence.is_everyone or script.silence.slots <= cast
    numbers = tuple(range(1, len(script.secrets) + 1))
    assert tuple(secret.number for secret in script.secrets) == numbers
    assert not list(problems_of_secrets(_ANY_SESSION, script.secrets)), (
        "a secret that cannot be stored got in"
    )
    assert script.viewpoint is None or script.viewpoint in cast


def check_session(content: bytes) -> None:
    """An export is read, and then is the same when written again, or it is refused in a sentence."""
    body = _body(content)
    if body is not None:
        assert from_json(to_json(body)) == body, "what is read is not what is written"
        as_new_session(body, SessionId(new_uuid()))


def _body(content: bytes) -> SessionBody | None:
    try:
        return from_json(content)
    except StoryEngineError as error:
        require_sentence(error)
        return None


def check_config(content: bytes) -> None:
    """A config.toml gives settings or a sentence, and is changed exactly or not at all."""
    with _place() as folder:
        file = folder / "config.toml"
        file.write_bytes(content)
        file.chmod(0o600)
        _configured()
        try:
            change_settings(file, CHANGES)
        except StoryEngineError as error:
            require_sentence(error)
            assert file.read_bytes() == content, "a refused change changed the file"
            return
        _configured()


def check_env(content: bytes) -> None:
    """An .env gives settings or a sentence."""
    with _place() as folder:
        file = folder / ENV_FILE
        file.write_bytes(content)
        file.chmod(0o600)
        _configured()


def check_consent(content: bytes) -> None:
    """A damaged consent.json grants nothing that it does not plainly say."""
    with _place() as folder:
        file = folder / "consent.json"
        file.write_bytes(content)
        for url in Consent((), file).granted():
            host = url.partition("://")[2].partition("/")[0].partition(":")[0]
            assert host.strip("[]").encode() in content.lower().replace(b"\\", b""), "an address from nowhere"


def check_terminal(content: bytes) -> None:
    """Whatever bytes a terminal sends are messages that a screen can take; what comes after them is heard."""
    now = 0.0
    parser = PasteParser(clock=lambda: now)
    decode = getincrementaldecoder("utf-8")(errors="replace").decode
    for part in (content[: len(content) // 2], content[len(content) // 2 :]):
        for message in parser.feed(decode(part)):
            _take(message)
    now += LONGEST_KEY
    for message in parser.tick():
        _take(message)
    *_, paste = parser.feed(f"{START}the end{END}")
    assert isinstance(paste, Paste), "a paste after it is lost"
    assert paste.text.endswith("the end"), "a paste after it is lost"
    *_, key = parser.feed("x" * 40)
    assert isinstance(key, Key), "what is typed after it is lost"
    assert key.character == "x", "what is typed after it is lost"


def _take(message: Message) -> None:
    match message:
        case Key(key=key, character=character):
            f"{key}{character}".encode()
        case Resize(size=size):
            assert all(1 <= cells <= MOST_CELLS for cells in size), "no terminal is so large"
        case MouseEvent():
            assert min(message.x, message.y) >= 0, "a place outside of the screen"
            assert max(message.x, message.y) <= MOST_CELLS, "a place outside of the screen"


def _configured() -> None:
    try:
        repr(configure())
    except StoryEngineError as error:
        require_sentence(error)


@contextmanager
def _place() -> Iterator[Path]:
    """A directory of its own, as settings and as where the program was started."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as name:
        before = {key: text for key, text in os.environ.items() if key.startswith("STORYENGINE_")}
        for key in before:
            del os.environ[key]
        os.environ |= {"STORYENGINE_CONFIG_DIR": name, "STORYENGINE_DATA_DIR": f"{name}/data"}
        try:
            with chdir(name):
                yield Path(name)
        finally:
            for key in ("STORYENGINE_CONFIG_DIR", "STORYENGINE_DATA_DIR"):
                os.environ.pop(key, None)
            os.environ |= before


class Importing:
    """An export with a right checksum goes into a real database, is opened, shown, exported and closed again.

    Whoever makes a file can make its checksum, so what that lets through must still be refused, or work.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.accepted = 0
        """Number of files that a right checksum and form let through to the database."""

    def check(self, content: bytes) -> None:
        """Raise when the import, or anything after it, fails otherwise than in a sentence."""
        body = _body(content)
        if body is not None:
            self.accepted += 1
            asyncio.run(self._live(body))

    async def _live(self, body: SessionBody) -> None:
        store = await open_store(self._url)
        engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="fuzz")
        session_id = SessionId(new_uuid())
        try:
            async with asyncio.timeout(60):
                await store.chapters.create(as_new_session(body, session_id))
                session = await engine.open(session_id)
                try:
                    render_all(await session.reads.canon(), session.snapshot.session)
                    await session.reads.drafts()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(2):
                            await session.wait_idle()
                    await _play_on(session)
                    await engine.save_points.keep(session_id, "fuzz")
                    await engine.sessions()
                finally:
                    await session.aclose()
                # What was played on it is whole as well, and is exported and read again as it is.
                written = to_json(await read_body(store, session_id))
                assert to_json(from_json(written)) == written, "what was let in cannot be let in again"
        except StoryEngineError as error:
            require_sentence(error)
        finally:
            await engine.aclose()


async def _play_on(session: SessionHandle) -> None:
    """One more prompt gets its reply where prompts can be played, and moves the pointer by one."""
    before = session.snapshot.session
    if before.state is not SessionState.ACTIVE:
        return
    request = await session.wait(await session.submit_prompt(before.next_slot, "One more prompt."))
    await session.wait_idle()
    assert request.state is RequestState.DONE, f"the next prompt fails: {request.error_message}"
    assert session.snapshot.session.prompt_index == before.prompt_index + 1, "the pointer does not count it"


TARGETS = (
    Target("play", ".toml", check_play_file),
    Target("session", ".json", check_session),
    Target("config", ".toml", check_config),
    Target("env", ".env", check_env),
    Target("consent", ".json", check_consent),
    Target("terminal", ".keys", check_terminal),
    Target("replies", ".toml", check_replies),
    Target("tries", ".json", check_password_tries),
    Target("correction", ".txt", check_correction),
    Target("asked", ".txt", check_asked),
    Target("last-session", ".txt", check_last_session),
    Target("kept-text", ".txt", check_kept_text),
    Target("catalogue", ".toml", check_catalogue),
    Target("listing", ".http", check_listing),
    Target("news", ".txt", check_news),
    Target("vectors", ".json", check_vectors),
    Target("cards", ".png", check_card),
    Target("cards-json", ".json", check_card),
    Target("charx", ".charx", check_card),
    Target("lore", ".json", check_lore),
    Target("chats", ".jsonl", check_chat),
    Target("bank-edit", ".txt", check_bank_edit),
)


def signed(body: object) -> bytes:
    """Return an export with a right checksum, as whoever forges one would make it."""
    plain = json.dumps(body)
    try:
        return to_json(_BODY.validate_json(plain))
    except ValueError:
        # What has not the form of an export needs no right checksum: that is looked at later.
        document = {"format": "storyengine-session", "version": 1, "sha256": "0" * 64, "body": body}
        return json.dumps(document).encode()
