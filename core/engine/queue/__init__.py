"""The queue of requests of a chapter: workers, commands, and the list of requests."""
