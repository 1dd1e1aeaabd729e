"""Read-only queries on a private server, which neither start nor disturb it."""

import os
from pathlib import Path
from typing import NamedTuple

from db.embedded.machine.access import DATABASE
from db.embedded.machine.probe import is_accepting
from db.embedded.server import EmbeddedServer
from db.embedded.state import Phase, ServerState


class ServerStatus(NamedTuple):
    """The last report of a server's supervisor, held against what runs now."""

    is_running: bool
    is_supervised: bool
    phase: Phase
    pid: int
    supervisor: int
    data: str
    socket_dir: str
    notification: str
    problem: str


def status_of(server: EmbeddedServer) -> ServerStatus:
    """Return the state of a server, which need not run."""
    state = ServerState.read(server._home)
    is_supervised = server.is_supervised()
    phase = state.phase
    if is_supervised and phase is Phase.STOPPED:
        phase = Phase.STARTING
    elif not is_supervised and phase is not Phase.FAILED:
        phase = Phase.STOPPED
    return ServerStatus(
        is_running=bool(state.socket_dir) and is_accepting(Path(state.socket_dir)),
        is_supervised=is_supervised,
        phase=phase,
        pid=state.pid,
        supervisor=state.supervisor,
        data=state.data,
        socket_dir=state.socket_dir,
        notification=state.notification,
        problem=f"{state.message} {state.hint}".strip(),
    )


def client_environment(server: EmbeddedServer, database: str = DATABASE) -> dict[str, str]:
    """Return an environment in which `pg_dump` and its like connect without arguments."""
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PG")}
    return kept | {names[key]: text for key, text in server.connection_parameters(database).items()}
