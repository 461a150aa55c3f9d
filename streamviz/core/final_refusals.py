"""An answer that its provider's filter ended, for a client of OpenAI's responses that asks again after an incomplete
one: a model of another vendor would refuse again as often."""

from collections.abc import Iterable

from streamviz.core import sse
from streamviz.core.context import OURSELVES, Frame
from streamviz.core.errors import TOLD_FINAL
from streamviz.core.json_value import as_object, encode, object_in
from streamviz.core.sse import SSEParser

_INCOMPLETE, _FAILED = b'"response.incomplete"', "response.failed"
_ERROR = {"code": TOLD_FINAL, "message": "The filter of the model's provider ended this answer."}


def told_as_final(frames: Iterable[Frame]) -> list[Frame]:
    """The frames, in which such an end is a failure that is final."""
    return [_told(frame) if _INCOMPLETE in frame.raw else frame for frame in frames]


def _told(frame: Frame) -> Frame:
    event = next(iter(SSEParser().feed(frame.raw)), None)
    payload = object_in(event.data if event is not None else None)
    response = as_object(payload.get("response"))
    if as_object(response.get("incomplete_details")).get("reason") != "content_filter":
        return frame
    failed = {**response, "status": "failed", "incomplete_details": None, "error": _ERROR}
    return Frame(sse.write_event(encode({**payload, "type": _FAILED, "response": failed}), _FAILED), None, OURSELVES)
