"""The floor: a Textual application with one text area and nothing else.

    python -m bench.screen.floor [--with-database]

With `--with-database` it has also made an engine of SQLAlchemy for PostgreSQL, as psycopg connects to it,
without connecting: what a program with a database holds in memory, whatever it does.
"""

import sys

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class FloorApp(App[None]):
    """The cost of Textual itself; nothing that has a field to type in can be quicker."""

    def compose(self) -> ComposeResult:
        """Compose the text area."""
        yield TextArea()


def load_database() -> None:
    """Import the parts of SQLAlchemy and psycopg that an asynchronous program with mapped tables needs."""
    import sqlalchemy.orm
    from sqlalchemy.ext.asyncio import create_async_engine

    sqlalchemy.orm.configure_mappers()
    create_async_engine("postgresql+psycopg://nobody@/nothing")


if __name__ == "__main__":
    if "--with-database" in sys.argv[1:]:
        load_database()
    FloorApp().run()
