"""Reads numbers from the text of fields, files and models, and writes counts."""

MAX_DIGITS = 9
"""Maximum digits of a count, within the integers of the database."""


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun, such as `1 item` and `2,000 items`; without `many` an s is added."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def read_count(text: str) -> int | None:
    """Return the whole number in `text`, written in decimal digits only; None for anything else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MAX_DIGITS else None


def number_of(value: object, least: float, most: float) -> float | None:
    """Return the number that a value of a JSON file means, within bounds; None for anything else.

    A number may be written as text. True and false are not numbers.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # not a number
        return None
    return min(max(value, least), most)
