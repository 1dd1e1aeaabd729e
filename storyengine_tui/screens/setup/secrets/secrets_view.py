"""Content of tab 1 on secrets, and a typed one as secrets to store; without widgets (design 13)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.context.visibility import names_of
from core.domain.audience import NOBODY, Audience
from core.domain.session.profile import audience_of_groups, groups_in
from core.domain.session.session import Session
from core.domain.story.secret import (
    LATEST_REVEAL,
    LONGEST_SECRET,
    LONGEST_SECRETS,
    MOST_SECRETS,
    Reveal,
    Secret,
    label_of,
)
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean, clean_line, is_blank
from core.text.graphemes import head, without_cut_word
from core.text.numbers import read_count

FIRST_WORDS = 40
"""Characters of a secret by which a question names it."""
NO_TEXT = "A secret without a text is not stored; delete it on tab 1 with d."
NO_NUMBER = "A reveal is planned at prompt 1 or a later one."


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSecret:
    """One secret as it was typed."""

    text: str
    known_by: Audience
    groups: tuple[str, ...] = ()
    reveal_at: str
    reveal_to: Audience

    def put_into(self, snapshot: Snapshot, number: int) -> tuple[tuple[Secret, ...], str]:
        """Return the secrets with the valid part of this one, and the problems of the rest.

        `number` is its place; the one behind the last adds it.
        """
        before = find(snapshot, number)
        text, problems = clean(self.text).strip(), []
        if is_blank(text) and before is None:
            return snapshot.secrets, ""
        if is_blank(text) and before is not None:
            text = before.text
            problems.append(NO_TEXT)
        at, to = (before.reveal_at, before.reveal_to) if before is not None else (None, None)
        problem = self._plan_problem(snapshot.session)
        if problem:
            problems.append(problem)
        else:
            at, to = read_count(self.reveal_at), self.reveal_to if self.reveal_to.slots else None
        made = Secret(
            number=number, text=text, known_by=self.known_by, groups=self.groups, reveal_at=at, reveal_to=to
        )
        secrets = (*snapshot.secrets[: number - 1], made, *snapshot.secrets[number:])
        return secrets, "".join(problems[:1])

    def _plan_problem(self, session: Session) -> str:
        at, is_planned = read_count(self.reveal_at), bool(self.reveal_to.slots)
        if not self.reveal_at.strip():
            names = names_of(self.reveal_to, session)
            return f"Type the prompt at which it is revealed to {names}." if is_planned else ""
        if at is None or not 1 <= at <= LATEST_REVEAL:
            return NO_NUMBER
        return "" if is_planned else f"Choose who learns it at prompt {at:,}."


def known_line(typed: TypedSecret, snapshot: Snapshot, number: int) -> str:
    """Return who of those who are to learn a secret knows it already; empty if no one does.

    A reveal to the whole cast is for those who do not know it; so it is said only where no one is left.
    """
    session, to = snapshot.session, snapshot.session.audience_of(typed.reveal_to)
    known = typed.known_by
    if typed.groups:
        known |= audience_of_groups(typed.groups, session.slots, snapshot.tab1.profiles)
    for reveal in snapshot.reveals:
        known |= reveal.audience if reveal.number == number else NOBODY
    both = [slot for slot in session.slots if slot in known and slot in to]
    if not both or (to.is_everyone and len(both) < len(session.slots)):
        return ""
    names = names_of(Audience.of(both), session)
    return f"Known already to {names}."


def typed_of(secret: Secret | None) -> TypedSecret:
    """Return the fields that show a secret; without one, those of a new one."""
    if secret is None:
        return TypedSecret(text="", known_by=NOBODY, reveal_at="", reveal_to=NOBODY)
    return TypedSecret(
        text=secret.text,
        known_by=secret.known_by,
        groups=secret.groups,
        reveal_at=str(secret.reveal_at or ""),
        reveal_to=secret.reveal_to or NOBODY,
    )


def find(snapshot: Snapshot, number: int) -> Secret | None:
    """Return the secret with this number, or None."""
    return snapshot.secrets[number - 1] if 0 < number <= len(snapshot.secrets) else None


def without(secrets: Sequence[Secret], number: int) -> list[Secret]:
    """Return the secrets without one; those behind it move up."""
    return [secret for secret in secrets if secret.number != number]


def room_for(snapshot: Snapshot, number: int) -> int:
    """Return how many characters a secret can have."""
    others = sum(len(secret.text) for secret in snapshot.secrets if secret.number != number)
    return max(0, min(LONGEST_SECRET, LONGEST_SECRETS - others))


def why_no_more(snapshot: Snapshot) -> str:
    """Return why no secret can be added; empty if one can."""
    if len(snapshot.secrets) >= MOST_SECRETS:
        return f"A chapter has at most {MOST_SECRETS} secrets."
    if not room_for(snapshot, len(snapshot.secrets) + 1):
        return f"All secrets of a chapter together have at most {LONGEST_SECRETS:,} characters."
    return ""


def rows_of(
    secrets: Sequence[Secret], reveals: Sequence[Reveal], session: Session
) -> Iterator[tuple[str, str]]:
    """Yield the text of each secret on one line, and below it who knows it and what is planned."""
    for secret in secrets:
        yield f"{secret.number} {clean_line(secret.text)}", "; ".join(_knowledge(secret, reveals, session))


def _knowledge(secret: Secret, reveals: Sequence[Reveal], session: Session) -> Iterator[str]:
    label = label_of(secret, reveals)
    yield f"known to {names_of(label, session)}"
    if secret.groups:
        yield among_them(secret.groups)
    for reveal in reveals:
        if reveal.number == secret.number:
            after = f"after prompt {reveal.prompt_index:,}" if reveal.prompt_index else "before prompt 1"
            yield f"revealed {after}"
    if plan := plan_of(secret, label, session):
        yield plan


def among_them(groups: Sequence[str]) -> str:
    """Return in words that those who see these groups know a secret."""
    return f"those who see {' or '.join(map(clean_line, groups))} are among them"


def seeing_line(groups: Sequence[str], snapshot: Snapshot) -> str:
    """Return who sees groups of a secret now; empty without groups."""
    if not groups:
        return ""
    session = snapshot.session
    seeing = audience_of_groups(groups, session.slots, snapshot.tab1.profiles)
    when = "at the lock" if session.tab1_locked else "now"
    return f"And those who see {' or '.join(map(clean_line, groups))}; {when}: {names_of(seeing, session)}"


def plan_of(secret: Secret, label: Audience, session: Session) -> str:
    """Return the planned reveal in words; empty without a plan, or if all of `label` know it already."""
    if secret.reveal_at is None or secret.reveal_to is None or label.includes(secret.reveal_to):
        return ""
    return f"revealed to {names_of(secret.reveal_to, session)} at prompt {secret.reveal_at:,}"


def locked_lines(snapshot: Snapshot) -> list[str]:
    """Return what the lock dialog says about the secrets: who will know which, and when."""
    if not snapshot.secrets:
        return []
    lines = ["", "Who knows which secret; more can be added later, and these stay as they are:"]
    for secret in snapshot.secrets_now:
        known = names_of(secret.known_by, snapshot.session)
        groups = among_them(secret.groups) if secret.groups else ""
        plan = plan_of(secret, secret.known_by, snapshot.session)
        lines.append(f"  • “{first_words(secret.text)}” – {'; '.join(filter(None, (known, groups, plan)))}")
    return lines


def group_lines(snapshot: Snapshot) -> list[str]:
    """Return what the lock dialog says about groups, where characters have some: who sees which."""
    session, profiles = snapshot.session, snapshot.tab1.profiles
    groups = groups_in(session.slots, profiles)
    seen = [(group, audience_of_groups((group,), session.slots, profiles)) for group in groups]
    lines = [f"  • {group}: {names_of(audience, session)}" for group, audience in seen]
    return (
        ["", "Who knows the secrets and lore of each group; these stay as they are:", *lines] if lines else []
    )


def first_words(text: str) -> str:
    """Return the beginning of a text on one line, up to the end of a word."""
    line = clean_line(text)
    if len(line) <= FIRST_WORDS:
        return line
    return without_cut_word(head(line, FIRST_WORDS), line).rstrip() + "…"
