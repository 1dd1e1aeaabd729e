"""Docstrings, comments and sentences of the product use plain, current English."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("core", "db", "migrations", "storyengine_tui")
REFUSED = re.compile(
    r"""^Have\ (?!no\b)                       # a docstring begins with what the function does
    | \b(?:it|that|they|which)\ (?:is|are)\ none\b
    | \bnobody\b | \bwhoever\b | \bfor\ ever\b | \banew\b | \bupon\b
    | \bheed | \bmend(?:s|ed|ing)?\b | \bdeeds?\b | \bstirs?\b
    | \bas\ it\ stands\b | \blets?\ go\b
    """,
    re.VERBOSE | re.MULTILINE,
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


def refused(source: str) -> list[int]:
    """Return the numbers of the lines with words that a reader of today stumbles over."""
    return [number for number, line in texts(source) if REFUSED.search(line)]


@pytest.mark.parametrize("package", PRODUCT)
def test_words_are_those_of_today(package: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / package).rglob("*.py")
        if str(file.relative_to(ROOT)) not in KNOWN
        for number in refused(file.read_text("utf-8"))
    }
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
    "line", ['"""Have a store."""', "# It waits for ever.", "say('Nobody knows: nobody.')"]
)
def test_old_words_are_found_in_docstrings_comments_and_sentences(line: str) -> None:
    assert refused(line) == [1]


def test_what_only_looks_like_one_is_left_alone() -> None:
    assert not refused('"""Return None when there is none; recommend an amendment."""\nmend = heed = 1\n')
