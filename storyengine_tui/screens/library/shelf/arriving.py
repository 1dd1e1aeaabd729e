"""Cards, lorebooks, chats and chapters, dropped on a list or named by a path, are offered for import."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.domain.clock import utc_now
from core.domain.errors import StorageError
from core.exchange.arrivals import Arrival, ArrivalKind, arrival_of, dropped_paths, typed_paths
from core.exchange.library.library_files import (
    CHAT_ENDING,
    ENDINGS,
    LARGEST_CHAPTER,
    NO_FILE,
    files_in,
    read_file,
)
from core.exchange.session_export import ImportRefusedError, SessionBody
from core.library.card_lore import LoreFile
from core.library.cards.card_file import CardFile
from core.library.refusal import LARGEST_FILE, FileRefusedError
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.shared.list_screen import ListScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first

SHELF_OF: Final = {
    ArrivalKind.CHARACTER: "cast",
    ArrivalKind.LOREBOOK: "lore",
    ArrivalKind.CHAT: "chapters",
    ArrivalKind.CHAPTER: "chapters",
}
NOT_READABLE: Final = "The pasted text is not a card, lorebook, chapter or file; nothing was imported."
PASTED: Final = "The pasted text"
CLAIMED: Final = (
    "Members of a group know its secrets and lore, “static” keeps the program from changing the character, "
    "and a model has its price. Left out, the character is in General; you can set all of it later."
)
PRICED: Final = "A model has its price. Left out, the models that you have set play these characters."
EACH_TRUSTED: Final = "Take over the files' own settings and models, too?"
TAKE_TOO: Final = "Take it too"
LEAVE_OUT: Final = "Leave it out"
OR_NOTHING: Final = "Esc imports nothing."
NOTHING_IMPORTED: Final = "Nothing was imported."
LIST_LEFT: Final = "The list was left before the files were read; nothing was imported."
_NAMED: Final = 20
"""Files that are named in the question, of many."""
_Read = Arrival | FileRefusedError | ImportRefusedError
"""A file that was read, or why it was refused."""


@dataclass(eq=False)
class DropImport:
    """Offers what is dropped on a list, pasted into it or named by its path; imports it after a question."""

    _screen: ListScreen[None, Any]
    _workspace: Workspace
    _shelf: str
    """The name of the list."""
    _say: Callable[[str], None]
    _show: Callable[[str, str], None]
    """Shows a list, with the last outcome above it."""

    async def look_at(self, text: str) -> None:
        """Check a paste for files; a terminal pastes the paths of files that are dropped on it."""
        paths = await asyncio.to_thread(dropped_paths, text)
        if paths:
            await self._look_at_files(paths)
        elif text.lstrip().startswith("{"):
            content = text.encode("utf-8", "replace")
            self._offer(await self._arrived(content, PASTED))
        else:
            self._say(NOT_READABLE)

    async def look_at_path(self, typed: str) -> None:
        """Offer the file or the folder whose path was typed, for import."""
        await self._look_at_files(await asyncio.to_thread(typed_paths, typed))

    async def _look_at_files(self, paths: Sequence[Path]) -> None:
        """Offer files, and those in folders, for import."""
        files = await asyncio.to_thread(files_in, paths, ENDINGS | {CHAT_ENDING})
        if len(files) == 1:
            content = await read_file(files[0], LARGEST_CHAPTER)
            self._offer(await self._arrived(content, files[0].name))
        else:
            self._offer_each(files)

    async def _arrived(self, content: bytes, name: str) -> Arrival:
        prefers_lore = self._shelf == "lore"
        return await asyncio.to_thread(
            lambda: arrival_of(content, name, utc_now(), prefers_lore=prefers_lore)
        )

    def _offer(self, arrival: Arrival) -> None:
        """Ask whether this is wanted, and say what is in it."""
        self._require_list()
        shelf = SHELF_OF[arrival.kind]
        what = "as a chapter" if shelf == "chapters" else f"into your {shelf}"
        question = ConfirmModal(
            f"Take “{arrival.name}” {what}?",
            "\n".join((f"{arrival.file_name}:", *arrival.lines)),
            confirm="Import",
        )

        def take() -> None:
            if arrival.claims:
                self._ask_for_trust(arrival)
            else:
                self._screen.do(self._import_arrival(arrival), then_reloads=True)

        ask_first(self._screen.app, question, take)

    def _ask_for_trust(self, arrival: Arrival) -> None:
        """Ask whether to accept what only the GM can confirm; both answers import it, Esc does not."""
        is_card = arrival.kind is ArrivalKind.CHARACTER
        question = ConfirmModal(
            "Take over the card's own settings, too?" if is_card else "Take over its models, too?",
            f"{arrival.claims}\n\n{CLAIMED if is_card else PRICED} {OR_NOTHING}",
            confirm=TAKE_TOO,
            cancel=LEAVE_OUT,
            is_choice=True,
        )

        def answered(is_trusted: bool | None) -> None:
            if is_trusted is None:
                self._say(NOTHING_IMPORTED)
                return
            self._screen.do(self._import_arrival(arrival, is_trusted=is_trusted), then_reloads=True)

        self._screen.app.push_screen(question, answered)

    async def _import_arrival(self, arrival: Arrival, *, is_trusted: bool = False) -> None:
        name, is_new = await self._store(arrival, is_trusted=is_trusted)
        done = f"“{name}” was imported" if is_new else f"It is in the library already, as “{name}”"
        self._show(_shelf_of(arrival), done)

    def _offer_each(self, files: Sequence[Path]) -> None:
        """Ask whether these files are wanted, by their names; raise FileRefusedError without any."""
        if not files:
            raise FileRefusedError(NO_FILE)
        self._require_list()
        names = _listed([file.name for file in files])
        question = ConfirmModal(f"Import {counted(len(files), 'file')}?", names, confirm="Import")
        ask_first(
            self._screen.app, question, lambda: self._screen.do(self._take_each(files), then_reloads=True)
        )

    async def _take_each(self, files: Sequence[Path]) -> None:
        """Import these files; ask before what they claim is accepted, where the list still shows."""
        read, claims = await self._read_each(files)
        if not claims or not self._screen.is_active:
            await self._import_files(files, read)
            return
        text = _listed([f"{name}: {text}" for name, text in claims])
        text = f"{text}\n\n{CLAIMED} {OR_NOTHING}"
        question = ConfirmModal(EACH_TRUSTED, text, confirm=TAKE_TOO, cancel=LEAVE_OUT, is_choice=True)

        def answered(is_trusted: bool | None) -> None:
            if is_trusted is None:
                self._say(NOTHING_IMPORTED)
                return
            trusted = frozenset(text for _, text in claims) if is_trusted else frozenset()
            self._screen.do(self._import_files(files, read, trusted), then_reloads=True)

        self._screen.app.push_screen(question, answered)

    async def _read_each(self, files: Sequence[Path]) -> tuple[dict[Path, _Read], list[tuple[str, str]]]:
        """Return what was read or refused, and the claims of the files that make any, each with its name.

        As much is kept until the import as a single card may have; what is beyond it is read again then.
        """
        self._say_what_goes_on("Reading", files)
        read, claims, size = dict[Path, _Read](), [], 0
        for file in files:
            try:
                content = await read_file(file, LARGEST_CHAPTER)
                arrival = await self._arrived(content, file.name)
            except (FileRefusedError, ImportRefusedError) as error:
                read[file] = error
                continue
            claims += [(arrival.file_name, arrival.claims)] if arrival.claims else []
            if size + len(content) <= LARGEST_FILE:
                size += len(content)
                read[file] = arrival
        return read, claims

    def _require_list(self) -> None:
        """Raise FileRefusedError where a question would come over something else than the list."""
        if not self._screen.is_active:
            raise FileRefusedError(LIST_LEFT)

    def _say_what_goes_on(self, what: str, files: Sequence[Path]) -> None:
        """Say it above the list, unless that was left: the import goes on all the same."""
        if self._screen in self._screen.app.screen_stack:
            self._say(f"{what} {counted(len(files), 'file')} …")

    async def _import_files(
        self, files: Sequence[Path], read: dict[Path, _Read], trusted: Set[str] = frozenset()
    ) -> None:
        """Import files, with the claims that are among the `trusted` ones.

        Another list is shown only where nothing of this one was among them.
        """
        shelves: list[str] = []
        self._say_what_goes_on("Importing", files)

        async def take(file: Path) -> tuple[bool, bool]:
            arrival = read.pop(file, None)
            if isinstance(arrival, FileRefusedError | ImportRefusedError):
                raise arrival
            if arrival is None:
                arrival = await self._arrived(await read_file(file, LARGEST_CHAPTER), file.name)
            is_trusted = arrival.claims in trusted
            _, is_new = await self._store(arrival, is_trusted=is_trusted)
            shelves.append(_shelf_of(arrival))
            return is_new, bool(is_new and arrival.claims and not is_trusted)

        outcome = await import_each(files, take)
        self._show(self._shelf if self._shelf in shelves or not shelves else shelves[-1], outcome)

    async def _store(self, arrival: Arrival, *, is_trusted: bool = False) -> tuple[str, bool]:
        """Store it; return its name in the library, and whether it is new there."""
        engine = self._workspace.require_engine()
        match arrival.found:
            case SessionBody() as body:
                made = await engine.import_body(body, is_trusted=is_trusted)
                titles = {one.id: one.title for one in await engine.sessions()}
                return titles.get(made, arrival.name), True
            case CardFile() as file:
                card = await engine.library.characters.take_card(file, is_trusted=is_trusted)
                return card.character.name, card.is_new
            case LoreFile() as file:
                lore = await engine.library.lore.take_lore(file, arrival.content)
                return lore.book.name, lore.is_new


def _shelf_of(arrival: Arrival) -> str:
    """Return the list in which it is shown once it is imported."""
    is_in_book = isinstance(arrival.found, SessionBody) and arrival.found.book is not None
    return "books" if is_in_book else SHELF_OF[arrival.kind]


def _listed(lines: Sequence[str]) -> str:
    """Return the first of the lines, and how many more there are."""
    more = [f"… and {len(lines) - _NAMED:,} more"] if len(lines) > _NAMED else []
    return "\n".join([*lines[:_NAMED], *more])


async def import_each(files: Sequence[Path], take: Callable[[Path], Awaitable[tuple[bool, bool]]]) -> str:
    """Import each file as a whole or not at all; return what became of them, in one line.

    `take` returns whether a file is new, and whether its card makes claims that were not taken.
    Raises StorageError, which says what was taken before it.
    """
    taken, known, claims, refused = 0, 0, 0, list[str]()
    for index, file in enumerate(files):
        try:
            is_new, has_claims = await take(file)
        except (FileRefusedError, ImportRefusedError) as error:
            refused.append(error.message)
        except StorageError as error:
            done = outcome_of(taken, known, claims, refused)
            rest = (
                f"{done}. {counted(len(files) - index, 'file')} from {clean_line(file.name)} on not imported"
            )
            message = f"{rest}: {error.message}"
            raise StorageError(error.code, message, error.hint, is_transient=error.is_transient) from error
        else:
            taken, known, claims = taken + is_new, known + (not is_new), claims + has_claims
    return outcome_of(taken, known, claims, refused)


def outcome_of(taken: int, known: int, claims: int, refused: Sequence[str] = ()) -> str:
    """Return what became of files, in one line; `claims` is how many were imported without theirs."""
    parts = [f"{taken:,} imported"]
    parts += [f"{known:,} known already"] if known else []
    parts += [f"{claims:,} without the group, model or “static” that the file says"] if claims else []
    parts += [f"{len(refused):,} refused ({refused[0]})"] if refused else []
    return "; ".join(parts)
