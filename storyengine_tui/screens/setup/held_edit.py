"""An edit of tab 1 that could not be stored, because another window began to write."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from core.domain.ids import SessionId
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.storage.snapshot import Snapshot
from core.text.composer_text import resumed
from core.text.numbers import read_count
from storyengine_tui.screens.setup.setup_view import SetupView, TypedSetup
from storyengine_tui.screens.shared.kept_fields import Fields

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


@dataclass(frozen=True, slots=True)
class HeldEdit:
    """Stays on the screen, where it can be copied, until this window writes again."""

    session_id: SessionId
    base: Tab1Inputs
    """The set-up that was edited."""
    edit: Tab1Edit

    @property
    def slots(self) -> list[Slot]:
        """The characters that it changes."""
        return sorted({*self.edit.names, *self.edit.identities, *self.edit.profiles})

    def identity(self, slot: Slot, stored: str) -> str:
        """Return the identity of a character, of which `stored` is stored now."""
        typed = self.edit.identities.get(slot)
        return stored if typed is None else resumed(self.base.identities.get(slot, ""), stored, typed)

    @property
    def fields(self) -> Fields:
        """The texts that it changes."""
        base, edit = self.base, self.edit
        found = {"world": (base.world, edit.world), "chapter": (base.chapter, edit.chapter)}
        found |= {f"{one:d}": (base.identities.get(one, ""), text) for one, text in edit.identities.items()}
        found |= {f"name {one:d}": ("", text) for one, text in edit.names.items()}
        found["count"] = ("", None if edit.character_count is None else str(edit.character_count))
        return {name: (before, text) for name, (before, text) in found.items() if text is not None}

    @classmethod
    def of(cls, typed: TypedSetup, snapshot: Snapshot) -> Self | None:
        """Return what is typed over the stored set-up; None for nothing."""
        edit = typed.edit_of(snapshot)
        return None if edit is None else cls(snapshot.session.id, snapshot.tab1, edit)

    @classmethod
    def of_fields(cls, session_id: SessionId, fields: Fields) -> Self | None:
        """Return an edit of these texts; None for none."""
        if not fields:
            return None
        texts = {name: text for name, (_, text) in fields.items()}
        count = read_count(texts.get("count", ""))
        before = {name: text for name, (text, _) in fields.items()}
        identities = {slot: f"{slot:d}" for slot in Slot if f"{slot:d}" in fields}
        base = Tab1Inputs(
            world=before.get("world", ""),
            chapter=before.get("chapter", ""),
            identities={slot: before[name] for slot, name in identities.items()},
        )
        edit = Tab1Edit(
            world=texts.get("world"),
            chapter=texts.get("chapter"),
            identities={slot: texts[name] for slot, name in identities.items()},
            names={slot: texts[f"name {slot:d}"] for slot in Slot if f"name {slot:d}" in texts},
            character_count=count if count in range(1, len(Slot) + 1) else None,
        )
        return cls(session_id, base, edit)


def held_edit(
    typed: Callable[[], TypedSetup], before: SetupView | None, session: "SessionHandle"
) -> HeldEdit | None:
    """Return what is typed and not stored in a window that wrote `before`, and does not any more."""
    if before is None or not before.is_writer or not session.is_read_only:
        return None
    snapshot, content = session.snapshot, typed()
    edit = content.edit_of(replace(snapshot, session=before.session, tab1=before.stored))
    if edit is None or content.edit_of(snapshot) is None:
        return None
    return HeldEdit(session.id, before.stored, edit)
