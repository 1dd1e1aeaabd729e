"""The characters of the library: from cards and into cards, archived, restored and deleted (design 14)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from core.domain.clock import Clock
from core.domain.errors import ChangedElsewhereError, IllegalCommandError, StorageError, valid
from core.domain.ids import CharacterId, new_uuid
from core.domain.session.profile import NO_PROFILE, Profile
from core.engine.services.library.archive import Archive
from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFile, CardFormat, has_both_copies, read_card
from core.library.cards.report import report
from core.library.cards.writing import Colour, WrittenCard, new_file, write_card
from core.library.characters.character import KeptFile, LibraryCharacter
from core.library.characters.checks import cleaned_character, merged, problems_of_character
from core.library.characters.from_card import brought_by, card_with, character_of, claims_of, other_names_of
from core.library.names import already_here, free_name, keys_of
from core.library.refusal import FileRefusedError
from core.storage.while_others_change import while_others_change
from core.text.cleaning import clean_line, is_blank
from core.text.name_list import name_key, problems_of_groups

NAMELESS = "A character without a name"
NOT_TAKEN = "None of that was taken; d in the list of the cast (F5, 3) or `storyengine cast set` says it."


@dataclass(frozen=True, slots=True)
class CardImport:
    """Result of a card's import. `is_new` is False where the same file was imported before."""

    character: LibraryCharacter
    report: tuple[str, ...]
    is_new: bool = True
    not_taken: str = ""
    """Claims of the card that only the GM can confirm, and that were not taken."""


class CharacterLibrary(Archive[LibraryCharacter]):
    """The characters of one store."""

    KIND = "character"
    GROUP = "cast"

    async def listed(self, *, is_archived: bool = False) -> Sequence[LibraryCharacter]:
        """Return the characters by their names."""
        return await self._store.characters(is_archived=is_archived)

    async def known_as(self, name: str, character_id: CharacterId | None = None) -> LibraryCharacter | None:
        """Return the character that one of a chapter was taken from, else the one with its name, or None."""
        key = name_key(name)
        kept = await self.listed()
        origin = (one for one in kept if one.id == character_id)
        return next(origin, None) or next((one for one in kept if key in map(name_key, one.names)), None)

    async def import_card(self, content: bytes, file_name: str, *, is_trusted: bool = False) -> CardImport:
        """Store the character in a file, as `take_card` does; raise FileRefusedError with one sentence."""
        file = await asyncio.to_thread(read_card, content, file_name)
        return await self.take_card(file, is_trusted=is_trusted)

    async def take_card(self, file: CardFile, *, is_trusted: bool = False) -> CardImport:
        """Store the character in a card, with the file as it is; raise FileRefusedError with one sentence.

        A file that was imported before is not stored again. Only of a card that the GM trusts its groups
        and its model are taken, and whether it is static.
        """
        kept = KeptFile(file.name, file.content)
        present = await self.listed()
        file_hash = await asyncio.to_thread(lambda: kept.sha256)
        for one in present:
            if one.imported is not None and one.imported.file_hash == file_hash:
                return CardImport(one, (already_here(one.name),), is_new=False)
        character, lines = await asyncio.to_thread(
            _made, file, present, file_hash, self._clock, is_trusted=is_trusted
        )
        await self._store.put_character(character, card=kept)
        return CardImport(character, lines, not_taken="" if is_trusted else claims_of(file.card))

    async def card(self, character: LibraryCharacter) -> CardFile:
        """Return the card of a character with the GM's changes, in the file that it came in."""
        kept = await self._store.card_of(character.id)
        return await asyncio.to_thread(_card_file, character, kept)

    async def export(
        self, character: LibraryCharacter, format_: CardFormat, version: CardVersion | None = None
    ) -> WrittenCard:
        """Return the card of a character as a file; unchanged and in its own format, the file as it came.

        A picture that holds one version of the card alone gets the other beside it. `version` is for JSON
        alone, which without it is in the version that it came in; raise IllegalCommandError beside another.
        """
        if version is not None and format_ is not CardFormat.JSON:
            holds = "versions 2 and 3" if format_ is CardFormat.PNG else "version 3"
            raise IllegalCommandError(
                f"A .{format_} card always holds {holds}; a version is chosen for .json alone."
            )
        kept = await self._store.card_of(character.id)
        return await asyncio.to_thread(_exported, character, kept, format_, version)

    async def create(
        self, name: str, identity: str = "", profile: Profile = NO_PROFILE, colour: Colour | None = None
    ) -> LibraryCharacter:
        """Store a new character that came from no card, and return it.

        Its other names are left out that someone else has. With a `colour` it has a plain picture in it.
        """
        taken = keys_of(await self.listed())
        now = self._clock()
        character = LibraryCharacter(
            id=CharacterId(new_uuid()),
            name=free_name(name, taken),
            aliases=tuple(one for one in profile.aliases if name_key(one) not in taken),
            short_description=profile.short_description,
            identity=identity,
            group=profile.group,
            groups_visible=profile.groups_visible,
            model=profile.model,
            created_at=now,
            updated_at=now,
        )
        character = valid(cleaned_character(character), problems_of_character)
        picture = None if colour is None else await asyncio.to_thread(_picture_of, character, colour)
        await self._store.put_character(character, card=picture)
        return character

    async def save(self, character: LibraryCharacter) -> LibraryCharacter:
        """Store what the GM changed of a character, and return it as it is stored.

        Raises StorageError where it was changed elsewhere meanwhile, or where a name is someone else's.
        """
        await self._check_groups(cleaned_character(character))
        return await self._put(replace(character, updated_at=self._clock()))

    async def by_id(self, character_id: CharacterId) -> LibraryCharacter:
        """Return a character as it is stored; raise ChangedElsewhereError for one that is not on the list."""
        for one in await self.listed():
            if one.id == character_id:
                return one
        raise ChangedElsewhereError

    async def change(
        self, character_id: CharacterId, change: Callable[[LibraryCharacter], LibraryCharacter]
    ) -> LibraryCharacter:
        """Read a character again, store what `change` makes of it, and return it as it is stored.

        What else was changed of it meanwhile stays. `change` raises ChangedElsewhereError where its own field
        is not what it was.
        """

        async def changed() -> LibraryCharacter:
            return await self.save(change(await self.by_id(character_id)))

        return await while_others_change(changed)

    async def edit(self, begun: LibraryCharacter, made: LibraryCharacter) -> LibraryCharacter:
        """Store the fields in which `made` differs from `begun`, as `change` does."""
        return await self.change(begun.id, lambda now: merged(begun, made, now))

    async def pause(self, character: LibraryCharacter, until: datetime | None = None) -> LibraryCharacter:
        """Pause a character until a time, or until it is resumed, and return it as it is stored.

        A chapter that is locked while it is paused has it away until then. Raises IllegalCommandError for an
        end that is over.
        """
        if until is not None and until <= self._clock():
            raise IllegalCommandError("A pause ends later than now; choose another time. Nothing was saved.")
        return await self.save(replace(character, is_paused=True, paused_until=until))

    async def resume(self, character: LibraryCharacter) -> LibraryCharacter:
        """End the pause of a character, and return it as it is stored."""
        if not character.is_paused_at(self._clock()):
            raise IllegalCommandError(f"“{character.name}” is not paused; nothing was changed.")
        return await self.save(replace(character, is_paused=False, paused_until=None))

    async def restore(self, one: LibraryCharacter) -> LibraryCharacter:
        """Bring an archived character back; with a number behind its name where that is taken now."""
        taken = keys_of(await self.listed())
        aliases = tuple(alias for alias in one.aliases if name_key(alias) not in taken)
        return await self._put(
            replace(one, name=free_name(one.name, taken), aliases=aliases, archived_at=None)
        )

    async def purge(self, one: LibraryCharacter) -> None:
        """Delete an archived character for good, with its card."""
        await self._store.purge_character(one.id)

    async def _check_groups(self, character: LibraryCharacter) -> None:
        """Raise IllegalCommandError for a new group with a name that no line of groups can show."""
        groups = (character.group, *character.groups_visible)
        if any(problems_of_groups(groups, ())):
            present = await self._store.characters(is_archived=character.archived_at is not None)
            before = {group for one in present if one.id == character.id for group in one.sees}
            valid(groups, partial(problems_of_groups, before=before))

    async def _put(self, one: LibraryCharacter) -> LibraryCharacter:
        character = valid(cleaned_character(one), problems_of_character)
        try:
            await self._store.put_character(character)
        except ChangedElsewhereError:
            raise
        except StorageError as error:
            if error.is_transient or not (taken := await self._taken_from(character)):
                raise
            raise StorageError(error.code, taken, "Choose another name.", is_transient=False) from error
        return replace(character, version=character.version + 1)

    async def _taken_from(self, character: LibraryCharacter) -> str:
        """Return which name of a character is someone else's, in a sentence; nothing where all are free."""
        for other in await self.listed():
            theirs = set(map(name_key, other.names)) if other.id != character.id else set()
            for name in character.names:
                if name_key(name) in theirs:
                    return f"“{name}” is already a name of “{other.name}”; nothing was saved."
        return ""


def _made(
    file: CardFile, present: Sequence[LibraryCharacter], file_hash: str, clock: Clock, *, is_trusted: bool
) -> tuple[LibraryCharacter, tuple[str, ...]]:
    """Return the character in a card and the report of its import; blocking.

    Raises FileRefusedError for one that cannot be stored.
    """
    taken = keys_of(present)
    wanted = NAMELESS if is_blank(clean_line(file.card.name)) else file.card.name
    name = free_name(wanted, taken)
    character = character_of(file.card, CharacterId(new_uuid()), name, taken, clock(), is_trusted=is_trusted)
    if character.imported is not None:
        character = replace(character, imported=replace(character.imported, file_hash=file_hash))
    lines = (*report(file), *brought_by(file.card, taken))
    if claims_of(file.card) and not is_trusted:
        lines = (*lines, NOT_TAKEN)
    lines += tuple(
        f"“{one}” is a name of another character; it was left out."
        for one in other_names_of(file.card)
        if name_key(one) in taken
    )
    if name_key(name) != name_key(wanted):
        lines = (f"“{name}” is its name in the library; the card keeps its own.", *lines)
    try:
        character = valid(cleaned_character(character), problems_of_character)
    except IllegalCommandError as error:
        raise FileRefusedError(f"{file.name}: {error.message}") from error
    # In another group than the card says it would see what it must not see.
    for problem in problems_of_groups((character.group, *character.groups_visible), ()):
        raise FileRefusedError(f"{file.name}: {problem} Nothing was saved.")
    return character, lines


def _card_file(character: LibraryCharacter, kept: KeptFile | None) -> CardFile:
    if kept is None:
        return new_file(card_with(character, None))
    file = read_card(kept.content, kept.name)
    card = card_with(character, file.card)
    return file if card is file.card else replace(file, card=card)


def _picture_of(character: LibraryCharacter, colour: Colour) -> KeptFile:
    """Return the card of a new character in a plain picture; blocking."""
    file = new_file(card_with(character, None))
    written = write_card(file, file.card, CardFormat.PNG, colour=colour)
    return KeptFile(f"{character.name}.png", written.content)


def _exported(
    character: LibraryCharacter, kept: KeptFile | None, format_: CardFormat, version: CardVersion | None
) -> WrittenCard:
    if kept is None:
        file = new_file(card_with(character, None))
        return write_card(file, file.card, format_, version)
    file = read_card(kept.content, kept.name)
    card = card_with(character, file.card)
    is_same = card is file.card and format_ is file.format and version in (None, card.version)
    if is_same and (format_ is not CardFormat.PNG or has_both_copies(kept.content)):
        return WrittenCard(kept.content)
    return write_card(file, card, format_, version)
