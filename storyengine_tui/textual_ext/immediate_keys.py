"""What a field does with a key before the next one comes."""

from textual import events
from textual.widget import Widget


async def act_at_once(field: Widget, event: events.Key) -> None:
    """Act on a key that is bound in `field` itself: a binding waits until it has bubbled up.

    What is typed next overtakes it then: a slow line brings many keys in one packet, and a Backspace among
    them deletes what stands before the cursor by the time it comes round.
    """
    for binding in field._bindings.key_to_bindings.get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return
