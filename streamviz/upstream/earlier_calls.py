"""The arguments of a model's earlier calls, as every provider can take them.

Most formats have an object there, OpenAI's have text. If a model was cut off in it, the text is not JSON: LiteLLM or
the provider would refuse it, and with it every later request of that conversation.
"""

from streamviz.core.calls import INVALID_JSON
from streamviz.core.json_value import JsonObject, as_object, decode_strictly, encode


def in_messages(messages: object) -> object:
    """Messages of a chat, with the arguments of each call as an object."""
    if not isinstance(messages, list):
        return messages
    return [_in_message(message) if isinstance(message, dict) else message for message in messages]


def with_object(call: JsonObject) -> JsonObject:
    """A call with its arguments as a JSON object: if they are anything else, they are a text in one."""
    given = call.get("arguments")
    if not isinstance(given, str) or _is_object(given):
        return call
    return {**call, "arguments": encode({INVALID_JSON: given}).decode() if given.strip() else "{}"}


def _in_message(message: JsonObject) -> JsonObject:
    made, calls = dict(message), message.get("tool_calls")
    if isinstance(calls, list):
        made["tool_calls"] = [_in_call(each) for each in calls]
    if former := as_object(message.get("function_call")):
        made["function_call"] = with_object(former)
    return made


def _in_call(call: object) -> object:
    function = as_object(as_object(call).get("function"))
    return {**as_object(call), "function": with_object(function)} if function else call


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode_strictly(text), dict)
    except ValueError:
        return False
