"""What an answer says about itself: ids and names, counts, reasons, errors, what it repeats of its request.

None of it is in a block, but every client has it. Where it is depends on the format; what is made of it does not
(`envelope_texts.py`).
"""

from streamviz.core.blocks import Told
from streamviz.core.calls import RESULT_ENDINGS, may_be_call
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.wire import anthropic_messages_beside as messages
from streamviz.core.wire import beside
from streamviz.core.wire import gemini_beside as gemini
from streamviz.core.wire import openai_responses_beside as responses
from streamviz.core.wire.beside import member_names
from streamviz.core.wire.envelope_texts import EnvelopeTexts
from streamviz.core.wire.joined_texts import OPAQUE, JoinedPieces
from streamviz.core.wire.openai_chat_beside import BLOCK_TEXTS, is_plain, is_text_alone
from streamviz.core.wire.openai_chat_thinking import BEDROCKS
from streamviz.core.wire.openai_responses_seals import SEAL, summary_in

_NOTHING: frozenset[str] = frozenset()
_NEVER = object()

_CHUNK = member_names("choices citations search_results")
# Some servers say here which of the request's stop sequences was met; that may be any text.
_STOP = "stop_reason"
_CHOICE = member_names("delta message logprobs text") | {_STOP}
_SAID = frozenset(BEDROCKS) | member_names(
    "content refusal reasoning_content reasoning reasoning_text thinking audio images annotations citations"
    " thinking_blocks provider_metadata reasoning_details tool_calls function_call provider_specific_fields"
)
_SPECIFIC = _SAID | member_names("signature")
_CALL = member_names("function custom arguments")
_GIVEN = member_names("arguments input")
# All pieces of a call have to agree on these.
_TOLD_APART = member_names("id index type name")
_PIECES = {
    "audio": member_names("transcript data"),
    "reasoning_details": member_names("text summary data"),
    "content": member_names("text refusal thinking annotations image_url input_audio audio file url data"),
}
# Members of a call or a result of unknown type that name it or what it belongs to, and those that clients may show.
_OF_UNKNOWN = ("id", "type", "role", "status", "name", "call_id", "tool_use_id", "server_name", "server_label")
_SHOWN = (*beside.WORDS, "content")
_BLOCKS = {kind: known - member_names("id name server_name caller") for kind, known in messages.BLOCKS.items()}
_ITEMS = {kind: known - member_names("name call_id caller") for kind, known in responses.ITEMS.items()}
_MESSAGE, _DELTA = member_names("content"), member_names("delta")
_EVENT = member_names("message content_block content delta")
_RESPONSE = member_names("output output_text")
_GEMINI = member_names("candidates response")
_CANDIDATE = member_names(
    "content citationMetadata groundingMetadata groundingAttributions urlContextMetadata logprobsResult"
)
_PARTS = member_names("parts")
_ENCRYPTED = OPAQUE | member_names("data")
_ARGUMENTS = member_names("args partialArgs")
_OF_OWN_CALL = member_names("id name toolType")
_ABOUT_PART = member_names("thought videoMetadata partMetadata mediaResolution")


class Envelope(EnvelopeTexts):
    """What one stream says about itself, in any of the formats."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = JoinedPieces()
        self._before: JsonObject = {}
        self._choice_before: JsonObject | None = None
        self._response_before: JsonObject = {}
        self._summary = ""

    def only_adds_text(self, payload: JsonObject) -> bool:
        """Whether a chat chunk has one choice, adds a text and, like nearly all of them, says nothing else that is
        new."""
        choices = payload.get("choices")
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choice := choices[0], dict):
            return False
        is_known = {**choice, "delta": None} == self._choice_before and {**payload, "choices": None} == self._before
        return is_known and is_text_alone(choice.get("delta"))

    def read_chat(self, payload: JsonObject) -> None:
        choices = payload.get("choices")
        told = {**payload, "choices": None} if isinstance(choices, list) else payload
        if told != self._before:  # the case in few chunks
            self._before = told
            self._members(told, _CHUNK if told.get("choices") is None else _NOTHING)
        for choice in as_list(choices):
            if isinstance(choice, dict):
                self._members(choice, _CHOICE)
                if stop := choice.get(_STOP):
                    self._tell_all_of([stop], None)
                number = choice.get("index")
                for name in ("delta", "message"):
                    if said := choice.get(name):
                        self._read_delta(as_object(said), number)
                self._choice_before = {**choice, "delta": None} if is_plain(choice) else None

    def read_message(self, payload: JsonObject, kind: str) -> None:
        if kind == "content_block_delta":
            self._members(payload, _DELTA)
            self._part(payload.get("delta"), messages.DELTAS)
            return
        self._members(payload, _EVENT)
        for name in _EVENT:
            if isinstance(value := payload.get(name), str):
                self._member(name, value)
        message = as_object(payload.get("message"))
        self._members(as_object(payload.get("delta")), _NOTHING)
        self._members(message, _MESSAGE)
        self._part(payload.get("content_block"), _BLOCKS)
        for part in (*as_list(payload.get("content")), *as_list(message.get("content"))):
            self._part(part, _BLOCKS)

    def read_response(self, payload: JsonObject, kind: str) -> None:
        if "output" in payload and "type" not in payload:
            self._response(payload)
            return
        self._members(payload, responses.members_read(kind))
        if responses.is_unread_delta(kind):
            self._show([payload.get("delta"), *self._joined(payload.get("delta"), kind)])
        if item := payload.get("item"):
            self._item(item)
        if part := payload.get("part"):
            self._part(part, responses.TEXT_PARTS)
        if response := payload.get("response"):
            self._response(as_object(response))

    def read_gemini(self, payload: JsonObject) -> None:
        self._members(payload, _GEMINI)
        for candidate in as_list(payload.get("candidates")):
            members = as_object(candidate)
            self._members(members, _CANDIDATE)
            content = as_object(members.get("content"))
            self._members(content, _PARTS)
            for part in as_list(content.get("parts")):
                self._read_gemini_part(as_object(part))
        if isinstance(inner := payload.get("response"), dict):
            self.read_gemini(inner)

    # Parts of an answer

    def _read_gemini_part(self, part: JsonObject) -> None:
        for label, said in part.items():
            if label in _ABOUT_PART or not (label in gemini.PARTS or label.endswith("Call")):
                self._member(label, said)
            elif isinstance(said, dict):
                known = _ARGUMENTS if label == "functionCall" else said.keys() - _OF_OWN_CALL
                self._members(said, frozenset(known))

    def _read_delta(self, delta: JsonObject, choice: object) -> None:
        for name, value in delta.items():
            if name in _SAID:
                if isinstance(value, list | dict):
                    self._read_said(name, value, choice)
                elif name not in BLOCK_TEXTS and value:
                    self._member(name, value)
            elif value is not None and not (value == "assistant" and name in ("role", "name")):
                self._beside({name: value}, _NOTHING, choice)

    def _read_said(self, name: str, value: list[object] | JsonObject, choice: object) -> None:
        """Read a value that is not just a text."""
        pieces = [as_object(piece) for piece in (value if isinstance(value, list) else (value,))]
        if name in ("tool_calls", "function_call"):
            for call in pieces:
                self._read_call(call, choice)
        elif name == "provider_specific_fields":
            self._beside(as_object(value), _SPECIFIC, choice, name)
        elif known := _PIECES.get(name):
            for piece in pieces:
                self._members(piece, known)

    def _read_call(self, call: JsonObject, choice: object) -> None:
        self._beside(call, _CALL, choice, "call", call.get("index"))
        for name in ("function", "custom"):
            self._beside(as_object(call.get(name)), _GIVEN, choice, name, call.get("index"))

    def _response(self, response: JsonObject) -> None:
        """Read a response. Several events of a stream have it, mostly with the same members."""
        told = {name: value for name, value in response.items() if name not in _RESPONSE}
        before, self._response_before = self._response_before, told
        self._members({name: told[name] for name in told if before.get(name, _NEVER) != told[name]}, _NOTHING)
        for item in as_list(response.get("output")):
            self._item(item)

    def _item(self, item: object) -> None:
        self._part(item, _ITEMS)
        members = as_object(item)
        if SEAL in members:
            summary, before = summary_in(members), self._summary
            self._summary = summary
            self._new += [Told(summary, False, is_summary=True)] if summary not in ("", before) else []
        if members.get("type") in ("message", "reasoning"):
            for name in ("content", "summary"):
                for part in as_list(members.get(name)):
                    self._part(part, responses.TEXT_PARTS)

    def _part(self, part: object, kinds: dict[str, frozenset[str]]) -> None:
        """Read an object whose members depend on its type."""
        members = as_object(part)
        kind = as_text(members.get("type"))
        known = kinds.get(kind)
        if known is not None:
            self._members(members, known)
        elif members:
            is_like_text = not beside.has_own_texts(kind) and not may_be_call(members)
            read = members if is_like_text else {name: members[name] for name in _OF_UNKNOWN if name in members}
            self._members(read, _ENCRYPTED)
            if not kind.endswith(RESULT_ENDINGS):
                shown = [members[name] for name in _SHOWN if name in members]
                # What reads a list of parts takes their texts for one.
                joined = ("".join(as_text(as_object(part).get("text")) for part in as_list(each)) for each in shown)
                self._show([*shown, *filter(None, joined)])

    # What clients add up

    def _beside(self, members: JsonObject, known: frozenset[str], *place: object) -> None:
        self._members(members, known)
        for name, value in members.items():
            if name not in known and (name not in _TOLD_APART or not place[1:]):
                self._new += (Told(text, beside.is_word(text)) for text in self._joined(value, *place, name))

    def _joined(self, value: object, *place: object) -> list[str]:
        joined = list(self._pieces.add(value, *place))
        self.is_odd = self.is_odd or self._pieces.are_too_many
        return joined
