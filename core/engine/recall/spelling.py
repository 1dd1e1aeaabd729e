"""Names in a prompt that are spelled otherwise than in the story: “Kaara”, “Karas” (design 15).

A word with a capital that no item has is taken for the name that is most like it, among those that the
character who is asked knows: of its cast, its own other names, and of people and places in items that it may
recall. So no alias of another leads anywhere that the character does not know. Words are compared here and
not in the database, which need not have pg_trgm, and before recall, whose statement stays as fast as it is.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final

from core.domain.bank.recall import Scope, Sought, capitalised, words_of
from core.domain.session.cast import Character
from core.storage.bank_store import MOST_NAMES, BankStore
from core.text.analysis.trigrams import FEWEST_LETTERS, nearest

MOST_SUSPECTS: Final = 12
"""Words of one prompt that are looked up; the first ones."""


async def respelled(
    bank: BankStore, text: str, own: Character, cast: Iterable[str], scopes: Sequence[Scope]
) -> Mapping[str, str]:
    """Return for words of a prompt the words of the names that they are probably meant for.

    `cast` are the names of all characters, and `own` is the one that is asked. Raises StorageError.
    """
    known = set(_words((*cast, *own.profile.aliases)))
    told = (word for word in capitalised(text) if len(word) >= FEWEST_LETTERS and word not in known)
    suspects = tuple(dict.fromkeys(told))[:MOST_SUSPECTS]
    if not suspects or not scopes:
        return {}
    found = await bank.names(scopes, suspects)
    if not found.unknown:
        return {}
    names = known.union(_words(found.names))
    return await asyncio.to_thread(_meant, found.unknown, names)


def _meant(words: Iterable[str], names: Collection[str]) -> Mapping[str, str]:
    """Return the name that is most like a word, for those words where one is like it."""
    near = ((word, nearest(word, names)) for word in words)
    return {word: name for word, name in near if name is not None}


def with_names(words: Sequence[Sought], meant: Mapping[str, str]) -> Sequence[Sought]:
    """Return the words of a query, with the names in place of the words that are meant for them."""
    if not meant:
        return words
    return [replace(one, word=meant[one.word], is_name=True) if one.word in meant else one for one in words]


def _words(names: Iterable[str]) -> Iterable[str]:
    """Yield the words of names; very short ones are like too many others."""
    return chain.from_iterable(map(_words_of_name, names))


@lru_cache(maxsize=2 * MOST_NAMES)
def _words_of_name(name: str) -> Sequence[str]:
    """Return the words of a name: the same names come with every prompt."""
    return tuple(one.word for one in words_of(name) if len(one.word) >= FEWEST_LETTERS - 1)
