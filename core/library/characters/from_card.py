"""Makes a character of a card, and writes what the GM changed of it into the card again (design 14).

A card that nothing was changed of is written as it was read. What a card has no field for (other names,
traits, topics, groups) goes into its extensions, once there is some of it, and is read from there again.
A card is text from outside: what gives it rights or a price is taken only where the GM says so.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from core.domain.ids import CharacterId
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import (
    GENERAL,
    LONGEST_MODEL,
    LONGEST_SHORT_DESCRIPTION,
    MOST_ALIASES,
    MOST_GROUPS,
    MOST_TAGS,
    lines_of,
)
from core.library.cards.card import Card, new_card
from core.library.characters.character import Imported, LibraryCharacter, Topic, Trait, record_of
from core.library.characters.checks import LONGEST_TEXT, MOST_TOPICS, MOST_TRAITS, cleaned_character
from core.text.canonical_json import canonical
from core.text.cleaning import clean_line, is_blank
from core.text.graphemes import head
from core.text.name_list import name_key
from core.text.numbers import counted

EXTENSION: Final = "story_engine"
GRANTED: Final = ("group", "groups_visible", "is_static", "model")
"""Fields that only the GM sets: groups decide who may know something, and a model has its price."""
_BETWEEN: Final = "\n\n"
_SENTIMENTS: Final = ("sentiment",)
Item = TypeVar("Item", Trait, Topic)


def identity_of(card: Card) -> str:
    """Return the identity in a card: its description and its personality."""
    return _BETWEEN.join(filter(str.strip, (card.text("description"), card.text("personality"))))


def other_names_of(card: Card) -> tuple[str, ...]:
    """Return the other names in a card, each once: its nickname, and those that this program wrote."""
    nickname = head(clean_line(card.text("nickname")), LONGEST_NAME)
    names = {name_key(card.name): ""}
    for one in (nickname, *_ours(card).get("aliases", ())):
        names.setdefault(name_key(one), one)
    return tuple(filter(None, names.values()))


def tags_of(card: Card) -> tuple[str, ...]:
    """Return the tags in a card as a chapter keeps them; far more, and longer ones, than cards have go."""
    return tuple(one for one in lines_of(card.texts("tags")) if len(one) <= LONGEST_NAME)[:MOST_TAGS]


def claims_of(card: Card) -> str:
    """Return what a card says of itself that only the GM can grant; empty where it says nothing of it."""
    read = _ours(card)
    group, visible = read.get("group", GENERAL), read.get("groups_visible", (GENERAL,))
    said = [f"group {group}"] if group != GENERAL else []
    if visible != (GENERAL,):
        said.append(f"sees {', '.join(visible)}" if visible else "sees no other group")
    said += ["static"] if read.get("is_static") else []
    said += [f"model {clean_line(read['model'])}"] if read.get("model") else []
    return "; ".join(said)


def brought_by(card: Card, taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return, in sentences, what this program wrote into a card, and what else it says of itself.

    Other names whose keys are in `taken` are left out.
    """
    read, names = _ours(card), [one for one in other_names_of(card) if name_key(one) not in taken]
    parts = ["a short description"] if read.get("short_description") else []
    parts += [counted(len(read[what + "s"]), what) for what in ("trait", "topic") if read.get(what + "s")]
    claims = claims_of(card)
    return (
        *((f"It is also called {', '.join(names)}.",) if names else ()),
        *((f"It brings {', '.join(parts)}.",) if parts else ()),
        *((f"It says of itself: {claims}.",) if claims else ()),
    )


def character_of(
    card: Card,
    character_id: CharacterId,
    name: str,
    taken: Collection[str],
    now: datetime,
    *,
    is_trusted: bool = False,
) -> LibraryCharacter:
    """Return the character in a card under a name that is free in the library.

    Its other names are left out whose keys are in `taken`, because someone else has them. Only of a card
    that is trusted its groups and its model are taken, and whether it is static.
    """
    identity = identity_of(card)
    read = {field: value for field, value in _ours(card).items() if is_trusted or field not in GRANTED}
    read.pop("aliases", None)
    aliases = [one for one in other_names_of(card) if name_key(one) not in taken]
    character = cleaned_character(
        LibraryCharacter(
            id=character_id,
            name=name,
            aliases=tuple(aliases[:MOST_ALIASES]),
            identity=identity,
            created_at=now,
            updated_at=now,
            **read,
        )
    )
    imported = Imported(character.name, character.identity, _rest_of(character))
    return replace(character, imported=imported)


def card_with(character: LibraryCharacter, card: Card | None) -> Card:
    """Return the card of a character with the GM's changes; a new one where it came from none."""
    imported = character.imported
    if card is None or imported is None:
        card = new_card({"name": character.name, "description": character.identity})
        return card.with_extension(EXTENSION, _written(character)) if _has_more(character) else card
    if character.name != imported.name:
        card = card.with_field("name", character.name)
    if character.identity != imported.identity:
        for field, text in _split(character.identity, card).items():
            card = card.with_field(field, text)
    if _rest_of(character) != imported.rest:
        before, there = json.loads(imported.rest), card.extensions.get(EXTENSION)
        # What the GM did not change stays as the card says it, also what was not taken from it.
        changed = {name: value for name, value in _written(character).items() if value != before.get(name)}
        card = card.with_extension(EXTENSION, {**(there if isinstance(there, dict) else {}), **changed})
        called = name_key(card.text("nickname"))
        if called in map(name_key, before["aliases"]) and called not in map(name_key, character.names):
            card = card.with_field("nickname", "")
    return card


def _split(identity: str, card: Card) -> dict[str, str]:
    """Return what becomes of description and personality; a text that was not changed stays where it is."""
    description, personality = card.text("description"), card.text("personality")
    if not personality.strip():
        return {"description": identity}
    if identity.endswith(_BETWEEN + personality):
        return {"description": identity.removesuffix(_BETWEEN + personality)}
    if description.strip() and identity.startswith(description + _BETWEEN):
        return {"personality": identity.removeprefix(description + _BETWEEN)}
    return {"description": identity, "personality": ""}


def _has_more(character: LibraryCharacter) -> bool:
    """Whether there is something of the character that a card has no field for."""
    plain = LibraryCharacter(
        id=character.id, name="", created_at=character.created_at, updated_at=character.updated_at
    )
    return _written(character) != _written(plain)


def _rest_of(character: LibraryCharacter) -> str:
    return canonical(_written(character)).decode()


def _written(character: LibraryCharacter) -> dict[str, Any]:
    return {
        "aliases": list(character.aliases),
        "short_description": character.short_description,
        "traits": [record_of(one) for one in character.traits],
        "topics": [record_of(one) for one in character.topics],
        "model": character.model,
        "group": character.group,
        "groups_visible": list(character.groups_visible),
        "is_static": character.is_static,
    }


def _ours(card: Card) -> dict[str, Any]:
    ours = card.extensions.get(EXTENSION)
    return _read(ours) if isinstance(ours, dict) else {}


def _read(ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that another copy of this program wrote, brought into their bounds."""
    visible = ours.get("groups_visible")
    return {
        "aliases": tuple(_lines(ours.get("aliases"), MOST_ALIASES)),
        "short_description": head(_text(ours.get("short_description")), LONGEST_SHORT_DESCRIPTION),
        "traits": _items(ours.get("traits"), MOST_TRAITS, Trait(name="")),
        "topics": _items(ours.get("topics"), MOST_TOPICS, Topic(name="")),
        "model": head(_text(ours.get("model")), LONGEST_MODEL),
        "group": head(clean_line(_text(ours.get("group"))), LONGEST_NAME) or GENERAL,
        "groups_visible": (
            tuple(_lines(visible, MOST_GROUPS - 1)) if isinstance(visible, list) else (GENERAL,)
        ),
        "is_static": ours.get("is_static") is True,
    }


def _items(found: object, most: int, plain: Item) -> tuple[Item, ...]:
    """Return the traits or the topics in a list, each name once; `plain` has what is not said."""
    items: dict[str, Item] = {}
    for one in found[: 10 * most] if isinstance(found, list) else ():
        name = head(clean_line(_text(one.get("name"))), LONGEST_NAME) if isinstance(one, dict) else ""
        if is_blank(name) or name_key(name) in items or len(items) == most:
            continue
        values: dict[str, Any] = {"name": name}
        for field in fields(plain):
            value = one.get(field.name)
            if field.type is float or field.type == "float":
                least = -1.0 if field.name in _SENTIMENTS else 0.0
                is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
                values[field.name] = (
                    float(min(max(value, least), 1.0)) if is_number else getattr(plain, field.name)
                )
            elif field.name != "name":
                values[field.name] = head(_text(value), LONGEST_TEXT)
        items[name_key(name)] = replace(plain, **values)
    return tuple(items.values())


def _lines(found: object, most: int) -> list[str]:
    lines = [clean_line(_text(one)) for one in found[: 10 * most]] if isinstance(found, list) else []
    return [line for one in lines if (line := head(one, LONGEST_NAME).strip())][:most]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
