"""Docstrings, comments and sentences of the product use plain, current English."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("core", "db", "migrations", "storyengine_tui")
STRICT = (
    "core",
    "db",
    "storyengine_tui/cli",
    "storyengine_tui/screens/models",
    "storyengine_tui/screens/prompt_blocks",
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
    | \bas\ it\ stands\b | \blets?\ go\b
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
    | \bgives?\ way\b | \bgave\ way\b | \bgives?\ back\b | \bgiven\ back\b
    | \bat\ rest\b | \bnews\b | \bfooting\b | \bkeeper\b | \bvouch
    | \bsomebody\b | \bnot\ any\ more\b | \bthat\ there\ is\b | \bas\ whom\b
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
KNOWN = {
    "db/embedded/machine/run_as.py": "an account of Unix is called nobody",
    "core/providers/scripted/synthetic.py": "a character of a story says it",
}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of every comment and string, with their numbers."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                yield number, line.strip().lstrip("rfb\"'# ")


def refused(source: str, *, is_strict: bool = False) -> list[int]:
    """Return the numbers of the lines with words that are not plain, current English."""
    patterns = (REFUSED, REFUSED_WHERE_STRICT) if is_strict else (REFUSED,)
    return [number for number, line in texts(source) if any(pattern.search(line) for pattern in patterns)]


@pytest.mark.parametrize("package", PRODUCT)
def test_words_are_those_of_today(package: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / package).rglob("*.py")
        if str(file.relative_to(ROOT)) not in KNOWN
        for number in refused(file.read_text("utf-8"))
    }
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
