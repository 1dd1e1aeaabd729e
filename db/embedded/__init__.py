"""The private PostgreSQL of one user (design 11).

`server.py` is the side of the program; `supervisor.py` is a detached process that owns the server and stops
it when no process holds the clients' lock. The supervisor runs isolated and imports the standard library
and this package only, so nothing is imported here. A user waits for its start, so what it imports is kept
small: no dataclasses, for one, which bring `inspect` along.
"""
