"""An app that may survive an exception in a message handler, and is told of the workers that failed.

Both are `Part.CRASH_RECOVERY`.
"""

import logging
from inspect import iscoroutine
from typing import Any

from rich.console import RenderableType
from textual.app import App
from textual.worker import Worker, WorkerState
from textual.worker_manager import WorkerManager

from storyengine_tui.textual_ext.parts import Part, is_enabled, tested_or

log = logging.getLogger(__name__)


class PlainApp(App[None]):
    """An app that ends after such an exception, as Textual's does."""

    has_exited = False
    """Whether `exit` was called."""

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Exit, and note that the app does."""
        self.has_exited = True
        super().exit(result, return_code, message)

    def survives(self, error: Exception) -> bool:
        """Whether the app handles `error`; only asked where the part is enabled. To be overridden."""
        return False

    def record_exception(self, error: Exception) -> None:
        """Note `error` for the code that runs the app; Textual does this itself where the part is off."""


class ReportingWorkers(WorkerManager):
    """Tells the app of work of any widget that failed and was not ended: Textual tells the widget alone.

    Textual removes the children of a widget before it cancels the widget's work, which may then look for
    a child that is gone. Such an error harms nothing, and is logged alone.
    """

    def _remove_worker(self, worker: Worker[Any]) -> None:
        super()._remove_worker(worker)
        if iscoroutine(worker._work):
            # It may have been ended before it began; Python would warn about that on the terminal.
            worker._work.close()
        has_failed = worker.state is WorkerState.ERROR and not worker.is_cancelled
        is_told = worker.exit_on_error or worker.node is self._app
        if not has_failed or is_told or not is_enabled(Part.CRASH_RECOVERY):
            return
        if worker.node._pruning:
            log.info("the work of %s failed while it was removed", worker.node, exc_info=worker.error)
        else:
            self._app.post_message(Worker.StateChanged(worker, worker.state))


@tested_or(PlainApp)
class CrashRecoveryApp(PlainApp):
    """Asks `survives` before Textual ends the app.

    After an exception Textual stops the message pump of the widget, so anything that awaits it hangs: an app
    that survives closes in order and is replaced by another one.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._workers = ReportingWorkers(self)

    def _handle_exception(self, error: Exception) -> None:
        if not is_enabled(Part.CRASH_RECOVERY) or not self.survives(error):
            super()._handle_exception(error)

    def record_exception(self, error: Exception) -> None:
        """Note the first `error` where Pilot and `App.run` look for it."""
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
