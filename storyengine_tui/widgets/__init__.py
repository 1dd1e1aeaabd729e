"""Widgets that any screen can use; they talk by messages and know nothing above them.

Their looks are in `notes.tcss` and `widgets.tcss`, which the app loads beside its own styles.
"""
