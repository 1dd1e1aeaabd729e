"""The chunks of a PNG file: the texts in it, and how they are replaced without touching the picture."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.library.refusal import FileRefusedError

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PICTURE: Final = "The picture"
MOST_CHUNKS: Final = 200_000
LARGEST_TEXT: Final = 24 * 1024 * 1024
"""Bytes of a text chunk that is read, unpacked; 16 MB of JSON are 22 MB in base64."""
LARGEST_TEXTS: Final = 64 * 1024 * 1024
"""Bytes of all text chunks together, unpacked."""
_TEXTS: Final = (b"tEXt", b"zTXt", b"iTXt")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk, by its place in the file: from its length to its check sum."""

    kind: bytes
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PngText:
    """One text of a PNG; `is_sound` says whether the check sum of its chunk is right."""

    keyword: str
    text: bytes
    is_sound: bool
    chunk: Chunk


def chunks(content: bytes, what: str = _PICTURE) -> Iterator[Chunk]:
    """Yield the complete chunks up to the end mark; what comes after it is allowed and not read.

    Raises FileRefusedError for more chunks than any picture has; the sentence names the picture by `what`.
    """
    at = len(SIGNATURE)
    for _ in range(MOST_CHUNKS):
        if at + 12 > len(content):
            return
        (length,) = struct.unpack_from(">I", content, at)
        end = at + 12 + length
        if end > len(content):
            return
        kind = content[at + 4 : at + 8]
        yield Chunk(kind, at, end)
        if kind == b"IEND":
            return
        at = end
    raise FileRefusedError(f"{what} has more than {MOST_CHUNKS:,} parts.")


def is_whole(content: bytes) -> bool:
    """Whether a PNG has its end mark, and was not cut off."""
    return any(chunk.kind == b"IEND" for chunk in chunks(content))


def texts(content: bytes, what: str = _PICTURE) -> list[PngText]:
    """Return the texts of a PNG in their order; raise FileRefusedError when they unpack to too much."""
    found: list[PngText] = []
    left = LARGEST_TEXTS
    for chunk in chunks(content, what):
        if chunk.kind not in _TEXTS:
            continue
        body = content[chunk.start + 8 : chunk.end - 4]
        keyword, separator, rest = body.partition(b"\0")
        text = _unpacked(chunk.kind, rest, what) if separator else None
        if text is None:
            continue
        left -= len(text)
        if left < 0:
            raise FileRefusedError(
                f"{what} has texts that unpack to more than {LARGEST_TEXTS // 1024**2} MB."
            )
        (check_sum,) = struct.unpack_from(">I", content, chunk.end - 4)
        is_sound = check_sum == zlib.crc32(content[chunk.start + 4 : chunk.end - 4])
        found.append(PngText(keyword.decode("latin-1"), text, is_sound, chunk))
    return found


def _unpacked(kind: bytes, rest: bytes, what: str) -> bytes | None:
    """Return the text behind a keyword; None when its form is wrong."""
    if kind == b"tEXt":
        return _bounded(rest, what)
    if kind == b"zTXt":
        return _inflated(rest[1:], what) if rest[:1] == b"\0" else None
    flags, rest = rest[:2], rest[2:]
    _, has_language, rest = rest.partition(b"\0")
    _, has_translation, text = rest.partition(b"\0")
    if len(flags) < 2 or not has_language or not has_translation:
        return None
    return _inflated(text, what) if flags[0] else _bounded(text, what)


def _bounded(text: bytes, what: str) -> bytes:
    if len(text) > LARGEST_TEXT:
        raise FileRefusedError(f"{what} has a text that is larger than {LARGEST_TEXT // 1024**2} MB.")
    return text


def _inflated(packed: bytes, what: str) -> bytes | None:
    try:
        return _bounded(zlib.decompressobj().decompress(packed, LARGEST_TEXT + 1), what)
    except zlib.error:
        return None


def with_texts(content: bytes, new: list[tuple[str, bytes]], without: frozenset[int]) -> bytes:
    """Return the PNG with `new` texts before its end mark, and without the chunks that start at `without`.

    All other chunks and what comes after the end mark stay byte for byte. A file that was cut off gets an
    end mark behind its last complete chunk.
    """
    kept = [content[: len(SIGNATURE)]]
    rest = b""
    for chunk in chunks(content):
        if chunk.kind == b"IEND":
            rest = content[chunk.end :]
        elif chunk.start not in without:
            kept.append(content[chunk.start : chunk.end])
    added = [written(b"tEXt", keyword.encode("latin-1") + b"\0" + text) for keyword, text in new]
    return b"".join([*kept, *added, written(b"IEND", b""), rest])


def written(kind: bytes, body: bytes) -> bytes:
    """Return a chunk with its length and its check sum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def plain_picture(colour: tuple[int, int, int], width: int = 400, height: int = 600) -> bytes:
    """Return a picture in one colour, given by red, green and blue from 0 to 255."""
    row = b"\0" + bytes(colour) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(row * height, 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(written(kind, body) for kind, body in parts)
