"""Chapter scripts: TOML files with set-up, cast and prompts, to be played without a screen.

All problems of a file are reported at once. TOML's own errors name line and column; every other problem names
its field, as in `prompt 4: to`. Text is cleaned before it is measured, and stripped of white space around it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from core.config.files.bounded_file import FileTooLargeError, read_bounded
from core.domain.audience import Audience
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.language import LANGUAGES, Language, read_language
from core.domain.session.limits import LONGEST_NAME, Limits
from core.domain.session.lore import MOST_BOOKS
from core.domain.session.profile import (
    GENERAL,
    LONGEST_SHORT_DESCRIPTION,
    NO_PROFILE,
    Profile,
    Profiles,
    cleaned_profile,
    problems_of_profile,
)
from core.domain.session.prompt_block import PromptBlocks
from core.domain.slot import Slot
from core.domain.story.secret import Secret
from core.exchange.scripts.blocks import read_prompt_blocks
from core.exchange.scripts.fields import FieldReader, ScriptProblem, kind_of, quoted
from core.exchange.scripts.prompts import ScriptPrompt, lines_of, read_prompts
from core.exchange.scripts.scene import read_secrets, read_silence
from core.text.canonical_json import canonical, checksum
from core.text.cleaning import clean_line, is_blank
from core.text.name_list import name_key, problems_of_groups
from core.text.numbers import counted

MAX_FILE_BYTES = 5_000_000
MAX_TITLE = 120
_SHOWN_PROBLEMS = 20
_LIMITS = Limits()
FILE_KEYS = (
    *("book", "title", "world", "chapter", "narrative", "target_words", "viewpoint", "variant", "silence"),
    *("lore", "bank", "language"),
    *("agent", "secret", "block", "prompt"),
)
CHARACTER_KEYS = ("name", "identity", "short_description", "aliases", "group", "groups_visible")


class ChapterScriptError(StoryEngineError):
    """A chapter script that cannot be played; `problems` has all of them, in reading order."""

    def __init__(
        self,
        problems: Sequence[ScriptProblem],
        source: str = "The chapter script",
        code: ErrorCode = ErrorCode.ILLEGAL_COMMAND,
    ) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(code, f"{source} cannot be played: {self.problems[0]}")
            return
        lines = [str(problem) for problem in self.problems[:_SHOWN_PROBLEMS]]
        if len(self.problems) > _SHOWN_PROBLEMS:
            lines.append(f"… and {len(self.problems) - _SHOWN_PROBLEMS:,} more")
        message = f"{source} cannot be played: {counted(len(self.problems), 'problem')} in it."
        super().__init__(code, message, "\n" + "\n".join(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCharacter:
    """A character of the script; `name` is never blank, but may be the slot's default."""

    slot: Slot
    name: str
    identity: str
    profile: Profile = NO_PROFILE


@dataclass(frozen=True, kw_only=True)
class ChapterScript:
    """A chapter script that passed every check."""

    title: str
    world: str
    chapter: str
    definition: str
    """The GM's definition of the narrative agent (`narrative` in the file); may be empty."""
    target_words: int | None
    cast: tuple[ScriptCharacter, ...]
    prompts: tuple[ScriptPrompt, ...]
    prompt_blocks: PromptBlocks
    """Those of the file (`[[block]]`), and its `variant`; where it has neither, those of the chapter stay."""
    secrets: tuple[Secret, ...] = ()
    silence: Audience | None = None
    """Those who may act without words or say nothing; where the script does not say, the chapter stays."""
    lore: tuple[str, ...] = ()
    """The names of lorebooks of the library."""
    book: str = ""
    """The title of the book that the chapter belongs to; empty for none."""
    viewpoint: Slot | None = None
    """The character whose viewpoint the narrative has; None for all of the chapter."""
    keeps_bank: bool | None = None
    """Whether the chapter keeps a memory bank; where the script does not say, the chapter stays."""
    language: Language | None = None
    """The language of the story; where the script does not say, the chapter stays."""

    @property
    def lines(self) -> tuple["ChapterScript", ...]:
        """The script up to its first branch, and then that of each branch, from prompt 1 on."""
        return tuple(replace(self, prompts=prompts) for prompts in lines_of(self.prompts))

    @property
    def branching(self) -> ScriptPrompt | None:
        """The first prompt of its own, in a line that is played in a branch."""
        return next((prompt for prompt in self.prompts if prompt.branch_at), None)

    @property
    def length(self) -> int:
        """Number of prompts in the finished chapter, undone ones not counted."""
        return sum(not prompt.is_undone for prompt in self.prompts)

    @property
    def names(self) -> Mapping[Slot, str]:
        """Names that differ from their slot's default, as in a session."""
        return {one.slot: one.name for one in self.cast if one.name != one.slot.default_name}

    @property
    def profiles(self) -> Profiles:
        """Data of the script's characters besides name and identity."""
        return {one.slot: one.profile for one in self.cast if one.profile}

    @cached_property
    def key(self) -> str:
        """SHA-256 of the set-up in hexadecimal, by which a second run finds its session.

        It does not cover prompts, secrets, prompt blocks, lorebooks and the settings of the narrative, which
        may change while the chapter is played.
        """
        setup = {
            "title": self.title,
            "world": self.world,
            "chapter": self.chapter,
            "agents": [[one.name, one.identity] for one in self.cast],
            **({"book": self.book} if self.book else {}),
            **({"profiles": list(map(_key_of, self.cast))} if self.profiles else {}),
        }
        return checksum(canonical(setup))


def _key_of(one: ScriptCharacter) -> list[object]:
    told = one.profile
    return [told.short_description, list(told.aliases), told.group, list(told.groups_visible)]


def load_chapter_script(path: Path) -> ChapterScript:
    """Read and check the file at `path`, blocking; raise ChapterScriptError with all problems."""
    source = clean_line(path.name) or "The chapter script"
    try:
        content = read_bounded(path, MAX_FILE_BYTES)
    except FileTooLargeError as error:
        problem = ScriptProblem("the file", f"is larger than {MAX_FILE_BYTES // 1_000_000} MB.")
        raise ChapterScriptError([problem], source) from error
    except OSError as error:
        problem = ScriptProblem("the file", f"cannot be read ({error.strerror or error}).")
        raise ChapterScriptError([problem], source, ErrorCode.STORAGE_LOAD_FAILED) from error
    try:
        return parse_chapter_script(_decode(content))
    except ChapterScriptError as error:
        raise ChapterScriptError(error.problems, source) from error


def parse_chapter_script(text: str) -> ChapterScript:
    """Check the TOML in `text`; raise ChapterScriptError with all problems."""
    text = text.removeprefix("\ufeff")
    if is_blank(text):
        raise ChapterScriptError([ScriptProblem("the file", "is empty.")])
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ChapterScriptError([_toml_problem(error)]) from error
    except (ValueError, RecursionError) as error:
        # Limits of Python rather than TOML: digits of a number, depth of nested brackets.
        problem = ScriptProblem("the file", "has a number too long, or brackets too deep, to be read.")
        raise ChapterScriptError([problem]) from error
    return _script_of(FieldReader(document))


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        problem = ScriptProblem("the file", "is UTF-16; save it as UTF-8 and try again.")
        raise ChapterScriptError([problem])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = ScriptProblem(f"line {line}", "is not UTF-8; save the file as UTF-8 and try again.")
        raise ChapterScriptError([problem]) from error


def _toml_problem(error: tomllib.TOMLDecodeError) -> ScriptProblem:
    """Split tomllib's message, such as `Invalid value (at line 3, column 5)`, into place and cause."""
    cause, _, place = str(error).rpartition(" (at ")
    location = place.removesuffix(")")
    if location == "end of document":
        location = "the end of the file"
    return ScriptProblem(location or "the file", f"is not valid TOML: {clean_line(cause)}.")


def _script_of(script: FieldReader) -> ChapterScript:
    """Return what a parsed document says; raise ChapterScriptError with all problems."""
    script.refuse_unknown(FILE_KEYS)
    book = clean_line(script.text("book", LONGEST_NAME))
    title = clean_line(script.text("title", MAX_TITLE))
    world = script.text("world", _LIMITS.world, is_required=True)
    chapter = script.text("chapter", _LIMITS.chapter, is_required=True)
    definition = script.text("narrative", _LIMITS.definition)
    stated = script.table
    target_words = script.number("target_words", (1, _LIMITS.draft_words), 0) or None
    cast = _read_cast(script)
    script.cast.update({one.slot: one.name for one in cast})
    prompt_blocks = read_prompt_blocks(script)
    viewpoint = script.slot_of("viewpoint", stated["viewpoint"]) if "viewpoint" in stated else None
    silence = read_silence(script)
    secrets = read_secrets(script)
    lore, keeps_bank = read_lore(script), _read_bank(script)
    language = _read_language(script)
    prompts = read_prompts(script)
    if script.problems:
        raise ChapterScriptError(script.problems)
    return ChapterScript(
        book=book,
        title=title,
        world=world,
        chapter=chapter,
        definition=definition,
        target_words=target_words,
        cast=cast,
        prompts=prompts,
        prompt_blocks=prompt_blocks,
        secrets=secrets,
        silence=silence,
        lore=lore,
        viewpoint=viewpoint,
        keeps_bank=keeps_bank,
        language=language,
    )


def _read_bank(script: FieldReader) -> bool | None:
    stated = script.table.get("bank")
    if stated is None or isinstance(stated, bool):
        return stated
    script.report("bank", "must be true or false.")
    return None


def _read_language(script: FieldReader) -> Language | None:
    stated = script.table.get("language")
    language = read_language(stated) if isinstance(stated, str) else None
    if stated is not None and language is None:
        script.report("language", f"must be one of {LANGUAGES}.")
    return language


def _read_cast(script: FieldReader) -> tuple[ScriptCharacter, ...]:
    tables = script.tables("agent")
    if tables is None:
        return ()
    if not 1 <= len(tables) <= len(Slot):
        number = f"occurs {len(tables)} times" if tables else "is missing"
        script.report("[[agent]]", f"{number}; a chapter has 1 to {len(Slot)} characters.")
    found: list[ScriptCharacter] = []
    # Characters beyond the seventh are one problem, reported above; their contents are not checked.
    for slot, reader in zip(Slot, tables, strict=False):
        reader.refuse_unknown(CHARACTER_KEYS)
        name = _read_name(reader, slot, found)
        identity = reader.text("identity", _LIMITS.identity)
        profile = reader.profiles[slot] = _read_profile(reader)
        found.append(ScriptCharacter(slot=slot, name=name, identity=identity, profile=profile))
    return tuple(found)


def _read_profile(reader: FieldReader) -> Profile:
    profile = cleaned_profile(
        Profile(
            short_description=reader.text("short_description", LONGEST_SHORT_DESCRIPTION),
            group=reader.text("group", LONGEST_NAME),
            aliases=reader.lines("aliases"),
            groups_visible=reader.lines("groups_visible", (GENERAL,)),
        )
    )
    groups = (profile.group, *profile.groups_visible)
    for problem in (*problems_of_profile(profile), *problems_of_groups(groups, ())):
        location = reader.owner.removesuffix(": ")
        reader.problems.append(ScriptProblem(location, f"is not possible: {problem}"))
    return profile


def _read_name(reader: FieldReader, slot: Slot, earlier: Sequence[ScriptCharacter]) -> str:
    name = reader.text("name", _LIMITS.name)
    if "\n" in name:
        reader.report("name", "must be on one line.")
    name = clean_line(name) or slot.default_name
    for one in earlier:
        if name_key(one.name) == name_key(name):
            reader.report("name", f"= {quoted(name)} is already the name of agent {one.slot.value}.")
    return name


def read_lore(script: FieldReader) -> tuple[str, ...]:
    """Return the names, each once; those that cannot be names are reported."""
    names: dict[str, str] = {}
    for value in script.listed("lore"):
        if not isinstance(value, str):
            script.report("lore", f"must be a list of names in quotes, not of {kind_of(value)}.")
        elif not (name := clean_line(value)) or len(name) > LONGEST_NAME:
            script.report("lore", f"must have names of 1 to {LONGEST_NAME} characters.")
        else:
            names.setdefault(name_key(name), name)
    if len(names) > MOST_BOOKS:
        script.report("lore", f"names {len(names)} lorebooks; a chapter has at most {MOST_BOOKS}.")
    return tuple(names.values())
