"""Images and sounds in the text of a block, with sounds that came in pieces put together."""

from base64 import b64encode

from streamviz.core.json_value import JsonObject, decode, objects
from streamviz.core.media import media_of
from streamviz.core.medium import Medium, bytes_of, is_sound


def media_in(payload: str) -> list[Medium]:
    """The media in the text of a block, which is lines of JSON; a line that is not, or is incomplete, has none. A sound
    that came in pieces, one per line, is one medium."""
    found: list[list[Medium]] = []
    for line in payload.split("\n"):
        for medium in media_of_line(line):
            if found and found[-1][0].goes_on_in(medium):
                found[-1].append(medium)
            else:
                found.append([medium])
    return [_joined(pieces) for pieces in found]


def media_of_line(line: str) -> list[Medium]:
    """The media in one line, as they are there."""
    try:
        value = decode(line)
    except ValueError:
        return []
    found = [medium for each in objects(value) for medium in media_of(each)]
    return [medium._replace(is_piece=isinstance(value, dict) and _is_sound(value, medium)) for medium in found]


def _is_sound(value: JsonObject, medium: Medium) -> bool:
    """Whether a medium may be a piece of a sound: by its type or, if unknown, by the member that has it."""
    return bool(medium.data) and (is_sound(medium.type) or ("data" in value and not medium.type))


def is_same_sound(pieces: str, whole: str) -> bool:
    """Whether a sound that came in pieces is the same as `whole`, in base64."""
    data = "".join(medium.data for medium in media_in(pieces))
    said = bytes_of(data)
    return data == whole or (bool(said) and said == bytes_of(whole))


def _joined(pieces: list[Medium]) -> Medium:
    """A sound, put together; each of its pieces may have padding of its own."""
    first, size = pieces[0]._replace(is_piece=False), sum(piece.size for piece in pieces)
    if not any(piece.data.endswith("=") for piece in pieces[:-1]):
        return first._replace(data="".join(piece.data for piece in pieces), size=size)
    data = b"".join(bytes_of(piece.data) for piece in pieces)
    return first._replace(data=b64encode(data).decode(), size=len(data))
