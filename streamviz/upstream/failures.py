"""What went wrong in one of LiteLLM's calls, other than a refusal by the provider (told_errors.py)."""

import logging
import re
import traceback
from collections.abc import Iterator
from json import JSONDecodeError
from typing import TypeVar

import aiohttp

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_object, as_text, object_in
from streamviz.core.wire.gemini_errors import STATUSES
from streamviz.upstream.raw import cut_off
from streamviz.upstream.redaction import told
from streamviz.upstream.sending import UnaskedCall
from streamviz.upstream.told_errors import KINDS

E = TypeVar("E", bound=BaseException)
log = logging.getLogger(__name__)

_LONGEST_NAME = 100
# How LiteLLM fails at a request that is not as it expects, without saying anything about that itself.
_STUMBLES = (AttributeError, IndexError, KeyError, RecursionError, TypeError)
# What LiteLLM reports if a provider gave no status, or one for which it has no error.
_MADE_UP = (400, 422, 500, 502)
# Its functions that read a request. Failures in others are about addresses and credentials, or LiteLLM itself.
_READS_REQUEST = re.compile(r"transform|optional_params|validate_and_fix")

# What LiteLLM puts around a provider's words.
_BEFORE = re.compile(
    r"^((litellm\.)?\w+(Error|Timeout): )*(\w+Exception (\w+Error )?- |\w+Error - )?"
    rf"(({'|'.join(STATUSES.values())}|UNKNOWN) - )?"
)
_ADVICE = re.compile(r"\. To drop these, set `litellm\.drop_params.*", re.DOTALL)
# The conversation, or arguments of a call in it, which LiteLLM quotes if it cannot read them; the quotation is left
# out.
_QUOTED = re.compile(
    r"(Failed to parse tool call arguments.{0,2000}?\.) Arguments: .*|\nReceived Messages=.*", re.DOTALL
)
_BEHIND = re.compile(r"\.? Handle with `litellm\.\w+`\.$")


def as_upstream_error(
    error: Exception, key: str = "", *, was_sent: bool = True, was_accepted: bool = False
) -> UpstreamError:
    """The error with the provider's status and message, as far as LiteLLM gives them. If nothing `was_sent`, the
    request is at fault for what LiteLLM failed at while reading it; if the call `was_accepted`, the provider is.

    `key` is the credential of the call. Messages contain neither it nor the environment's credentials, nor a traceback.
    """
    # LiteLLM wraps an error in mid-stream.
    error = getattr(error, "original_exception", None) or error
    if (ours := next((each for each in _behind(error) if isinstance(each, UpstreamError)), None)) is not None:
        return ours  # the answer was too long, not JSON, a redirect, or not compressed as it says
    if (cut := _first_of(error, aiohttp.ClientPayloadError)) is not None:
        return cut_off(cut)
    message = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    status = _status_of(error)
    stumble = None if was_sent else _stumble(error)
    if stumble is not None and (status >= 500 or str(stumble) in message):
        return inconvertible(stumble, key)
    if status >= 500:
        _note(error)
    if was_accepted and (fault := _fault_of_answer(error, status)) is not None:
        return fault
    status = 502 if was_accepted and status == 500 else status  # the provider's own was 200
    return UpstreamError(status, told(_providers_words(message), key), kind=KINDS.get(status, "upstream_error"))


def _fault_of_answer(error: Exception, status: int) -> UpstreamError | None:
    """What is wrong with the answer of a provider that accepted the call, if it did not say so itself with a status.
    LiteLLM's message is not used: it is a Python error's, and quotes the answer."""
    if status not in _MADE_UP:
        return None
    if _first_of(error, JSONDecodeError) is not None:
        return UpstreamError(502, "upstream sent something that is not JSON")
    if any(_is_litellms(each, *_STUMBLES, ValueError) for each in _behind(error)):
        return UpstreamError(502, "upstream sent something that does not fit its format")
    return None


def inconvertible(error: Exception, key: str = "") -> UpstreamError:
    """The error for a request that LiteLLM cannot convert: it takes everything for well-formed, and fails in arbitrary
    ways."""
    _note(error)
    absent = str(error.args[0])[:_LONGEST_NAME] if isinstance(error, KeyError) and error.args else None
    why = f"`{absent}` is missing" if absent else "something in it is missing or has the wrong type"
    if isinstance(error, RecursionError):
        why = "something in it is nested too deeply"
    elif not isinstance(error, _STUMBLES):
        why = _QUOTED.sub(r"\1", str(error))
    message = f"This request cannot be converted to its provider's format: {told(why, key)}"
    return UpstreamError(400, message, kind=KINDS[400], param=absent)


def _stumble(error: Exception) -> Exception | None:
    """What LiteLLM failed at while reading the request, if it did, including what it may not fetch."""
    found = (each for each in _behind(error) if _is_litellms(each, *_STUMBLES, ValueError, UnaskedCall))
    return next((each for each in found if isinstance(each, Exception) and _is_of_request(each)), None)


def _is_litellms(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Whether LiteLLM failed with an error of these kinds, or with a plain Exception, as it raises for some."""
    return isinstance(error, kinds) or type(error) is Exception


def _is_of_request(error: Exception) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(_READS_REQUEST.search(frame.f_code.co_name) for frame, _ in frames)


def _note(error: Exception) -> None:
    """Log where in LiteLLM it happened, without the message, which may quote what a client sent."""
    log.warning("LiteLLM: %s at %s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)[-3:]))


def unreached(error: BaseException) -> aiohttp.ClientError | None:
    """The error that kept a call from reaching its provider, or from getting an answer in valid HTTP. LiteLLM's own
    message for it contains the address."""
    return _first_of(error, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError, aiohttp.ClientResponseError)


def _first_of(error: BaseException, *kinds: type[E]) -> E | None:
    return next((each for each in _behind(error) if isinstance(each, kinds)), None)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that led to it, each once: an error that was raised again may have led to itself."""
    here: BaseException | None = error
    seen: set[int] = set()
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        yield here
        here = here.__cause__ or here.__context__


def _status_of(error: Exception) -> int:
    """The provider's status: LiteLLM turns some into 500."""
    statuses = [getattr(each, "status_code", None) for each in _behind(error)]
    known = [status for status in statuses if isinstance(status, int) and 400 <= status < 600]
    if not known or not isinstance(statuses[0], int):
        return 502
    return known[0] if known[0] != 500 else known[-1]


def _providers_words(message: str) -> str:
    """The message in the error body that LiteLLM quotes, or LiteLLM's message without what the client said."""
    body = object_in(message[message.find("{") : message.rfind("}") + 1])
    words = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("message"))
    words = words or _BEHIND.sub("", _ADVICE.sub(". Leave them out.", _BEFORE.sub("", message))) or message
    return _QUOTED.sub(r"\1", words)
