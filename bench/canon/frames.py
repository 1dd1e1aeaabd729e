"""The kinds of planted facts, and the questions about each: frames around what describes its subject."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class FactKind(StrEnum):
    """Kind of a fact."""

    NAME = "a name"
    NUMBER = "a number"
    PROMISE = "a promise"
    POSSESSION = "who has what"
    STATE = "a change of state"
    SECRET = "a secret"


FRAMES: Final[Mapping[FactKind, tuple[str, ...]]] = {
    FactKind.NAME: (
        "How do people address the one {who}, there {where}?",
        "What is the name of the person {who} at the spot {where}?",
        "{where} you can meet someone {who}. Who is that?",
        "By which name should I greet the person at the spot {where} {who}?",
    ),
    FactKind.NUMBER: (
        "How many are there, {where}: each a {look} {what}?",
        "What total do you get for every {look} {what} at the spot {where}?",
        "Each is a {look} {what}, and all lie {where}. How many altogether?",
        "How large is the collection at the spot {where} in which each is a {look} {what}?",
    ),
    FactKind.PROMISE: (
        "What oath did the one {who} swear, there {where}?",
        "What did the person {who} at the spot {where} commit to?",
        "Someone {who} pledged something, and it was {where}: what was it?",
        "What does the person at the spot {where} {who} have to do to be as good as their word?",
    ),
    FactKind.POSSESSION: (
        "Who owns that {look} {what}?",
        "In whose hands is the {look} {what} these days?",
        "I mean the {what}, the one that is {look}. Who has got it?",
        "Whom do I have to ask if I want to borrow a {look} {what}?",
    ),
    FactKind.STATE: (
        "What happened to the home where someone lives {who}, close to {where}?",
        "Which fate had the home of the person {who} at the spot {where}?",
        "Someone {who} has a home {where}: what became of it?",
        "What would I see today at the spot {where} if I visited the home of someone {who}?",
    ),
    FactKind.SECRET: (
        "What hidden intention has the one {who}, there {where}?",
        "What does the person {who} at the spot {where} intend that nobody is aware of?",
        "Nobody should know about it, but what is the one {who} up to, {where}?",
        "Which scheme is kept quiet by the person at the spot {where} {who}?",
    ),
}
"""Questions in other words, several without a comma between the two descriptions.

`who`, `where`, `what` and `look` are descriptions of the person, the place, the thing and what it looks like.
No frame has a word of a fact or of a concept: then whether a fact can be asked about depends on its own
concepts alone, and a seed draws the same facts whatever the frames are.
"""
