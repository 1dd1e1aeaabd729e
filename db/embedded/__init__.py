"""The private PostgreSQL of one user (design 11).

`server.py` runs in the program; `supervisor.py` is a detached process that owns the server and stops it when
no process holds the clients' lock. The supervisor runs isolated and imports the standard library and this
package only, so nothing is imported here. A user waits for its start, so it imports little: no dataclasses,
for example, which import `inspect`.
"""
