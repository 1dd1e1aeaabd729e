"""Runs a field's own key bindings before the next key is read."""

from collections.abc import Mapping
from functools import cache

from textual import events
from textual.binding import Binding
from textual.widget import Widget


async def run_binding_now(field: Widget, event: events.Key) -> None:
    """Run the binding that the class of `field` has for a key, if there is one.

    Textual runs bindings after the key has bubbled up, and keys typed next overtake it: a slow line brings
    many keys in one packet, and a Backspace among them would delete a later character. A text area would
    also insert a line at Enter before a binding of Enter is asked.
    """
    for binding in _bindings_of(type(field)).get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return


@cache
def _bindings_of(kind: type[Widget]) -> Mapping[str, tuple[Binding, ...]]:
    """Return the bindings of a class of widgets by key; for one key those of the class nearest to `kind`."""
    found: dict[str, tuple[Binding, ...]] = {}
    for base in reversed(kind.__mro__):
        own: dict[str, tuple[Binding, ...]] = {}
        for binding in Binding.make_bindings(base.__dict__.get("BINDINGS", ())):
            own[binding.key] = (*own.get(binding.key, ()), binding)
        found |= own
    return found
