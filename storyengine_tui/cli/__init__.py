"""The command line: `storyengine` and its commands."""

import gc
import io
import os
import signal
import sys

from core.config.files.private_files import OTHERS
from storyengine_tui.cli.exit_codes import STOPPED, ExitCode


def main() -> None:
    """Run the command line."""
    try:
        _main()
    except KeyboardInterrupt:
        # Mostly while it is imported, for half a second; a command that runs is stopped in `running`.
        sys.stderr.write(f"{STOPPED}\n")
        raise SystemExit(ExitCode.INTERRUPTED) from None
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # All is done but the end of Python, which would show where one more Ctrl+C has met it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _main() -> None:
    _reopen_closed_streams()
    _print_in_any_encoding()
    # Before the log is made: other users can read nothing that we write.
    os.umask(OTHERS)
    if not sys.argv[1:]:
        # Only the screen, which must appear at once: import no command, and do not collect garbage among
        # objects that stay anyway. The app turns that on again after its start.
        gc.disable()
        from storyengine_tui.cli.commands.chapter.open_app import open_app

        sys.exit(open_app())
    from storyengine_tui.cli.app import app
    from storyengine_tui.cli.running import code_of_broken_output

    try:
        app()
    except OSError as error:  # from output without a command: the help, the version
        code = code_of_broken_output(error)
        if code is None:
            raise
        sys.exit(code)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # click ends with 1 when the pipe is closed
            end.code = 0
        raise


def _reopen_closed_streams() -> None:
    """Reopen standard streams that were closed (`>&-`), so that no socket gets their number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115 - stays to the end


def _print_in_any_encoding() -> None:
    """Print a question mark for a character that the encoding of the output lacks, as in ISO 8859-1.

    What a command says last, when everything is stored, would end it as a bug.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")
