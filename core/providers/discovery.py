"""Finds the model servers that run on this machine, by one look at the ports they are known for (design 8).

Only loopback is asked, and nothing is sent but `GET /v1/models`: no key, through no proxy, after no redirect.
What answers is data from outside, so it has bounds.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from core.config.sections import LONGEST_MODEL_NAME
from core.text.cleaning import has_controls, is_blank

LOOK_SECONDS = 0.3
"""Seconds that all servers together may take; later answers are not waited for."""
MOST_MODELS = 200
"""Models that are taken from one server."""
_LARGEST_ANSWER = 1_000_000
_HOSTS = ("127.0.0.1", "::1")
_PATH = "/v1"
_UNFIT = ("embed", "rerank")
"""Parts of the names of models that write no text, which some servers list beside the others."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A program that people run models with: the port it takes by default, and how it is recognised."""

    name: str
    port: int
    owner: str = ""
    """Its `owned_by` of models; empty where it has no value of its own."""
    is_port_common: bool = False
    """Whether other programs like that port too, so that the port alone proves nothing."""


KINDS = (
    # A model that was not pulled from its own library names another owner; the port is telling enough.
    ServerKind("Ollama", 11434, "library"),
    # Lists every model on the disk, and loads the one that is called.
    ServerKind("LM Studio", 1234, "organization_owner"),
    ServerKind("llama.cpp", 8080, "llamacpp", is_port_common=True),
    ServerKind("KoboldCpp", 5001, "koboldcpp"),
    ServerKind("vLLM", 8000, "vllm", is_port_common=True),
    # Wants a key, which its user makes up.
    ServerKind("Jan", 1337),
    # macOS listens on this port itself, for sound from other devices.
    ServerKind("text-generation-webui", 5000, "user", is_port_common=True),
)
UNKNOWN = "OpenAI-compatible server"
_TOO_COMMON_OWNERS = frozenset({"user"})


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered: what it seems to be, its base URL, and the models it offers."""

    kind: str
    address: str
    models: tuple[str, ...] = ()
    wants_key: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Content of an answer: the models that can be called, and their owners."""

    models: tuple[str, ...] = ()
    owners: frozenset[str] = frozenset()
    wants_key: bool = False


async def find_servers(
    kinds: Sequence[ServerKind] = KINDS, *, seconds: float = LOOK_SECONDS
) -> list[FoundServer]:
    """Return the servers that answer on loopback within `seconds`, in the order of `kinds`."""
    asking = {asyncio.create_task(_ask(host, kind)): kind.port for kind in kinds for host in _HOSTS}
    try:
        done, _ = await asyncio.wait(asking, timeout=seconds)
    finally:
        for task in asking:
            task.cancel()  # Does nothing to one that is done.
    found: dict[int, FoundServer] = {}
    for task, port in asking.items():
        server = task.result() if task in done else None
        # A server that listens on both addresses is one server.
        if server is not None:
            found.setdefault(port, server)
    return list(found.values())


async def _ask(host: str, kind: ServerKind) -> FoundServer | None:
    """Return what answers at a port; None where nothing does that lists models."""
    netloc = f"[{host}]:{kind.port}" if ":" in host else f"{host}:{kind.port}"
    try:
        reader, writer = await asyncio.open_connection(host, kind.port)
    except OSError:
        return None
    try:
        # HTTP/1.0: the answer comes in one piece and ends with the connection.
        writer.write(
            f"GET {_PATH}/models HTTP/1.0\r\nHost: {netloc}\r\nAccept: application/json\r\n\r\n".encode()
        )
        answer = await _read(reader)
    except OSError:
        return None
    finally:
        writer.close()
    listing = read_listing(answer)
    if listing is None or (listing.wants_key and kind.is_port_common):
        return None
    return FoundServer(
        _named(kind, listing.owners), f"http://{netloc}{_PATH}", listing.models, listing.wants_key
    )


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Return the whole answer, or more than `_LARGEST_ANSWER` bytes of it."""
    answer = bytearray()
    while len(answer) <= _LARGEST_ANSWER and not _is_whole(answer):
        block = await reader.read(1 << 16)
        if not block:
            break
        answer += block
    return bytes(answer)


def _is_whole(answer: bytes | bytearray) -> bool:
    """Whether as much has come as the head announces, for servers that leave the connection open."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
            return len(body) >= int(value)
    return False


def read_listing(answer: bytes) -> Listing | None:
    """Return the models of an answer to `GET /v1/models`; None where it lists none, or is too large."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split()
    if (
        not separator
        or len(answer) > _LARGEST_ANSWER
        or len(status) < 2
        or not status[0].startswith(b"HTTP/1")
    ):
        return None
    if status[1] == b"401":
        return Listing(wants_key=True)
    if status[1] != b"200":
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    items = found.get("data") if isinstance(found, dict) else None
    if not isinstance(items, list):
        return None
    named = [item for item in items if isinstance(item, dict)][:MOST_MODELS]
    names = (item.get("id") for item in named)
    owners = (item.get("owned_by") for item in named)
    return Listing(
        tuple(dict.fromkeys(name for name in names if isinstance(name, str) and _is_playable(name))),
        frozenset(owner for owner in owners if isinstance(owner, str)),
    )


def _is_playable(name: str) -> bool:
    """Whether a model can be called by this name: one that had to be cleaned would be another model's."""
    if (
        not 0 < len(name) <= LONGEST_MODEL_NAME
        or has_controls(name)
        or is_blank(name)
        or name != name.strip()
    ):
        return False
    return not any(part in name.lower() for part in _UNFIT)


def _named(kind: ServerKind, owners: frozenset[str]) -> str:
    """Return the likely name of a server: by its own answer, else by its port."""
    if kind.owner in owners:
        return kind.name
    for other in KINDS:
        if other.owner in owners - _TOO_COMMON_OWNERS:
            return other.name
    return UNKNOWN if kind.is_port_common else kind.name
