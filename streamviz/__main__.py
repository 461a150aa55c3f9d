"""`streamviz COMMAND` or `python -m streamviz COMMAND`; in a clone `python manage.py COMMAND`. `up` runs everything."""

import os
import sys


def main() -> None:
    """Hand the command line to Django; what a person can put right is said in one line, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line

        from streamviz.faults import Fault

        try:
            execute_from_command_line(sys.argv)
        except (ImproperlyConfigured, Fault) as error:
            sys.exit(f"streamviz: {error}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "streamviz":
            raise
        sys.exit(f"streamviz: the Python package {package!r} is not installed. Run `make install`.")


if __name__ == "__main__":
    main()
