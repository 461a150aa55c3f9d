"""Reading one item of a response: a call, or an item of unknown kind.

The same content comes up to four times, in pieces and as a whole: it counts once, and must be the same each time.
"""

from collections import Counter
from collections.abc import Hashable

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.call_runners import PROVIDER_RUN, Runner
from streamviz.core.calls import as_arguments
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_object, as_text, object_in
from streamviz.core.wire.openai_responses_arguments import goes_on, is_empty, is_same
from streamviz.core.wire.openai_responses_arguments_writer import ArgumentsWriter
from streamviz.core.wire.openai_responses_calls import (
    CALLS,
    announced,
    arguments_of,
    given_name,
    picture_of,
    says_two,
    whole_fields,
)
from streamviz.core.wire.openai_responses_incoming import Item
from streamviz.core.wire.openai_responses_parts import payload_of
from streamviz.core.wire.openai_responses_seals import summary_in
from streamviz.core.wire.openai_responses_thinking import ThinkingReader

# How often a whole text may be read again, to compare it with a repetition.
_MOST_REREAD = 50
# Calls that the provider announces with one action and completes with another.
_PREVIEWED = ("web_search_call",)


class ItemReader(ThinkingReader):
    """Adds what comes for an item to its block."""

    def clear(self) -> None:
        super().clear()
        self._reread: Counter[Hashable] = Counter()

    def _may_reread(self, what: Hashable) -> bool:
        """Whether all of it may be read once more. If that is needed again and again, upstream contradicts itself."""
        self._reread[what] += 1
        if self._reread[what] > _MOST_REREAD:
            self._contradict("the same thing is repeated too often")
        return self._reread[what] <= _MOST_REREAD

    def _tell_other(self, block: StreamBlock, item: Item, details: JsonObject, is_whole: bool) -> None:
        payload = payload_of(details)
        if summary := summary_in(details):
            payload["content"] = summary
        begun = item.told.pop(block.ordinal, {})
        if not goes_on(begun, payload):
            self._contradict("a part is not what it was announced as")
        if not is_whole and not block.is_sealed:
            # Encrypted content is different each time.
            item.told[block.ordinal] = {key: value for key, value in payload.items() if key != "encrypted_content"}
            return
        text = as_json_text(payload) if payload else ""
        if not text or item.has_deltas or not self._may_reread(block.ordinal):
            return
        if _is_same_payload(payload, block.text):
            return
        if block.length or block.is_sealed:
            self._contradict("a part is repeated differently")
        else:
            self._grow(block, text)

    def _leave_other(self, item: Item, is_broken: bool) -> None:
        """Give blocks that never came as a whole what they were announced with; what is cut off stays so."""
        for block in item.unsealed:
            begun = {key: value for key, value in item.told.pop(block.ordinal, {}).items() if not is_empty(value)}
            # The id of the call that a result belongs to is not content.
            is_told = bool(begun) and not (is_broken and begun.keys() <= {"call_id"})
            if is_told and not (block.length or block.is_sealed):
                text = as_json_text(begun)
                self._grow(block, text[:-1] if is_broken else text)

    def _leave_call(self, item: Item, is_broken: bool) -> None:
        """Settle the arguments of a call that never came as a whole; what is cut off stays so."""
        block = item.block
        if not isinstance(block, ToolCallStreamBlock) or block.is_sealed:
            return
        expected, came = item.begun, item.writer.fields if item.writer is not None else block.text
        if isinstance(came, dict):
            # If arguments come field by field, only the fields that came can differ.
            begun = as_object(item.begun)
            expected = {key: value for key, value in begun.items() if key in came}
            if not is_broken:
                self._end_arguments(block, item, {key: value for key, value in begun.items() if key not in came})
        fits = goes_on(expected, came)
        if came and not fits:
            self._contradict("a call's arguments differ from those it was announced with")
        if item.begun is not None and not (came and fits):
            text = as_arguments(item.begun)
            # A cut-off call that the provider runs could have gone on within its object. A client may run a call as it
            # was announced, so that is judged as a whole.
            goes_on_within = is_broken and isinstance(item.begun, dict) and block.runner is Runner.PROVIDER
            self._grow(block, text[:-1] if goes_on_within else text)

    # Calls

    def _tell_call(self, block: ToolCallStreamBlock, item: Item, details: JsonObject, is_whole: bool) -> None:
        self._tell_namespace(block, item, details)
        self._tell_tool(block, item, details)
        self._check_call(item, details)
        said = announced(details)
        if not is_whole and not block.is_sealed:
            self._announce(block, item, said)
            self._tell_picture(item, picture_of(details))
            return
        if item.writer is not None:
            self._end_arguments(block, item, whole_fields(details))
        if said is not None and not goes_on(item.begun, said) and item.type not in _PREVIEWED:
            self._contradict("a call's arguments differ from those it was announced with")
        self._complete_with(block, arguments_of(details) or ("" if block.length else as_arguments(item.begun)))
        item.begun = None
        self._tell_picture(item, picture_of(details))

    def _check_call(self, item: Item, details: JsonObject) -> None:
        type = as_text(details.get("type"))
        if type in CALLS and type != item.type:
            self._contradict("an item becomes one of another type")
        if says_two(details):
            self._contradict("a call gives its arguments twice, and differently")

    def _announce(self, block: ToolCallStreamBlock, item: Item, said: object) -> None:
        """Note the arguments that a call is announced with; those that come later begin with them."""
        if said is None or said == item.begun:
            return
        if item.begun is not None or block.length:
            self._contradict("a call is announced twice")
        else:
            item.begun = said

    def _tell_namespace(self, block: ToolCallStreamBlock, item: Item, details: JsonObject) -> None:
        """Take in the namespace of the call's tool, which comes with its name. Only items have one: events that repeat
        the name have no place for it."""
        namespace = as_text(details.get("namespace"))
        if item.name and given_name(details) and namespace != block.namespace:
            self._contradict("a call becomes one of another tool")
        block.namespace = block.namespace or namespace

    def _tell_tool(self, block: ToolCallStreamBlock, item: Item, details: JsonObject) -> None:
        """Take in the call's name and id, which may come late but not change."""
        name, call_id = given_name(details), as_text(details.get("call_id"))
        if name and item.name and name != item.name:
            self._contradict("a call becomes one of another tool")
        item.name, item.call_id = item.name or name, self._call_id(block, item, call_id)
        new_name = item.name if item.name and item.name != block.name else ""
        new_id = item.call_id if item.call_id and item.call_id != block.id else ""
        if not (new_name or new_id):
            return
        if block.is_sealed:
            self._contradict("a call gets its name or id after its end")
        else:
            self._grow(block, id=new_id, name=new_name)

    def _call_id(self, block: ToolCallStreamBlock, item: Item, told: str) -> str:
        """A call's id, given the one that is `told` now. OpenAI announces a search for tools with one id, completes it
        with another, and expects its output under that."""
        if not (told and item.call_id and told != item.call_id):
            return item.call_id or told
        if item.type not in PROVIDER_RUN:
            self._contradict("a call's id changes")
        return told if item.type in PROVIDER_RUN and not block.is_sealed else item.call_id

    def _end_arguments(self, block: ToolCallStreamBlock, item: Item, whole: JsonObject) -> None:
        """End arguments that came field by field; `whole` is all of them, if the item has them."""
        writer, item.writer = item.writer, None
        if writer is None or block.is_sealed:
            return
        came = writer.fields
        if any(whole.get(key) is not None and whole[key] != value for key, value in came.items()):
            self._contradict("a call's arguments differ from what came before")
        self._grow(block, writer.end(whole))

    def _write_argument(self, block: ToolCallStreamBlock, item: Item, field: str, payload: JsonObject) -> None:
        text = as_json_text(payload.get("delta"))
        if not text:
            return
        if block.is_sealed or (block.length and item.writer is None):
            self._contradict("a call's arguments continue after their end")
            return
        item.writer = item.writer or ArgumentsWriter({})
        key = key_of(item, field)
        self._grow(block, item.writer.piece(key, as_index(payload.get(f"{key}_index")), text))

    def _check_argument(self, block: ToolCallStreamBlock, item: Item, field: str, payload: JsonObject) -> None:
        """Check a field against the whole of it, which comes again at its end."""
        key = key_of(item, field)
        number, whole = as_index(payload.get(f"{key}_index")), as_json_text(payload.get(key))
        came = None if item.writer is None else item.writer.said.get((key, number))
        if came is not None:
            if whole and not self.state.contradiction and "".join(came) != whole:
                self._contradict("a call's arguments differ from what came before")
        elif not block.length:
            self._write_argument(block, item, field, {**payload, "delta": whole})

    def _read_argument(self, block: ToolCallStreamBlock, item: Item, field: str, payload: JsonObject) -> None:
        """Read a piece of a call's arguments: of their JSON text, or of one field."""
        if field not in ("arguments", "input"):
            self._write_argument(block, item, field, payload)
        elif block.is_complete:
            self._contradict("a call's arguments continue after their end")
        else:
            self._grow(block, as_json_text(payload.get("delta")))

    # What calls made

    def _tell_picture(self, item: Item, picture: str) -> None:
        """Take in the images that a call made, once they are finished."""
        if not picture or picture == item.picture:
            return
        if item.picture or (item.media is not None and item.media.is_sealed):
            self._contradict("an image is repeated differently")
            return
        item.picture = picture
        self._grow(item.media or self._start_media(item), picture)

    def _tell_preview(self, item: Item, preview: str) -> None:
        if not preview:
            return
        if item.picture or (item.block is not None and item.block.is_sealed):
            self._contradict("an image is repeated differently")
        else:
            self._grow(item.media or self._start_media(item), preview)

    def _start_media(self, item: Item) -> StreamBlock:
        item.media = self._start(BlockKind.MEDIA, index=item.place, id=item.id, label=item.type)
        item.unsealed.append(item.media)
        return item.media

    # Texts that come as a whole

    def _complete_with(self, block: StreamBlock, whole: str, is_complete: bool = True) -> None:
        """Add what of `whole` has not come yet; the block is then complete, unless that was only a beginning."""
        rest = self._rest_of(block, whole)
        if block.is_sealed:
            return
        if rest:
            self._tell_whole(block)
            self._grow(block, rest)
        if is_complete:
            self._complete(block)

    def _rest_of(self, block: StreamBlock, whole: str) -> str:
        """What a whole text adds to the part that came; it has to begin with that part."""
        goes_on = len(whole) >= block.length and whole.startswith(block.text)
        if whole and not goes_on and not self._is_same_call(block, whole):
            self._contradict("a text is repeated differently")
        elif goes_on and block.is_sealed and len(whole) > block.length:
            self._contradict("a text continues after its end")
        return whole[block.length :] if goes_on else ""

    def _is_same_call(self, block: StreamBlock, whole: str) -> bool:
        is_call = block.kind is BlockKind.TOOL_CALL
        return is_call and self._may_reread(block.ordinal) and is_same(whole, block.text)


def _is_same_payload(payload: JsonObject, text: str) -> bool:
    """Whether a payload says the same as `text`, apart from encrypted content, which is different each time."""
    before = object_in(text)
    return all(before.get(key) == value for key, value in payload.items() if key != "encrypted_content")


def key_of(item: Item, field: str) -> str:
    """The field of the arguments that an event's field is: `diff` for the `operation_diff` of an `operation`."""
    shape = CALLS.get(item.type)
    return field.removeprefix(f"{shape.carrier}_") if shape is not None and shape.carrier else field
