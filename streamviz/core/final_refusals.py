"""Answers that a provider's filter ended, for clients of OpenAI's responses that ask for the rest of an incomplete one.

The model of another vendor would refuse each time, so for these clients the answer has failed.
"""

from collections.abc import Iterable

from streamviz.core import sse
from streamviz.core.context import OURSELVES, Frame
from streamviz.core.errors import TOLD_FINAL
from streamviz.core.json_value import as_object, encode, object_in
from streamviz.core.sse import SSEParser

_INCOMPLETE, _FAILED = b'"response.incomplete"', "response.failed"
_ERROR = {"code": TOLD_FINAL, "message": "The filter of the model's provider ended this answer."}


def told_as_final(frames: Iterable[Frame]) -> list[Frame]:
    """The frames, with such an end made into a final failure."""
    return [_told(frame) if _INCOMPLETE in frame.raw else frame for frame in frames]


def _told(frame: Frame) -> Frame:
    event = next(iter(SSEParser().feed(frame.raw)), None)
    payload = object_in(event.data if event is not None else None)
    response = as_object(payload.get("response"))
    if as_object(response.get("incomplete_details")).get("reason") != "content_filter":
        return frame
    failed = {**response, "status": "failed", "incomplete_details": None, "error": _ERROR}
    return Frame(sse.write_event(encode({**payload, "type": _FAILED, "response": failed}), _FAILED), None, OURSELVES)
