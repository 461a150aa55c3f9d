"""The event loop of a process that serves: uvloop's, with Twisted's reactor on it.

Import this before anything that imports Twisted's reactor, as Daphne does: the first import decides.
"""

from typing import Any

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())

from twisted.internet import reactor as installed_reactor  # noqa: E402

reactor: Any = installed_reactor  # a module made at its first import, with a type that depends on that
