"""Fuzz the importers: `python -m tools.fuzz --minutes 60` (`--seed` repeats a run, `--target` names one).

Files of the corpus are changed at random, bytes and meaning alike, and given to each importer; an export is
signed anew after a change, and goes into a real database. What is found is written into the corpus, where a
test holds it for ever; the command then fails.
"""

import argparse
import hashlib
import json
import logging
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from db.embedded.server import EmbeddedServer
from tools.fuzz_targets import TARGETS, Importing, Target, signed

WORDS = (
    *(
        b"\x00",
        b"\x1b]0;t\x07",
        b"\x1b[31m",
        b"\x9b2J",
        b"\xc2\x9b",
        b"\xe2\x80\xae",
        b"\xed\xa0\x80",
        b"\xff\xfe",
    ),
    *(
        b'"""',
        b"'''",
        b"[[agent]]\n",
        b"[[prompt]]\n",
        b"[[secret]]\n",
        b"[profiles.local]\n",
        b"= ",
        b"[",
        b"]",
        b"{",
        b"}",
    ),
    *(
        b"\\ud800",
        b"\\u0000",
        b"\\u001b[2J",
        b"null",
        b"true",
        b"-1",
        b"1e999",
        b"NaN",
        b"9" * 5_000,
        b"0x7f",
    ),
    *(b"nan", b"inf", b"1979-05-27T07:32:00Z", b"\r", b"\r\n", b"\t", b"[/x]", b"[bold]", b"' OR 1=1 --"),
    *(b"1114112", b"55296", b"0;0", b"99999", b";;", b"1:2", b"\x1b[", b"\x1b[200~", b"\x1b[48;0;0;0;0t"),
    *(b"STORYENGINE_PROFILES=", b"STORYENGINE_CONSENT=", b"${HOME}", b"=== END USER_PROMPT ==="),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        7,
        8,
        2**31,
        2**63,
        2**70,
        0.5,
        "",
        " ",
        "x" * 300_000,
        "\x1b[2J",
        "\ud800",
    ),
    *([], {}, [[]], [None], {"": ""}, {"1": 1}, {"8": "x"}, "00000000-0000-0000-0000-000000000000"),
    *(
        "2026-01-01T00:00:00",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "ACTIVE",
        "ENDED",
        "agent",
        "done",
    ),
)
Mutate = Callable[[random.Random, bytes], bytes]


def changed_bytes(chance: random.Random, content: bytes) -> bytes:
    """Return the file with a few of its bytes moved, doubled, lost or replaced."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(data) + 1)
        length = min(len(data) - at, chance.choice((1, 2, 8, 64, 512)))
        match chance.randrange(6):
            case 0:
                data[at : at + length] = b""
            case 1:
                data[at:at] = chance.choice(WORDS)
            case 2:
                data[at : at + length] = chance.choice(WORDS)
            case 3:
                data[at:at] = data[at : at + length] * chance.choice((1, 2, 200))
            case 4 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case _:
                other = chance.randrange(len(data) + 1)
                data[at : at + length] = data[other : other + length]
    return bytes(data)


def changed_export(chance: random.Random, content: bytes) -> bytes:
    """Return the export with a few values replaced, lost or doubled, and a right checksum."""
    try:
        body = json.loads(content)["body"]
    except (ValueError, KeyError, TypeError):
        return changed_bytes(chance, content)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        _change(chance, body)
    return signed(body)


def _change(chance: random.Random, value: Any) -> None:
    """Go down at random, and change what is there."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = chance.choice(keys)
    inner = value[key]
    if isinstance(inner, dict | list) and inner and chance.random() < 0.85:
        _change(chance, inner)
    elif chance.random() < 0.15:
        del value[key]
    elif isinstance(value, list) and chance.random() < 0.4:
        value.append(deepcopy(inner))
    else:
        value[key] = deepcopy(chance.choice(VALUES)) if chance.random() < 0.8 else _near(chance, inner)


def _near(chance: random.Random, value: Any) -> Any:
    """Return something of the same kind: it gets further in."""
    match value:
        case bool():
            return not value
        case int():
            return value + chance.choice((-1, 1, 7))
        case str():
            return value[::-1] if chance.random() < 0.5 else value + chance.choice(("x", "\u202e", "\n" * 50))
        case _:
            return value


def fuzz(targets: list[tuple[Target, Mutate]], seconds: float, seed: int) -> tuple[Counter[str], list[Path]]:
    """Try until time is up; return how many inputs each target had, and what was found."""
    chance = random.Random(seed)
    deadline = time.monotonic() + seconds
    tried: Counter[str] = Counter()
    found: list[Path] = []
    seen: set[str] = set()
    while time.monotonic() < deadline:
        target, mutate = chance.choice(targets)
        content = mutate(chance, chance.choice(target.kept).read_bytes())
        tried[target.name] += 1
        try:
            target.check(content)
        except Exception as finding:  # noqa: BLE001 - whatever an importer raises is a finding
            where = _where(finding)
            if where not in seen:
                seen.add(where)
                found.append(_keep(target, content))
                sys.stderr.write(
                    f"\n{target.name}: {found[-1].name}\n{''.join(traceback.format_exception(finding))}"
                )
    return tried, found


def _where(finding: Exception) -> str:
    """One finding is one line of code: the same fault comes a thousand times."""
    last = traceback.extract_tb(finding.__traceback__)[-1]
    return f"{type(finding).__name__} {last.filename}:{last.lineno}"


def _keep(target: Target, content: bytes) -> Path:
    file = target.corpus / f"found-{hashlib.sha256(content).hexdigest()[:12]}{target.suffix}"
    file.write_bytes(content)
    return file


def main() -> int:
    """Fuzz, and say what was tried and found."""
    options = argparse.ArgumentParser(description="Fuzz the importers of Story Engine.")
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--target", choices=[target.name for target in TARGETS] + ["import"], default=None)
    given = options.parse_args()
    logging.disable(logging.ERROR)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory(prefix="storyengine-fuzz-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home) / "server")
        imports = Importing(server.acquire())
        importing = Target("session", ".json", imports.check)
        named: dict[str, list[tuple[Target, Mutate]]] = {
            target.name: [(target, changed_bytes)] for target in TARGETS
        }
        named["import"] = [(importing, changed_export)]
        chosen = [pair for name, pairs in named.items() for pair in pairs if given.target in (None, name)]
        try:
            tried, found = fuzz(chosen, given.minutes * 60, seed)
        finally:
            server.release()
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(tried.items()))
    sys.stdout.write(
        f"seed {seed}: {sum(tried.values()):,} inputs ({counts}), {imports.accepted:,} of them imported, "
        f"{len(found)} findings\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
