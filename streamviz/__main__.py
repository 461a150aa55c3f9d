"""`streamviz COMMAND` or `python -m streamviz COMMAND`; in a clone `python manage.py COMMAND`. `up` runs everything."""

import errno
import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamviz.faults import Fault


# Errors that say that there is no room for what a command writes.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Stopped(BaseException):
    """A signal told the command to end. It ends as with Ctrl-C, so that it removes what it has half written."""

    def __init__(self, number: int) -> None:
        self.number = number


def main() -> None:
    """Pass the command line to Django. What a person can fix is reported in one line, without a traceback. If nobody
    reads the output, as after `| head`, or it is told to stop, it ends as other tools do."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _stop)
    try:
        _run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "streamviz":
            raise
        _run_in_venv()
        sys.exit(f"streamviz: the Python package {package!r} is not installed. Run `make install`.")
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
    except _Stopped as stopped:
        _end_by(stopped.number)
    except BrokenPipeError:
        _print_no_more()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _print_no_more()
        sys.exit(f"streamviz: {error.filename or 'standard output'}: {error.strerror}.")
    # Otherwise Python would end itself with SIGINT if Ctrl-C had come while it ran code from a string, as dataclasses
    # are made by: it takes the KeyboardInterrupt for unhandled even if somebody caught it.
    sys.exit()


def _stop(number: int, _: object) -> None:
    raise _Stopped(number)


def _end_by(number: int) -> None:
    """End as if the signal had not been caught: shells and supervisors tell that from a failure."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _run_in_venv() -> None:
    """Start again with the Python of the clone's .venv, where `make install` puts the packages, if there is one and
    this is another."""
    clone = Path(__file__).resolve().parent.parent
    python = str(clone / ".venv" / "bin" / "python")
    if os.access(python, os.X_OK) and sys.executable != python:
        os.execv(python, [python, str(clone / "manage.py"), *sys.argv[1:]])  # noqa: S606


def _print_no_more() -> None:
    """Output that is still buffered would fail again when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        from streamviz.version import version

        print(f"streamviz {version()}")
        return
    gc.set_threshold(20_000)  # what is imported stays: scanning it after every 700 objects is a tenth of a start
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError

    from streamviz.faults import Fault, Refused, end_with

    try:
        if sys.argv[1:2] == ["runserver"]:
            raise Fault("`runserver` is Django's, which serves no models. Use `up`, or `serve` with a DATABASE_URL.")
        _execute()
    except ImproperlyConfigured as error:
        end_with(Refused(error))
    except Fault as fault:
        end_with(fault)
    except CommandError as error:
        print(f"streamviz: {error}", file=sys.stderr)
        sys.exit(error.returncode)
    except Exception as error:
        if (found := _of_the_database(error)) is None:
            raise
        end_with(found)


def _execute() -> None:
    """Raises BrokenPipeError also if nobody reads what was still buffered."""
    from streamviz.ops.command_line import CommandLine

    try:
        CommandLine(sys.argv).execute()
    finally:
        sys.stdout.flush()


def _of_the_database(error: BaseException) -> "Fault | None":
    from django.db.migrations.exceptions import MigrationSchemaMissing
    from psycopg import Error

    if isinstance(error, MigrationSchemaMissing):  # raised while another error is handled
        error = error.__context__ or error
    cause = error.__cause__ or error  # Django's errors have the driver's as their cause
    if not isinstance(cause, Error):
        return None
    from streamviz.ops.database_faults import fault_of

    return fault_of(cause)


if __name__ == "__main__":
    main()
