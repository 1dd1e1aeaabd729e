"""The fields of tab 1: world, chapter, the number of characters, and the panels of the cast."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from core.domain.session.limits import Limits
from core.domain.slot import Slot
from core.storage.snapshot import Snapshot
from core.text.composer_text import resumed
from storyengine_tui.screens.setup.cast_panels import CastPanels
from storyengine_tui.screens.setup.held_edit import HeldEdit
from storyengine_tui.screens.setup.setup_view import TypedSetup
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter, HelpedText

_LIMITS = Limits()


class SetupFields:
    """Shows what is stored of a set-up, and holds what is typed over it."""

    def __init__(self) -> None:
        self.world = CappedTextArea(
            id="world",
            limit=_LIMITS.world,
            placeholder="The world in which the story takes place, the kind of story, and its tone.",
        )
        self.chapter = CappedTextArea(
            id="chapter",
            limit=_LIMITS.chapter,
            placeholder="This chapter: where it begins, what is going on, what matters in it.",
        )
        self.world.helped = HelpedText("world", "World")
        self.chapter.helped = HelpedText("chapter", "Chapter")
        self._counters = [
            (area, CharCounter(area.limit, id=f"{area.id}-counter")) for area in (self.world, self.chapter)
        ]
        self._count = GuardedSelect(
            [(str(number), number) for number in range(1, len(Slot) + 1)],
            value=3,
            allow_blank=False,
            compact=True,
            id="character-count",
        )
        self.cast = CastPanels(id="cast", classes="grows")

    def compose(self) -> ComposeResult:
        """Compose the cells."""
        for label, (area, counter) in zip(("World", "Chapter"), self._counters, strict=True):
            with Vertical(classes="cell grows"):
                with Horizontal(classes="line"):
                    yield Static(label, classes="label")
                    yield Static(classes="gap")
                    yield counter
                yield area
        with Horizontal(classes="line"):
            yield Static("Number of characters ", classes="label")
            yield self._count
        yield self.cast

    @property
    def typed(self) -> TypedSetup:
        """The texts that are typed, and the number that is chosen."""
        return TypedSetup(
            world=self.world.text,
            chapter=self.chapter.text,
            character_count=self.character_count,
            names=self.cast.names,
            identities=self.cast.identities,
            profiles=self.cast.profiles,
        )

    @property
    def character_count(self) -> int:
        """The number of characters that is chosen."""
        return self._count.value if isinstance(self._count.value, int) else 1

    def set_read_only(self, is_read_only: bool) -> None:
        """Make the fields read-only or editable."""
        for area, _ in self._counters:
            area.read_only = is_read_only
        self.cast.set_read_only(is_read_only)
        self._count.disabled = is_read_only

    def show_stored(self, snapshot: Snapshot) -> None:
        """Show what is stored; a text that changes, at its end."""
        for area, text in ((self.world, snapshot.tab1.world), (self.chapter, snapshot.tab1.chapter)):
            if area.text != text:
                area.load_text(text)
                area.action_document_end(False)
        self._count.value = len(snapshot.session.slots)
        self.cast.show_stored(snapshot.cast)
        self.show_counters()

    async def show_panel(self, slot: Slot, snapshot: Snapshot) -> None:
        """Show the panel of a character, or the last of the number that is chosen."""
        await self.cast.show(slot, snapshot.cast, snapshot.session.limits, self.character_count)

    def show_counters(self) -> None:
        """Show how long the texts are."""
        for area, counter in self._counters:
            counter.show(area.length)

    async def put_back(self, held: HeldEdit, snapshot: Snapshot) -> None:
        """Put an edit that could not be stored into the fields, which show what is stored."""
        base, stored, edit = held.base, snapshot.tab1, held.edit
        if edit.world is not None:
            self.world.text = resumed(base.world, stored.world, edit.world)
        if edit.chapter is not None:
            self.chapter.text = resumed(base.chapter, stored.chapter, edit.chapter)
        if edit.character_count is not None:
            self._count.value = edit.character_count
        await self.cast.put_back(held, snapshot.cast, snapshot.session.limits)
