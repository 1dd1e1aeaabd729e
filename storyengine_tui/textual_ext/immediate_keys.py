"""Runs a field's own key bindings before the next key is read (`Part.IMMEDIATE_KEYS`)."""

from textual import events
from textual.widget import Widget

from storyengine_tui.textual_ext.parts import Part, is_enabled


async def run_binding_now(field: Widget, event: events.Key) -> None:
    """Run the binding that `field` itself has for a key, if there is one.

    Textual runs bindings after the key has bubbled up, and keys typed next overtake it: a slow line brings
    many keys in one packet, and a Backspace among them would delete a later character.
    """
    if not is_enabled(Part.IMMEDIATE_KEYS):
        return
    for binding in field._bindings.key_to_bindings.get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return
