"""The lorebooks of the library: from files and into files, archived, restored and deleted (design 14)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from core.domain.errors import ErrorCode, StorageError, valid
from core.domain.ids import CharacterId, LorebookId, new_uuid
from core.domain.requests.request import Content
from core.domain.session.lore import LONGEST_COPY, ChapterLorebook
from core.domain.session.profile import Profiles
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import LoreCopy
from core.engine.services.library.archive import Archive
from core.library.card_lore import LoreFile, as_copy, read_lore_file, rewritten, with_book
from core.library.cards.card import new_card
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.writing import WrittenCard, new_file, write_card
from core.library.characters.character import KeptFile
from core.library.json_document import parse_json
from core.library.lore.book import Lorebook, LoreFormat
from core.library.lore.edits import with_known
from core.library.lore.kept import KeptLorebook, cleaned_lorebook, problems_of_lorebook
from core.library.lore.writers import WRITTEN, write_lorebook
from core.library.names import already_here, free_name, keys_of
from core.library.refusal import FileRefusedError
from core.text.cleaning import is_blank
from core.text.name_list import name_key, problems_of_groups
from core.text.numbers import counted

NAMELESS = "A lorebook without a name"
_UNSEEDED = "0"


class LoreKind(StrEnum):
    """The formats in which a lorebook can be asked for, as a GM types them."""

    V2 = "character_book"
    V3 = "lorebook_v3"
    WORLD_INFO = "world_info"

    @property
    def lore_format(self) -> LoreFormat:
        """The format that is meant."""
        return LoreFormat.WORLD_INFO if self is LoreKind.WORLD_INFO else LoreFormat(self.value)


@dataclass(frozen=True, slots=True)
class LoreImport:
    """Result of a lorebook's import. `is_new` is False where the same file was imported before."""

    book: KeptLorebook
    report: tuple[str, ...]
    is_new: bool = True


class LoreLibrary(Archive[KeptLorebook]):
    """The lorebooks of one store."""

    KIND = "lorebook"
    GROUP = "lore"

    async def listed(self, *, is_archived: bool = False) -> Sequence[KeptLorebook]:
        """Return the lorebooks by their names."""
        return await self._store.lorebooks(is_archived=is_archived)

    async def import_lore(self, content: bytes, file_name: str) -> LoreImport:
        """Store a lorebook, with its file as it is; raise FileRefusedError with one sentence."""
        return await self.take_lore(await asyncio.to_thread(read_lore_file, content, file_name), content)

    async def take_lore(self, file: LoreFile, content: bytes) -> LoreImport:
        """Store a lorebook that was read from `content`, which is kept as it is."""
        kept = KeptFile(file.name, content)
        file_hash = await asyncio.to_thread(lambda: kept.sha256)
        present = await self.listed()
        for one in present:
            if one.file_hash == file_hash:
                return LoreImport(one, (already_here(one.name),), is_new=False)
        wanted = _stem(file.name) if is_blank(file.book.name) else file.book.name
        name, entries = free_name(wanted, keys_of(present)), len(file.book.entries)
        book = await self._store_new(name, kept, file_hash, _format(file), entries)
        return LoreImport(book, tuple(_report(book, wanted, file)))

    async def create(self, name: str) -> KeptLorebook:
        """Store an empty lorebook in SillyTavern's format under a name, with a number where it is taken."""
        called = free_name(name, keys_of(await self.listed()))
        empty = write_lorebook(Lorebook(name=called), LoreFormat.WORLD_INFO)
        kept = KeptFile(f"{called}.json", empty.text.encode())
        return await self._store_new(called, kept, kept.sha256, LoreFormat.WORLD_INFO.value)

    async def _store_new(
        self, name: str, file: KeptFile, file_hash: str, format_: str, entry_count: int = 0
    ) -> KeptLorebook:
        now = self._clock()
        book = KeptLorebook(
            id=LorebookId(new_uuid()),
            name=name,
            entry_count=entry_count,
            format=format_,
            file_hash=file_hash,
            created_at=now,
            updated_at=now,
        )
        book = valid(cleaned_lorebook(book), problems_of_lorebook)
        await self._store.put_lorebook(book, file=file)
        return book

    async def by_id(self, lorebook_id: LorebookId) -> KeptLorebook:
        """Return a lorebook as it is now, also an archived one; raise StorageError where it is gone."""
        for is_archived in (False, True):
            for one in await self.listed(is_archived=is_archived):
                if one.id == lorebook_id:
                    return one
        raise StorageError(
            ErrorCode.STORAGE_LOAD_FAILED, "The lorebook was deleted elsewhere.", is_transient=False
        )

    async def edit(self, kept: KeptLorebook, file: LoreFile, book: Lorebook) -> tuple[KeptLorebook, LoreFile]:
        """Store an edited lorebook in its own file, in which only the edited parts change.

        `file` is the parsed file of `kept`. Return both as they are stored. Raises ChangedElsewhereError, and
        FileRefusedError for a book that cannot be written, or could not be read again.
        """
        await self._check_groups(kept)
        before = await self._store.lore_file(kept.id)
        content = await asyncio.to_thread(rewritten, before.content, file, book)
        return await self._store_file(kept, KeptFile(before.name, content), book)

    async def convert(self, kept: KeptLorebook, file: LoreFile) -> tuple[KeptLorebook, LoreFile]:
        """Store a lorebook in place of its file of a format that is read and not written."""
        book = replace(file.book, name=file.book.name or kept.name)
        document = await asyncio.to_thread(write_lorebook, book, LoreFormat.LOREBOOK_V3)
        name = f"{_stem(file.name)}.json"
        return await self._store_file(kept, KeptFile(name, document.text.encode()), book)

    async def _store_file(
        self, kept: KeptLorebook, made: KeptFile, book: Lorebook
    ) -> tuple[KeptLorebook, LoreFile]:
        file = await asyncio.to_thread(_read_again, made, book)
        changed = replace(
            kept,
            entry_count=len(file.book.entries),
            format=_format(file),
            file_hash=await asyncio.to_thread(lambda: made.sha256),
            updated_at=self._clock(),
        )
        changed = valid(cleaned_lorebook(changed), problems_of_lorebook)
        await self._store.put_lorebook(changed, file=made)
        return replace(changed, version=changed.version + 1), file

    async def read(self, book: KeptLorebook) -> LoreFile:
        """Return a lorebook of the library as it is in its file."""
        kept = await self._store.lore_file(book.id)
        return await asyncio.to_thread(read_lore_file, kept.content, kept.name)

    async def copy_of(self, book: KeptLorebook) -> LoreCopy:
        """Return a copy for chapters; raise FileRefusedError for one that is too long."""
        kept = await self._store.lore_file(book.id)
        return await asyncio.to_thread(_copied, kept, book.name, book.groups)

    async def copies_in_cards(self, session: Session, profiles: Profiles) -> tuple[LoreCopy, ...]:
        """Return copies of the books on the cards of a chapter's characters, of those that came from here.

        Each is for its character alone.
        """
        found = []
        for slot, name in session.roster:
            origin = profiles[slot].character_id if slot in profiles else None
            copy = None if origin is None else await self.copy_in_card(origin, slot, name)
            if copy is not None:
                found.append(copy)
        return tuple(found)

    async def copy_in_card(self, character_id: CharacterId, slot: Slot, name: str) -> LoreCopy | None:
        """Return a copy of the book on the card of a character, which is called `name`, for it alone."""
        card = await self._store.card_of(character_id)
        if card is not None:
            with suppress(FileRefusedError):  # a card without a book
                return await asyncio.to_thread(_copied, card, f"{name} (card)", owner=slot)
        return None

    async def export(
        self, book: KeptLorebook, format_: CardFormat, kind: LoreKind | None = None
    ) -> WrittenCard:
        """Return a lorebook as a file: as JSON alone, or within a card as a picture or an archive.

        Without a `kind` JSON is in the format that it came in, where that can be written.
        """
        kept = await self._store.lore_file(book.id)
        return await asyncio.to_thread(_exported, book, kept, format_, kind)

    async def save(self, book: KeptLorebook) -> KeptLorebook:
        """Store another name or other groups of a lorebook, and return it as it is stored."""
        await self._check_groups(book)
        return await self._put(replace(book, updated_at=self._clock()))

    async def restore(self, one: KeptLorebook) -> KeptLorebook:
        """Bring an archived lorebook back; with a number behind its name where that is taken now."""
        name = free_name(one.name, keys_of(await self.listed()))
        return await self._put(replace(one, name=name, archived_at=None))

    async def purge(self, one: KeptLorebook) -> None:
        """Delete an archived lorebook for good."""
        await self._store.purge_lorebook(one.id)

    async def _check_groups(self, book: KeptLorebook) -> None:
        """Raise IllegalCommandError for a new group with a name that no line of groups can show."""
        if any(problems_of_groups(book.groups, ())):
            before = await self.by_id(book.id)
            valid(cleaned_lorebook(book).groups, partial(problems_of_groups, before=before.groups))

    async def _put(self, one: KeptLorebook) -> KeptLorebook:
        book = valid(cleaned_lorebook(one), problems_of_lorebook)
        await self._store.put_lorebook(book)
        return replace(book, version=book.version + 1)


def _copied(kept: KeptFile, name: str, groups: tuple[str, ...] = (), owner: Slot | None = None) -> LoreCopy:
    """Return a copy of a lorebook's file; raise FileRefusedError for one that is too long."""
    file = read_lore_file(kept.content, kept.name)
    source = file.book.source
    document = source.document if source is not None else parse_json(kept.content, kept.name)
    content = Content.of(as_copy(document.value))
    if len(content.text) > LONGEST_COPY:
        raise FileRefusedError(f"“{name}” is too long for a chapter; nothing was attached.")
    copied = ChapterLorebook(
        name=name,
        groups=groups,
        owner=owner,
        entry_count=len(file.book.entries),
        file_hash=kept.sha256,
        copy_hash=content.hash,
        copy_length=len(content.text),
        seed=_UNSEEDED,
    )
    return LoreCopy(copied, content)


def _read_again(made: KeptFile, book: Lorebook) -> LoreFile:
    """Return what is in a file that was made of `book`; blocking."""
    file = read_lore_file(made.content, made.name)
    return replace(file, book=with_known(file.book, book))


def _stem(file_name: str) -> str:
    stem = file_name.rpartition(".")[0] or file_name
    return NAMELESS if is_blank(stem) else stem


def _format(file: LoreFile) -> str:
    if file.card is not None:
        return "card"
    return file.book.source.format.value if file.book.source is not None else ""


def _report(book: KeptLorebook, wanted: str, file: LoreFile) -> list[str]:
    lines = []
    if name_key(book.name) != name_key(wanted):
        lines.append(f"“{book.name}” is its name in the library; the file keeps its own.")
    entries = file.book.entries
    is_on = sum(one.is_enabled for one in entries)
    lines.append(f"{counted(len(entries), 'entry', 'entries')}, {is_on:,} of them on.")
    if (constant := sum(one.is_constant and one.is_enabled for one in entries)) > 0:
        lines.append(f"{constant:,} always active.")
    if file.card is not None:
        lines.append("It came in a card: `storyengine cast import` brings in the character too.")
    return lines


def _exported(book: KeptLorebook, kept: KeptFile, format_: CardFormat, kind: LoreKind | None) -> WrittenCard:
    file = read_lore_file(kept.content, kept.name)
    source = file.book.source
    if format_ is CardFormat.JSON:
        has_its_format = source is not None and file.card is None and source.format in WRITTEN
        if has_its_format and (kind is None or (source is not None and source.format is kind.lore_format)):
            return WrittenCard(kept.content)
        wanted = LoreFormat.LOREBOOK_V3 if kind is None else kind.lore_format
        lore = replace(file.book, name=file.book.name or book.name)
        return WrittenCard(write_lorebook(lore, wanted).text.encode())
    if file.card is not None:
        card_file = read_card(kept.content, kept.name)
        if card_file.format is format_:
            return WrittenCard(kept.content)
        return write_card(card_file, card_file.card, format_)
    card = with_book(new_card({"name": book.name}), replace(file.book, source=None))
    return write_card(new_file(card), card, format_)
