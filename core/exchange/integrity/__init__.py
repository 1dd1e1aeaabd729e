"""Checks of an export: that its parts belong together, before anything of it is stored."""
