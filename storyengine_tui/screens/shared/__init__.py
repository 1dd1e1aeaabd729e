"""Parts that several screens share: base classes, autosave, and files of typed text."""
