"""What ASGI applications are called with, and what our server passes them beyond ASGI.

Source: the ASGI specification, version 3.0.
"""

from collections.abc import Awaitable, Callable
from typing import Any

Message = Any  # a dict whose keys depend on its "type"
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# An extension in a scope: a future whose result is the message http.disconnect, once the client has left or has its
# whole answer. Only one task may wait for it, and may cancel it.
LEFT = "streamviz.left"
# A key of http.disconnect: why the client is gone, if the server itself cut it off.
WHY = "streamviz.why"
