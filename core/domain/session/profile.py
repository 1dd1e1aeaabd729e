"""Data of a character in a slot, besides name and identity (design 14).

It is entered with the other texts of tab 1, and locked with them, so data derived from it, such as the
audiences of lore, does not change later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.domain.audience import Audience, audience_of
from core.domain.ids import CharacterId
from core.domain.session.limits import LONGEST_NAME
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from core.text.name_list import name_key

GENERAL: Final = "General"
"""The group of a character and of an item that name none."""
MOST_ALIASES: Final = 20
MOST_GROUPS: Final = 20
LONGEST_SHORT_DESCRIPTION: Final = 500
LONGEST_MODEL: Final = 200
MOST_TAGS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Data of a character in a slot; empty for a slot made by hand."""

    character_id: CharacterId | None = None
    """The character of the library that it was taken from. It may be in another library, or deleted since."""
    aliases: tuple[str, ...] = ()
    """Other names under which it is found."""
    short_description: str = ""
    """The description that the others on stage are given."""
    group: str = GENERAL
    groups_visible: tuple[str, ...] = (GENERAL,)
    """The groups that it may see besides its own; none means that it sees its own alone."""
    model: str = ""
    """The model that is to play it, as `account:model`; empty for the one that its slot has."""
    tags: tuple[str, ...] = ()
    """The tags of its card, by which entries of lorebooks are for it or not."""

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return self != NO_PROFILE

    def sees(self, groups: Iterable[str]) -> bool:
        """Whether it sees one of these groups: its own, or one that it may see; none stands for General."""
        seen = {name_key(group) for group in (self.group, *self.groups_visible)}
        return not seen.isdisjoint(map(name_key, tuple(groups) or (GENERAL,)))


NO_PROFILE: Final = Profile()
ADDED: Final = ("model", "tags")
"""Fields that older profiles do not have; they are stored and written only where they say something."""
Profiles = Mapping[Slot, Profile]


def audience_of_groups(groups: Iterable[str], slots: Iterable[Slot], profiles: Profiles) -> Audience:
    """Return who of a cast may know what is tagged with these groups; without any it is General.

    A character sees it that sees one of them. A slot that was made by hand sees General.
    """
    cast, tags = tuple(slots), tuple(groups)
    return audience_of((slot for slot in cast if profiles.get(slot, NO_PROFILE).sees(tags)), cast)


def without_models(profiles: Profiles) -> Profiles:
    """Return profiles from elsewhere as they are taken: what another wrote chooses no model, which costs."""
    bare = {slot: replace(profile, model="") for slot, profile in profiles.items()}
    return {slot: profile for slot, profile in bare.items() if profile}


def groups_in(slots: Iterable[Slot], profiles: Profiles) -> tuple[str, ...]:
    """Return the groups that characters of a cast belong to or see; none where there is but General."""
    of_cast = [profiles.get(slot, NO_PROFILE) for slot in slots]
    groups = lines_of((GENERAL, *(group for one in of_cast for group in (one.group, *one.groups_visible))))
    return groups if len(groups) > 1 else ()


def cleaned_profile(profile: Profile) -> Profile:
    """Return the same with each text on one line, and each list without blanks and repetitions."""
    return replace(
        profile,
        aliases=lines_of(profile.aliases),
        short_description=clean_line(profile.short_description),
        group=clean_line(profile.group) or GENERAL,
        groups_visible=lines_of(profile.groups_visible),
        model=clean_line(profile.model),
        tags=lines_of(profile.tags),
    )


def lines_of(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return names without blanks; of several spellings of one, the first."""
    found: dict[str, str] = {}
    for line in filter(None, map(clean_line, texts)):
        found.setdefault(name_key(line), line)
    return tuple(found.values())


def profile_text(profile: Profile) -> str:
    """Return a profile on one line; empty for one that says nothing."""
    said = ["From the library"] if profile.character_id is not None else []
    said.append(f"also {', '.join(profile.aliases)}" if profile.aliases else "")
    said.append(profile.short_description)
    said.append("" if profile.group == GENERAL else f"group {profile.group}")
    if profile.groups_visible != (GENERAL,):
        seen = ", ".join(one for one in profile.groups_visible if one != profile.group)
        said.append(f"sees {seen}" if seen else "sees no other group")
    said.append(f"model {profile.model}" if profile.model else "")
    return " · ".join(filter(None, said))


def problems_of_profile(profile: Profile) -> Iterator[str]:
    """Yield, in sentences, what keeps a profile from being stored; it is cleaned before."""
    if len(profile.aliases) > MOST_ALIASES or any(len(one) > LONGEST_NAME for one in profile.aliases):
        yield f"A character has at most {MOST_ALIASES} other names of {LONGEST_NAME} characters each."
    yield from problems_of_group_names((profile.group, *profile.groups_visible))
    length = len(profile.short_description)
    if length > LONGEST_SHORT_DESCRIPTION:
        yield (
            f"The short description of a character has at most {LONGEST_SHORT_DESCRIPTION:,} characters; "
            f"this one has {length:,}."
        )
    if len(profile.tags) > MOST_TAGS or any(len(one) > LONGEST_NAME for one in profile.tags):
        yield f"A character has at most {MOST_TAGS} tags of {LONGEST_NAME} characters each."
    if len(profile.model) > LONGEST_MODEL:
        yield (
            f"The model of a character has at most {LONGEST_MODEL:,} characters; "
            f"this one has {len(profile.model):,}."
        )


def problems_of_group_names(groups: Sequence[str]) -> Iterator[str]:
    """Yield a sentence where groups of a character or of a secret are too many, or their names too long."""
    if len(groups) > MOST_GROUPS or any(len(one) > LONGEST_NAME for one in groups):
        yield f"There are at most {MOST_GROUPS} groups, each with a name of {LONGEST_NAME} characters."
