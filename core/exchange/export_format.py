"""The versions of an export: how each is checked, and how its body becomes one of the newest version.

A checksum is of the document's own body as parsed, never of what the program makes of it: a field that is
added later has a default, and leaves every earlier file readable. A change that a default cannot express is a
new version, with one more function in `_UPGRADES`. A reader of a version is never removed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard

FORMAT: Final = "storyengine-session"
VERSION: Final = 2

Body = dict[str, Any]


def is_known(version: object) -> TypeGuard[int]:
    """Whether this program reads exports of a version."""
    return type(version) is int and (version == VERSION or version in _UPGRADES)


def upgraded(version: int, body: Body) -> Body:
    """Return the body of an export of `version` as one of the newest version."""
    while version < VERSION:
        body = _UPGRADES[version](body)
        version += 1
    return body


def _from_1_to_2(body: Body) -> Body:
    """Version 1 has the same body; its checksum was of what the program of that time read and wrote again.

    Of a file that it wrote these are the same bytes.
    """
    return body


_UPGRADES: Final[Mapping[int, Callable[[Body], Body]]] = {1: _from_1_to_2}
"""By the version that each begins with; all are applied in turn."""
