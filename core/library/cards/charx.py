"""CHARX: a card and its files in one ZIP archive, which may hang behind a picture.

Nothing is ever unpacked to a disk. What an archive says of its sizes is not believed: it is read with a
bound.
"""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import Final

from core.library.json_document import LARGEST_JSON, JsonDocument, parse_json
from core.library.refusal import FileRefusedError

CARD_JSON: Final = "card.json"
EMBEDDED: Final = ("embeded://", "embedded://")
ICON_PATH: Final = "assets/icon/image/main.png"
MOST_MEMBERS: Final = 10_000
LARGEST_TOTAL: Final = 128 * 1024 * 1024
"""Bytes of all members together, unpacked."""
GREATEST_RATIO: Final = 200
"""Maximum ratio of unpacked to packed bytes, for a member of more than a megabyte."""
_DIRECTORY_ENTRY: Final = b"PK\x01\x02"
_IS_UTF8: Final = 0x800
"""The flag of a file whose name says that it is UTF-8."""
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FAULTS: Final = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, OSError, OverflowError),
    *(zlib.error, struct.error),
)
"""Exceptions of the standard library for archives that are damaged or made to harm."""
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive. `date` is as it was written there, and may be no date at all."""

    path: str
    content: bytes
    is_packed: bool
    date: tuple[int, int, int, int, int, int] = _EARLIEST


@dataclass(frozen=True, slots=True)
class Charx:
    """An archive: what is before it (a picture or nothing), the text of its card, and all its files."""

    front: bytes
    document: JsonDocument
    members: tuple[Member, ...]

    def file(self, uri: str) -> bytes | None:
        """Return the file that `uri` names; None when it names none of the archive."""
        for scheme in EMBEDDED:
            if uri.lower().startswith(scheme):
                path = uri[len(scheme) :]
                return next((member.content for member in self.members if member.path == path), None)
        return None


def is_archive(content: bytes) -> bool:
    """Whether there is an archive in the file, at its beginning or behind something else."""
    return content[:4] == b"PK\x03\x04" or zipfile.is_zipfile(io.BytesIO(content))


def read_charx(content: bytes, what: str) -> Charx:
    """Return what a CHARX file holds; raise FileRefusedError, whose sentence begins with `what`."""
    if content.count(_DIRECTORY_ENTRY) > MOST_MEMBERS:
        raise FileRefusedError(f"{what} has more than {MOST_MEMBERS:,} files in it.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            _check(infos, what)
            members = _members(archive, infos, what)
            front = content[: min((info.header_offset for info in infos), default=0)]
    except _FAULTS as error:
        raise FileRefusedError(f"{what} is damaged: its archive cannot be read.") from error
    named = [member for member in members if member.path.lower() == CARD_JSON]
    if not named:
        raise FileRefusedError(f"{what} holds no character card: {CARD_JSON} is missing.")
    return Charx(front, parse_json(named[0].content, what), members)


def _check(infos: list[zipfile.ZipInfo], what: str) -> None:
    """Raise FileRefusedError for names and sizes that no card has."""
    if len({_path_of(info).lower() for info in infos}) < len(infos):
        raise FileRefusedError(f"{what} has two files of one name in it.")
    for info in infos:
        if not is_safe_path(_path_of(info)) or info.filename != info.orig_filename:
            raise FileRefusedError(f"{what} has a file in it whose name is not allowed.")
        if info.flag_bits & 1:
            raise FileRefusedError(f"{what} is encrypted and cannot be read.")
        if info.compress_type not in _METHODS:
            raise FileRefusedError(f"{what} is packed in a way that cannot be read.")
        is_large = info.file_size > 1024**2
        if is_large and info.file_size > GREATEST_RATIO * max(info.compress_size, 1):
            raise FileRefusedError(f"{what} unpacks to far more than it is, and was not read.")
    if sum(info.file_size for info in infos) > LARGEST_TOTAL:
        raise _too_large(what)


def is_safe_path(name: str) -> bool:
    """Whether a name in an archive is a plain relative path, in any script."""
    is_plain = name.isprintable() and not set(name) & set('\\:*?"<>|')
    return is_plain and not name.startswith("/") and ".." not in name.split("/")


def _path_of(info: zipfile.ZipInfo) -> str:
    """Return the path of a file; many programs write it in UTF-8 and do not say so."""
    try:
        return info.filename if info.flag_bits & _IS_UTF8 else info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _members(archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo], what: str) -> tuple[Member, ...]:
    found: list[Member] = []
    left = LARGEST_TOTAL
    for info in infos:
        is_card = info.filename.lower() == CARD_JSON
        most = min(left, LARGEST_JSON if is_card else left)
        with archive.open(info) as opened:
            content = opened.read(most + 1)
        if len(content) > most:
            raise _too_large(what)
        left -= len(content)
        is_packed = info.compress_type == zipfile.ZIP_DEFLATED
        found.append(Member(_path_of(info), content, is_packed, info.date_time))
    return tuple(found)


def _too_large(what: str) -> FileRefusedError:
    return FileRefusedError(f"{what} unpacks to more than {LARGEST_TOTAL // 1024**2} MB.")


def write_charx(document: JsonDocument, front: bytes, members: tuple[Member, ...]) -> bytes:
    """Return an archive with the card and these files, in their order, behind `front`.

    A card among `members` gives its place to the new one. The same values give the same bytes.
    """
    card = document.text.encode()
    if not any(member.path.lower() == CARD_JSON for member in members):
        members = (Member(CARD_JSON, card, True), *members)
    file = io.BytesIO(front)
    with zipfile.ZipFile(file, "a") as archive:
        for member in members:
            is_card = member.path.lower() == CARD_JSON
            info = zipfile.ZipInfo(member.path)
            info.date_time = member.date
            info.external_attr = 0o600 << 16
            info.compress_type = zipfile.ZIP_DEFLATED if member.is_packed else zipfile.ZIP_STORED
            archive.writestr(info, card if is_card else member.content)
    return file.getvalue()
