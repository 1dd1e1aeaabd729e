"""Save slots: points to which a session can be restored."""
