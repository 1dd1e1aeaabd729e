"""Fuzz targets for inputs of one part of the program: replies, password tries, models, messages."""

import json
import math
import tempfile
from pathlib import Path

from pydantic import SecretStr

from core.agents.assist import AssistRequest, read_proposal, require_possible
from core.agents.context_builder import ContextBuilder
from core.config.files.paths import Paths
from core.config.models.assignments import defaults_for
from core.config.models.model_config import PromptStyle
from core.config.password import LONGEST_DELAY, PasswordGate, PasswordRefusedError
from core.config.sections import LONGEST_MODEL_NAME
from core.domain.errors import StoryEngineError
from core.domain.session.limits import LONGEST_CORRECTION, Limits
from core.domain.story.memory import BlockType
from core.engine.decisions.commands import correct_canon
from core.exchange.integrity.session import problems_of_memory
from core.providers.base import MAX_NAME_LENGTH
from core.providers.discovery import MOST_MODELS, read_listing
from core.providers.embedding.base import MOST_DIMENSIONS
from core.providers.embedding.service import read_embedding
from core.providers.local.catalogue import is_address_allowed, read_catalogue
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Script, load_script
from core.storage.queue_store import MAX_MESSAGE_CHARACTERS, parse_message
from core.text.cleaning import clean, clean_line, has_controls, is_blank
from storyengine_tui.screens.chapter.last_session import read_last_panel, read_last_session
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.dialogs.form_modal import read_fields
from tests.core.rooms.simulation import active

NOW = 1_800_000_000.0


def require_sentence(error: StoryEngineError) -> None:
    """Check that a refusal is a sentence, and that nothing of the refused text acts through it."""
    for text in (error.message, error.hint):
        assert clean(text) == text, f"a refusal repeats what it refuses: {text!r}"
    assert error.message, "a refusal says nothing"
    assert len(str(error)) < 20_000, "a refusal is longer than anyone reads"


def check_replies(content: bytes) -> None:
    """A file of replies is read whole or refused in a sentence, as TOML and as JSON."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as folder:
        for suffix in (".toml", ".json"):
            file = Path(folder) / f"replies{suffix}"
            file.write_bytes(content)
            try:
                script = load_script(file)
            except StoryEngineError as error:
                require_sentence(error)
                continue
            assert Script.model_validate(script.model_dump(by_alias=True)) == script
            ScriptedProvider(script)


def check_catalogue(content: bytes) -> None:
    """A catalogue of models is read whole or refused in a sentence; what is read leads to no odd place."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as folder:
        file = Path(folder) / "catalogue.toml"
        file.write_bytes(content)
        try:
            entries = read_catalogue(file)
        except StoryEngineError as error:
            require_sentence(error)
            return
    for entry in entries:
        shown = (entry.name, entry.title, entry.licence, entry.quantisation, entry.hash_source, entry.source)
        assert all(clean_line(text) for text in shown), "a text of an entry shows nothing"
        assert not any(has_controls(text) for text in shown), "a text that acts got in"
        assert Path(entry.file_name).name == entry.file_name, "a file outside of the folder"
        assert all(" --hash=sha256:" in part.requirement for part in entry.parts), "a part without a hash"
        assert entry.address is None or is_address_allowed(entry.address)


def check_listing(content: bytes) -> None:
    """Whatever a server of this machine answers, only a few plain names of models are taken from it."""
    listing = read_listing(content)
    if listing is not None:
        assert len(listing.models) <= MOST_MODELS
        assert all(0 < len(name) <= LONGEST_MODEL_NAME for name in listing.models)
        assert not any(has_controls(name) or is_blank(name) for name in listing.models)


def check_vectors(content: bytes) -> None:
    """Of any answer of a service to two texts, two directions are taken, or it is refused in a sentence."""
    try:
        made = read_embedding(content, 2, "asked")
    except StoryEngineError as error:
        require_sentence(error)
        return
    first, second = made.vectors
    assert 0 < len(first) == len(second) <= MOST_DIMENSIONS
    assert all(abs(math.hypot(*vector) - 1) < 1e-6 for vector in made.vectors)
    assert len(made.model) <= MAX_NAME_LENGTH
    assert not has_controls(made.model)


def check_password_tries(content: bytes) -> None:
    """A damaged record of tries neither opens the gate nor closes it for longer than the longest delay."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as folder:
        file = Path(folder) / "tries.json"
        file.write_bytes(content)
        gate = PasswordGate(SecretStr("not a hash"), file, lambda: NOW)
        wait = gate.wait
        assert 0 <= wait <= LONGEST_DELAY, "a delay that nobody can wait out"
        assert gate.wait == wait, "a look at the delay changes it"
        try:
            gate.check(SecretStr("guess"))
        except PasswordRefusedError as error:
            require_sentence(error)
        else:
            raise AssertionError("a wrong password opens the gate")
        if wait == 0:
            assert json.loads(file.read_bytes())["wrong"] >= 1, "a wrong try is not counted"


def check_asked(content: bytes) -> None:
    """A question about a text is read clean and within bounds, or refused in a sentence.

    Behind its first line the file has an answer; a proposal that is taken from that fits its field.
    """
    question, _, answer = content.decode("utf-8", "replace").partition("\n")
    try:
        asked = AssistRequest.from_text(question)
        assert clean(asked.text) == asked.text, "a text that is not clean got in"
        assert AssistRequest.from_text(asked.to_text()) == asked
        require_possible(asked)
        made = read_proposal(asked, answer, is_unfinished=False, style=PromptStyle.FULL)
    except StoryEngineError as error:
        require_sentence(error)
        return
    taken = asked.with_proposal(made.text)
    assert clean(taken) == taken, "a proposal that is not clean got in"
    assert len(taken) <= asked.limit, "a proposal does not fit its field"
    assert not asked.task.adds or is_blank(asked.text) or taken.startswith(asked.text)


def check_correction(content: bytes) -> None:
    """A correction is stored clean and within its bounds, as valid memory, or refused in a sentence."""
    simulation = active()
    before = simulation.snapshot
    known = {*problems_of_memory(before.session, before.blocks)}
    builder = ContextBuilder(defaults_for("scripted"))
    try:
        changes = correct_canon(before, builder, content.decode("utf-8", "replace"), simulation.now)
    except StoryEngineError as error:
        require_sentence(error)
        return
    simulation.store(changes)
    after = simulation.snapshot
    block = after.blocks[-1]
    assert block.type is BlockType.CANON_CORRECTION
    assert len(after.blocks) == len(before.blocks) + 1, "something else was stored"
    said = block.payload["correction"]
    assert isinstance(said, str)
    assert clean(said) == said, "a text that is not clean got in"
    assert 0 < len(said) <= LONGEST_CORRECTION
    assert not is_blank(said), "a correction without a text"
    assert not {*problems_of_memory(after.session, after.blocks)} - known, "memory is damaged"


def check_kept_text(content: bytes) -> None:
    """A damaged file of a text that was begun gives a clean text, or none, and texts of fields or none."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as name:
        kept = KeptText(Path(name) / "correction")
        kept.file.write_bytes(content)
        text = kept.read()
        assert clean(text) == text, "a text that is not clean got in"
        kept.keep(text)
        assert kept.read() == text, "what is kept is read otherwise"
        kept.file.write_bytes(content)
        assert all(isinstance(text, str) for text in read_fields(kept).values())


def check_last_session(content: bytes) -> None:
    """A damaged note of the last session names one, or none, and a panel that fits on the screen."""
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-") as name:
        folder = Path(name)
        (folder / "last-session").write_bytes(content)
        paths = Paths(data=folder, config=folder, logs=folder, downloads=folder)
        read_last_session(paths)
        panel = read_last_panel(paths)
        assert panel is None or clean_line(panel.name) == panel.name, "a name that is not clean got in"
        assert panel is None or len(panel.name) <= Limits().name, "a name that no character can have"


def check_news(content: bytes) -> None:
    """A message between windows says one thing or is none of ours; any program can send one."""
    payload = content.decode("utf-8", errors="replace")
    message = parse_message(payload)
    if message is None:
        return
    assert len(payload) <= MAX_MESSAGE_CHARACTERS, "a message that is too long was read"
    assert parse_message(message.payload) == message, "what is read is not what is sent"
    assert message.payload.partition(":")[0] == payload.partition(":")[0], "it says something else"
    assert not (message.request_id and message.account), "it is of a request and of an account"
