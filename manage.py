#!/usr/bin/env python
"""Run a management command: `python manage.py COMMAND`. `make run` runs `up`."""

from streamviz.__main__ import main

if __name__ == "__main__":
    main()
