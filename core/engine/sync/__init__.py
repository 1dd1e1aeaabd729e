"""The writer of a session, the followers of other windows, and notifications."""
