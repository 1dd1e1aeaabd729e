"""Parts of chapter scripts."""

KARA_JOSS_INES = """\
[[agent]]
name = "Kara"
[[agent]]
name = "Joss"
[[agent]]
name = "Ines"
"""
"""The cast of a script."""
