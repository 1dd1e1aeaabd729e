"""Backups of the embedded database: dump, restore, rotation."""
