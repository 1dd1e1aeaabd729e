"""The app and its life cycle."""
