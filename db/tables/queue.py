"""State that the windows of one database share: whether the queue is paused, and the places of accounts."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint
from sqlmodel import Field

from db.tables import columns as column
from db.tables.columns import Row


class QueueStateRow(Row, table=True):
    """The one row that says whether the queue is paused; missing until the first pause."""

    __tablename__ = "queue_state"
    __table_args__ = (CheckConstraint("id = 1", name="one"),)

    id: int = Field(primary_key=True, sa_type=column.SMALL, sa_column_kwargs={"autoincrement": False})
    is_paused: bool


class LaneCallRow(Row, table=True):
    """A call that runs, or waits, at an account that takes only so many at a time.

    The function `storyengine_take_place` writes it, and removes those of windows that are gone.
    """

    __tablename__ = "lane_call"
    __table_args__ = (column.of_session(), CheckConstraint("level BETWEEN 0 AND 2", name="level"))

    session_id: UUID = column.key()
    request_id: UUID = column.key()
    account: str = column.text()
    level: int = column.small()
    is_story: bool
    is_running: bool
    is_put_back: bool
    writer_epoch: int
    writer_lock: int = Field(sa_type=column.BIG)
    waiting_since: datetime = column.time()
