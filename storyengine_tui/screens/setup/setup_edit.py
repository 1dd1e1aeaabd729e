"""What was typed on tab 1, compared with what is stored, as an edit for the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.slot import Slot, first_slots
from core.engine.commands import Tab1Edit
from core.store import Snapshot
from core.text.cleaning import clean, clean_line
from storyengine_tui.widgets.panel_switcher import PanelEntry


@dataclass(frozen=True, kw_only=True)
class TypedSetup:
    """Everything that stands on tab 1. Slots whose panel was never shown are as they are stored."""

    world: str
    chapter: str
    agent_count: int
    names: Mapping[Slot, str] = field(default_factory=dict)
    identities: Mapping[Slot, str] = field(default_factory=dict)

    def edit_of(self, snapshot: Snapshot) -> Tab1Edit | None:
        """Return what differs from the stored set-up and can be stored; None when nothing does.

        A name that another character has stays on screen alone until it is unique: all else is stored.
        """
        stored, session = snapshot.tab1, snapshot.session
        identities = {
            slot: text
            for slot, text in self.identities.items()
            if clean(text) != stored.identities.get(slot, "")
        }
        typed = self._changed_names(snapshot)
        doubles = self.doubles(snapshot)
        edit = Tab1Edit(
            world=None if clean(self.world) == stored.world else self.world,
            chapter=None if clean(self.chapter) == stored.chapter else self.chapter,
            identities=identities,
            names={slot: name for slot, name in typed.items() if slot not in doubles},
            agent_count=None if first_slots(self.agent_count) == session.slots else self.agent_count,
        )
        return None if edit == Tab1Edit() else edit

    def entries(self, snapshot: Snapshot) -> list[PanelEntry]:
        """Return the entries that switch between the characters' panels; `✎` marks one with an identity."""
        entries, cast = [], snapshot.cast
        for slot in first_slots(self.agent_count):
            name = self.names.get(slot, cast[slot].given_name).strip()
            has_identity = self.identities.get(slot, cast[slot].identity).strip()
            entries.append(
                PanelEntry(
                    key=slot.colour,
                    number=int(slot),
                    name=name or slot.default_name,
                    style=f"$slot-{slot.colour}",
                    mark="✎" if has_identity else "",
                )
            )
        return entries

    def doubles(self, snapshot: Snapshot) -> dict[Slot, str]:
        """Return the changed names that cannot be stored now, for another character has them."""
        typed, doubles = self._changed_names(snapshot), dict[Slot, str]()
        while True:
            names = {
                slot: (typed[slot] or slot.default_name)
                if slot in typed and slot not in doubles
                else snapshot.session.name_of(slot)
                for slot in Slot
            }
            clashing = [slot for slot in typed if slot not in doubles and _is_double(slot, names)]
            if not clashing:
                return doubles
            doubles |= {slot: names[slot] for slot in clashing}

    def _changed_names(self, snapshot: Snapshot) -> dict[Slot, str]:
        stored = snapshot.session.names
        typed = {slot: clean_line(name) for slot, name in self.names.items()}
        return {
            slot: name
            for slot, name in typed.items()
            if name != stored.get(slot, "") and not (name == slot.default_name and slot not in stored)
        }


def _is_double(slot: Slot, names: Mapping[Slot, str]) -> bool:
    own = names[slot].casefold()
    return any(other is not slot and name.casefold() == own for other, name in names.items())
