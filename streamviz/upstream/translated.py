"""The translated lane: LiteLLM makes the call in the provider's own format and answers in the client's."""

import asyncio
from dataclasses import replace

from streamviz.core.bounds import Bounds
from streamviz.core.errors import ClientFacingError, UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.core.wire import WIRE_FORMATS
from streamviz.upstream.bounded_body import UNBOUNDED
from streamviz.upstream.failures import as_upstream_error, unreached
from streamviz.upstream.fitting import fit
from streamviz.upstream.formats import translated_format
from streamviz.upstream.raw import no_answer
from streamviz.upstream.sending import Sending
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import TranslatedAnswer


def require_translatable(target: Target, request: JsonObject) -> None:
    """Raises RequestError (400) for what this lane cannot pass on although the answer depends on it."""
    fit(target, request)


def arguments_for(target: Target, request: JsonObject) -> JsonObject:
    """LiteLLM's arguments for a call: what the model can take of the request, and where to send it.

    LiteLLM takes its own settings as arguments besides the model's parameters: where to send the call, with which
    credential, what to mock. None of those may come from a client, so only known parameters are passed on.
    """
    return _arguments(target, fit(target, request).request)


def _arguments(target: Target, fitted: JsonObject) -> JsonObject:
    arguments: JsonObject = {**fitted, "model": f"{target.provider}/{target.model}"}
    if target.base_url:
        arguments["api_base"] = target.base_url
    if target.key:
        arguments["api_key"] = target.key
    return arguments


async def open_translated(
    target: Target, request: JsonObject, silence_seconds: float, bounds: Bounds | None = None
) -> TranslatedAnswer:
    """Make the call; `bounds` limit its answer, unless None. Raises ClientFacingError if LiteLLM or the provider
    refuses it, or nothing comes for too long."""
    fitted = fit(target, request)
    arguments = _arguments(target, fitted.request)
    sending = Sending(UNBOUNDED if bounds is None else _bounds_of(target, bounds), target.key)
    most_blocks = None if bounds is None else bounds.blocks
    try:
        async with asyncio.timeout(silence_seconds):
            opened = await translated_format(target).call(target, arguments, most_blocks)
    except TimeoutError as error:
        raise UpstreamError(504, f"{target.provider} did not answer in time") from error
    except ClientFacingError:
        raise
    except Exception as error:  # LiteLLM's errors have no common base but OpenAI's, and some are bare.
        if sending.refusal is not None:
            raise sending.refusal from error
        if (why := unreached(error)) is not None:
            raise no_answer(why, target.provider) from error
        sent, accepted = sending.has_begun, sending.is_accepted
        raise as_upstream_error(error, target.key, was_sent=sent, was_accepted=accepted) from error
    kind = "text/event-stream" if arguments.get("stream") else "application/json"
    return TranslatedAnswer(opened, kind, silence_seconds, target.key, fitted.left_out)


def _bounds_of(target: Target, bounds: Bounds) -> Bounds:
    """Do not limit how many numbers an answer of numbers has: hundreds of thousands take hardly any time to read."""
    return replace(bounds, values=UNBOUNDED.values) if WIRE_FORMATS[target.wire_format].is_of_numbers else bounds
