"""What tab 1 says of itself."""

INTRO = "Write world, chapter and cast; then go on to 2 Play (F3)."
READING = "Here you only read along: read, mark and copy."
LOCKED = "Locked: read, mark and copy. Reset Chapter, below, begins an empty one."
RESET_WARNING = (
    "Warning, resetting the chapter will delete all cells from the Story Engine, please make sure you "
    "have saved any and all character and setting information before you reset."
)
"""The words of the specification."""
RESET_KEEPS = "This window's cells are emptied; the chapter itself is kept under Archived in the list (F5)."


def intro(*, is_locked: bool, is_read_only: bool) -> str:
    """Return the line above the cells."""
    if is_read_only:
        return READING
    return LOCKED if is_locked else INTRO
