"""Tab 2: the transcript and the composer."""
