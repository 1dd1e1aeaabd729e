"""Docstrings, comments, sentences of the product and commit messages use plain, current English."""

import ast
import io
import re
import shutil
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("core", "db", "migrations", "storyengine_tui")
STRICT = (
    "core",
    "db",
    "storyengine_tui/cli",
    "storyengine_tui/screens/models",
    "storyengine_tui/screens/library/prompt_blocks",
    "storyengine_tui/shell",
    "storyengine_tui/textual_ext",
    "storyengine_tui/widgets",
)
"""Where the stricter patterns hold too; widened by one line for each folder."""
REFUSED = re.compile(
    r"""(?-i:^Have\ (?!no\b))                  # a docstring begins with what the function does
    | \b(?:it|that|they|which)\ (?:is|are)\ (?-i:none)\b
    | \bnobody\b | \bwhoever\b | \bfor\ ever\b | \banew\b | \bupon\b
    | \bheed | \bmend(?:s|ed|ing)?\b | \bdeeds?\b | \bstirs?\b
    | \bas\ it\ stands\b | \blets?\ (?:(?:it|one|them)\ )?go\b(?!\ on)
    | \banybody\b
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
REFUSED_WHERE_STRICT = re.compile(
    r"""\bstands?\b(?!\ (?:for|out)\b) | \bstood\b       # is, are, was
    | (?<!\bthere)\ (?-i:(?:is|are|was|were)\ none)\b | \bfor\ no\b
    | (?:^|[.;:]\ )who(?:\ (?:is|has|does)|\ (?!answers)[a-z]+s)\b  # a relative clause as the subject
    | (?:^|[.;:]\ )what\ (?:stands|waits|cannot)\b
    | \bstumbl | \btroubled?\b(?!"$) | \btroubles\b   # an error, a failure; but the id of a banner
    | \bhears?\ of\b | \bheard\ of\b | \bknows?\ of\ it\b
    | \bgiv(?:es?|ing)\ way\b | \bgave\ way\b | \bgives?\ back\b | \bgiven\ back\b
    | \bat\ rest\b | \bnews\b | \bfooting\b | \bkeeper\b | \bvouch
    | \bsomebody\b | \bnot\ any\ more\b | \bthat\ there\ is\b | \bas\ whom\b
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
NOT_A_VERB_OR_NOUN = re.compile(r"(?:What|Who|Whom|Whose|By whom|How|Which|Where)\b")
"""How no docstring begins: it says what its subject is or does, in a noun phrase or verb first."""
FREE_RELATIVE = re.compile(
    r"""\b(?:of|with|for|to|by|from|than|in|at|on|as|into|about)\ what\b
    | \b(?:of|with|for|to|by|from|in|at|on)\ whom\b(?!\ you\b)  # "Kara, to whom you write" is plain
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A clause in place of a noun, such as "of what was played" for "of play"."""
WITHOUT_FREE_RELATIVES = ("core", "db", "storyengine_tui", "bench", "tools")
FIRST_CHECKED_COMMIT = "952c70cdd2adf5c0b5c554d5ddebba5e866de813"
"""The commit after which messages are checked; earlier ones cannot be changed."""
CHECKED_SINCE = "2026-11-26T08:00:00Z"
"""The time since which they are: branches that are merged later began before the rule."""
LONGEST_SUBJECT = 80
OTHER_WORDS = {
    "storyengine_tui/screens/narrative": r"\bversions?\b",  # a draft
    "storyengine_tui/screens/play": r"\bdrafts?\b|\bagents?\b",  # typed text, a character
    "storyengine_tui/screens/setup": r"\bdrafts?\b|\bagents?\b",
    "storyengine_tui/widgets/dialogs": r"\bdrafts?\b",
}
"""What is not said in these folders: each thing has one word (docs/architecture.md)."""
BEGINS_OTHERWISE = re.compile(r"""(?:\bsay\(f?|\breturn f?)["']Stored\b""")
"""An answer to a command by which the GM saves something: what comes of it is “saved”."""
_CODE = re.compile(r"\{[^{}\n]*\}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SENTENCE = re.compile(r"[A-Z“{].*[.!?]", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?")
FEWEST_WORDS = 5
"""Words of a sentence that has its place in the code once; shorter ones are labels."""
KNOWN = {
    "db/embedded/machine/run_as.py": "an account of Unix is called nobody",
    "core/providers/scripted/synthetic.py": "a character of a story says it",
}


@cache
def texts(source: str) -> tuple[tuple[int, str], ...]:
    """Return the lines of every comment and string with their numbers, without the code in formatted strings.

    From Python 3.12 on, a formatted string is several tokens, and its words are in those of their own type.
    """
    return tuple(_texts(source))


def _texts(source: str) -> Iterator[tuple[int, str]]:
    types = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in types:
            is_formatted = (
                token.type == tokenize.STRING and "f" in token.string.split(token.string[-1])[0].lower()
            )
            words = _CODE.sub("{}", token.string) if is_formatted else token.string
            for number, line in enumerate(words.splitlines(), token.start[0]):
                yield number, line.strip().lstrip("rfb\"'# ")


def refused(source: str, *, is_strict: bool = False) -> list[int]:
    """Return the numbers of the lines with words that are not plain, current English."""
    patterns = (REFUSED, REFUSED_WHERE_STRICT) if is_strict else (REFUSED,)
    return [number for number, line in texts(source) if any(pattern.search(line) for pattern in patterns)]


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Return every node of the tree of a source, which two of the rules read."""
    return tuple(ast.walk(ast.parse(source)))


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of modules, classes, functions and fields, with the numbers of their lines."""
    for node in nodes_of(source):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value.lstrip()


def misbegun(source: str) -> list[int]:
    """Return the numbers of the docstrings that begin with a clause in place of a noun or a verb."""
    return [number for number, text in docstrings(source) if NOT_A_VERB_OR_NOUN.match(text)]


def free_relatives(source: str) -> list[int]:
    """Return the numbers of the lines with a clause in place of a noun, in comments and strings."""
    return [number for number, line in texts(source) if FREE_RELATIVE.search(line)]


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Yield the longer sentences of the strings that are no docstrings, with the numbers of their lines.

    Of a formatted string, `{}` stands for its values.
    """
    nodes = nodes_of(source)
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    parts -= {id(node) for node in nodes if isinstance(node, ast.JoinedStr)}
    skipped = parts | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
        if id(node) in skipped or not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        text = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in pieces)
        for sentence in _SENTENCE_END.split(" ".join(text.split())):
            if _SENTENCE.fullmatch(sentence) and len(_WORD.findall(sentence)) >= FEWEST_WORDS:
                yield node.lineno, sentence


@pytest.mark.parametrize("package", PRODUCT)
def test_words_are_those_of_today(package: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / package).rglob("*.py")
        if str(file.relative_to(ROOT)) not in KNOWN
        for number in refused(file.read_text("utf-8"))
    }
    assert not found


def test_an_answer_to_a_command_that_saves_says_saved() -> None:
    files = sorted((ROOT / "storyengine_tui/cli").rglob("*.py"))
    found = {
        str(file.relative_to(ROOT)) for file in files if BEGINS_OTHERWISE.search(file.read_text("utf-8"))
    }
    assert files
    assert not found


@pytest.mark.parametrize("place", STRICT)
def test_finished_folders_keep_to_the_stricter_patterns(place: str) -> None:
    files = sorted((ROOT / place).rglob("*.py"))
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        if str(file.relative_to(ROOT)) not in KNOWN
        for number in refused(file.read_text("utf-8"), is_strict=True)
    }
    assert files
    assert not found


@pytest.mark.parametrize("place", WITHOUT_FREE_RELATIVES)
def test_docstrings_begin_with_a_noun_or_a_verb(place: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / place).rglob("*.py")
        for number in misbegun(file.read_text("utf-8"))
    }
    assert not found


@pytest.mark.parametrize("place", WITHOUT_FREE_RELATIVES)
def test_nouns_are_used_in_place_of_clauses(place: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / place).rglob("*.py")
        if str(file.relative_to(ROOT)) not in KNOWN
        for number in free_relatives(file.read_text("utf-8"))
    }
    assert not found


@pytest.mark.parametrize("place", OTHER_WORDS)
def test_a_draft_and_a_character_have_one_word_each(place: str) -> None:
    other = re.compile(OTHER_WORDS[place], re.IGNORECASE)
    files = sorted((ROOT / place).rglob("*.py"))
    found = {
        f"{file.relative_to(ROOT)}:{number}: {line}"
        for file in files
        for number, line in texts(file.read_text("utf-8"))
        if other.search(line)
    }
    assert files
    assert not found


def test_no_sentence_is_written_twice_in_the_product() -> None:
    places: dict[str, list[str]] = {}
    for package in PRODUCT:
        # A migration that has landed keeps its sentences, whatever becomes of them elsewhere.
        for file in sorted((ROOT / package).rglob("*.py")) if package != "migrations" else ():
            for number, sentence in sentences(file.read_text("utf-8")):
                places.setdefault(sentence, []).append(f"{file.relative_to(ROOT)}:{number}")
    assert places
    assert not {sentence: found for sentence, found in places.items() if len(found) > 1}


def wrong_in_message(message: str) -> list[str]:
    """Return the problems of a commit message: a long first line, and lines with a refused word."""
    lines = message.strip().splitlines()
    long = [line for line in lines[:1] if len(line) > LONGEST_SUBJECT]
    return [*long, *(line for line in lines if REFUSED.search(line))]


def test_new_commit_messages_are_short_and_plain() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git history here")
    span = (f"--since={CHECKED_SINCE}", f"{FIRST_CHECKED_COMMIT}..HEAD")
    command = [git, "log", "--no-merges", "--format=%B%x00", *span]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=30)
    if log.returncode:
        pytest.skip("the history here does not reach back to the first checked commit")
    messages = log.stdout.decode("utf-8", "replace").split("\0")
    assert not [problem for message in messages for problem in wrong_in_message(message)]


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/NOTES.md", "docs"])
def test_pages_are_written_in_words_of_today(page: str) -> None:
    files = [ROOT / page] if page.endswith(".md") else sorted((ROOT / page).rglob("*.md"))
    found = {
        f"{file.relative_to(ROOT)}:{number}: {line}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if REFUSED.search(line)
    }
    assert files
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        '"""Have a store."""',
        "# It waits for ever.",
        "say('Nobody knows: nobody.')",
        '"""Mend a state."""',
        "say('Whoever reads it')",
    ],
)
def test_old_words_are_found_in_docstrings_comments_and_sentences(line: str) -> None:
    assert refused(line) == [1]


def test_what_only_looks_like_one_is_left_alone() -> None:
    source = (
        '"""Return None when there is none; recommend an amendment. Nothing where that is None."""\n'
        "# What was stored is safe. Who answers: a model.\nmend = heed = 1\n"
    )
    assert not refused(source, is_strict=True)


@pytest.mark.parametrize(
    "line",
    [
        '"""Who is not patient fails."""',
        '"""What cannot be read grants nothing."""',
        "# The mark stands before the text.",
        "# A prompt for no character.",
        "except OSError as stumble: log('trouble')",
        "# The oldest gives way.",
    ],
)
def test_stricter_patterns_find_what_the_others_let_pass(line: str) -> None:
    assert not refused(line)
    assert refused(line, is_strict=True) == [1]


@pytest.mark.parametrize(
    "source",
    [
        '"""What the store needs."""',
        'class Cost:\n    """How much it is."""',
        'def f() -> None:\n    """Where it is."""',
        'LIMIT = 3\n"""Which are kept."""',
    ],
)
def test_docstrings_that_begin_with_a_clause_are_found(source: str) -> None:
    assert len(misbegun(source)) == 1


@pytest.mark.parametrize(
    "line",
    [
        '"""Return a hash of what is sent."""',
        "# It is kept for what follows.",
        "say(f'{name}, to whom it is revealed')",
    ],
)
def test_clauses_in_place_of_nouns_are_found(line: str) -> None:
    assert free_relatives(line) == [1]


def test_sentences_are_found_in_strings_and_not_in_docstrings_and_labels() -> None:
    source = (
        '"""Return what is not read here."""\n'
        'say(f"Nothing was stored of {name!r}: it is full. Try it", "again later, and once more.")\n'
        'say("One", "No item is called so here.", 3, "Five words of a label")\n'
    )
    assert list(sentences(source)) == [
        (2, "Nothing was stored of {}: it is full."),
        (3, "No item is called so here."),
    ]


def test_words_of_a_formatted_string_are_read_and_its_code_is_not() -> None:
    assert refused('say(f"{name} waits for ever")') == [1]
    assert not refused('say(f"{heed} waits")')
    assert refused('say("{heed} waits")') == [1]


@pytest.mark.parametrize("message", ["Say " + "more " * 16, "Mend a list", "Sort a list\n\nNobody reads it."])
def test_a_long_first_line_and_a_refused_word_of_a_commit_are_found(message: str) -> None:
    assert wrong_in_message(message)
    assert not wrong_in_message("Sort a list\n\nIt was in no order, which is a long story: " + "why " * 20)
