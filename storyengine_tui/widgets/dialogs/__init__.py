"""Screens over the chapter that ask or tell."""
