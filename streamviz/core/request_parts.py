"""What a request says, in parts that are the same for all formats: texts, calls, results of tools, images and files.

A request is a client's, and may be anything: whatever is not as its format has it becomes an `other` part, unchanged.
Nothing here raises.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from streamviz.core.json_value import JsonObject, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.medium import size_of


class PartKind(StrEnum):
    """What a part of a request is."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    MEDIA = "media"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of what one side said. `role` is the client's word for that side.

    `text` is the text, the arguments of a call, a tool's result, or the address of what is not text; `name` is the
    tool's, or says what kind of thing it is. `call_id` is the id of a call, or of the call that a result answers.
    `size` is in bytes.
    """

    kind: PartKind
    role: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    size: int = 0
    is_error: bool = False


ReadItem = Callable[[JsonObject], Iterator[Part]]

ANSWERING = ("assistant", "model")
SYSTEM_ROLES = ("system", "developer")
# What another agent of Codex's says to the one that asks.
BETWEEN_AGENTS = "agent_message"
# How what OpenAI encrypts begins.
_ENCRYPTED = "gAAAA"
_MEDIA_TYPE = 100


def text(role: str, value: object, kind: PartKind = PartKind.TEXT) -> Iterator[Part]:
    """A part for a value that is a text and not empty."""
    if said := as_text(value):
        yield Part(kind, role, said, size=_size(said))


def call(role: str, name: object, arguments: object, call_id: object) -> Part:
    """A tool call; its arguments may have come as JSON or as text."""
    given = as_json_text(arguments)
    return Part(PartKind.TOOL_CALL, role, given, as_text(name), as_text(call_id), _size(given))


def result(call_id: object, parts: Iterator[Part], name: object = "", *, is_error: bool = False) -> Iterator[Part]:
    """A tool's result: its texts as one part, and whatever else came with them beside it."""
    texts, others = [], []
    for part in parts:
        if part.kind is PartKind.TEXT:
            texts.append(part.text)
        else:
            others.append(replace(part, role="tool", call_id=as_text(call_id)))
    said = "\n".join(texts)
    if said or not others:
        given = (as_text(name), as_text(call_id), _size(said))
        yield Part(PartKind.TOOL_RESULT, "tool", said, *given, is_error=is_error)
    yield from others


def media(role: str, name: str, source: object) -> Part:
    """An image, a file or a sound: its kind and size, or its address. Its bytes are not looked at."""
    address, media_type, size = _source(source)
    kind = f"{name} {media_type}".strip() if media_type else name
    return Part(PartKind.MEDIA, role, address, kind, size=size)


def other(role: str, value: object) -> Part:
    """A part for anything unknown, as it is."""
    said = as_json_text(value)
    return Part(PartKind.OTHER, role, said, as_text(as_object(value).get("type")), size=_size(said))


def readable(part: JsonObject) -> str:
    """The text of a part that should be encrypted, if it is not: Codex puts what models of other vendors say to their
    agents where OpenAI's have it encrypted."""
    said = as_text(part.get("encrypted_content")) if part.get("type") == "encrypted_content" else ""
    return "" if said.startswith(_ENCRYPTED) else said


def tools_in(tools: object) -> list[tuple[str, JsonObject]]:
    """The tools that a request offers in any format, by name; one that the provider runs is named by its type."""
    found: list[tuple[str, JsonObject]] = []
    for tool in objects(tools):
        declared = [*objects(tool.get("functionDeclarations")), *objects(tool.get("function_declarations"))]
        if declared:
            found += [(as_text(each.get("name")), each) for each in declared]
        else:
            found.append((_tool_name(tool), tool))
    return [(name or "unnamed", tool) for name, tool in found]


def _tool_name(tool: JsonObject) -> str:
    inner = as_object(tool.get("function")) or as_object(tool.get("custom"))
    for name in (tool.get("name"), inner.get("name"), tool.get("server_label"), tool.get("type")):
        if as_text(name):
            return as_text(name)
    return next(iter(tool), "")


def system_in(system: object, read: ReadItem) -> str:
    """The system prompt as one text. `read` is the format's, for content in parts."""
    if isinstance(system, str):
        return system
    if isinstance(system, list):
        return "\n\n".join(each if isinstance(each, str) else as_text(as_object(each).get("text")) for each in system)
    parts = read(as_object(system) | {"role": "system"})
    return "\n\n".join(part.text for part in parts)


def _source(source: object) -> tuple[str, str, int]:
    """The address of a medium, its type, and its size in bytes if it came along."""
    if isinstance(source, str):
        return _address(source)
    told = as_object(source)
    media_type = next(
        (name for key in ("media_type", "mimeType", "mime_type", "format") if (name := as_text(told.get(key)))), ""
    )
    data = next((found for key in ("data", "file_data", "image_url") if (found := as_text(told.get(key)))), "")
    if data and not data.startswith(("data:", "http")):
        return "", media_type[:_MEDIA_TYPE], size_of(data)
    where = ("url", "file_url", "fileUri", "file_uri", "filename", "file_id", "id")
    found = data or next((found for key in where if (found := as_text(told.get(key)))), "")
    address, inner_type, size = _address(found)
    return address, (media_type or inner_type)[:_MEDIA_TYPE], size


def _address(url: str) -> tuple[str, str, int]:
    if not url.startswith("data:"):
        return url, "", 0
    head, _, data = url[5:].partition(",")
    return "", head[:_MEDIA_TYPE].partition(";")[0], size_of(data)


def _size(said: str) -> int:
    return len(said) if said.isascii() else len(said.encode("utf-8", "replace"))


def each_of(content: object) -> list[object]:
    """The parts of a content, which may be a plain string or one part."""
    return [content] if isinstance(content, str | dict) else as_list(content)
