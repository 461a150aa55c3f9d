"""How an answer begins: that says what it is, events or one JSON value, whatever its content type says."""

from streamviz.core.sse import BOM, SSEParser

_SPACE = b" \t\r\n"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def beginning_of(data: bytes, is_first: bool) -> bytes:
    """What there is behind white space in a read before which there was nothing else."""
    return (data.removeprefix(BOM) if is_first else data).lstrip(_SPACE)


def are_events(beginning: bytes, says_so: bool, are_asked: bool) -> bool:
    """Whether what begins so is events; `says_so` is what its content type says, `are_asked` whether the request asks
    for events. What is neither they nor JSON is what it says it is."""
    if beginning[:1] in (b"{", b"["):
        return False
    return says_so or (are_asked and beginning.startswith(_FIELDS))


def has_events(body: bytes) -> bool:
    """Whether clients that read events find some in a body."""
    parser = SSEParser()
    return any(event.data is not None for event in parser.feed(body) + parser.close())
