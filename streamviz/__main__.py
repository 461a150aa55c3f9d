"""`streamviz COMMAND` or `python -m streamviz COMMAND`; in a clone `python manage.py COMMAND`. `up` runs everything."""

import os
import sys


def main() -> None:
    """Hand the command line to Django; what a person can put right is said in one line, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    try:
        _run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "streamviz":
            raise
        sys.exit(f"streamviz: the Python package {package!r} is not installed. Run `make install`.")


def _run() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from psycopg import OperationalError

    from streamviz.faults import Fault

    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, Fault) as error:
        sys.exit(f"streamviz: {error}")
    except Exception as error:
        # Django's has the driver's as its cause. One that Postgres itself did not send is of a connection.
        cause = error.__cause__ or error
        if not isinstance(cause, OperationalError) or cause.sqlstate:
            raise
        from streamviz.ops.checks import no_database

        sys.exit(f"streamviz: {no_database(cause)}")


if __name__ == "__main__":
    main()
