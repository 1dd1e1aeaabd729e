"""Save points, from which a session can be restored."""
