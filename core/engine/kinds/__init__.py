"""The kinds of requests: what carries each out, and what its outcome makes of a session."""
