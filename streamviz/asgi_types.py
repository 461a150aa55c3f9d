"""What ASGI applications are called with, and what our server tells them beyond ASGI.

Source: the ASGI specification, version 3.0.
"""

from collections.abc import Awaitable, Callable
from typing import Any

Message = Any  # a dict whose keys depend on its "type"
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# An extension in a scope: a future that has the message http.disconnect once the client has left, or has all of its
# answer. It is for one to wait for, who may cancel it.
LEFT = "streamviz.left"
# A key of http.disconnect: why the client is gone, where the server itself cut it off.
WHY = "streamviz.why"
