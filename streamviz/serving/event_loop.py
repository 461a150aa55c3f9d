"""The event loop of a process that serves: uvloop's, with Twisted's reactor on it.

To be imported before anything that imports Twisted's reactor, which Daphne does: the first to come decides.
"""

from typing import Any

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())

from twisted.internet import reactor as installed_reactor  # noqa: E402

reactor: Any = installed_reactor  # a module that is made when it is first imported, of a type that depends on that
