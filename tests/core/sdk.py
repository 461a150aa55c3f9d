"""The official SDKs as judges of our output: their clients parse the bytes, and their accumulators add them up."""

from typing import Any

import anthropic
import httpx
import httpx2
import openai
from openai.types.chat import ChatCompletion

Told = list[tuple[str, ...]]


class Reader:
    """An SDK client whose server answers every request with the given bytes."""

    def __init__(self) -> None:
        self._answer, self._type = b"", ""
        client = httpx.Client(transport=httpx.MockTransport(self._serve))
        self._client = openai.OpenAI(
            api_key="none", base_url="http://upstream.test/v1", http_client=client, max_retries=0
        )

    def _serve(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=self._answer, headers={"content-type": self._type})

    def stream(self, tape: bytes) -> tuple[dict[int, Told], dict[int, str | None]]:
        """What the SDK makes of a stream: `message_told` of each choice, and the finish reasons."""
        self._answer, self._type = tape, "text/event-stream"
        with self._client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "?"}]) as stream:
            for _ in stream:
                pass
            snapshot = stream.current_completion_snapshot
        reasons = {choice.index: choice.finish_reason for choice in snapshot.choices}
        return {choice.index: message_told(choice.message) for choice in snapshot.choices}, reasons

    def body(self, body: bytes) -> ChatCompletion:
        self._answer, self._type = body, "application/json"
        return self._client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])


def message_told(message: object) -> Told:
    """Thinking, content and refusal, then the calls as (kind, id, name, arguments); empty texts are omitted."""
    fields = (("thinking", "reasoning_content"), ("content", "content"), ("refusal", "refusal"))
    texts = [(kind, text) for kind, name in fields if (text := getattr(message, name, None))]
    calls = getattr(message, "tool_calls", None) or []
    return [*texts, *(("tool_call", call.id or "", call.function.name, call.function.arguments) for call in calls)]


class MessagesReader:
    """The anthropic SDK's client, whose server answers every request with the given bytes."""

    def __init__(self) -> None:
        self._answer = b""
        client = httpx2.Client(transport=httpx2.MockTransport(self._serve))
        self._client = anthropic.Anthropic(
            api_key="none", base_url="http://upstream.test", http_client=client, max_retries=0
        )

    def _serve(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=self._answer, headers={"content-type": "text/event-stream"})

    def stream(self, tape: bytes) -> Any:
        """The message that the SDK assembles, as a dictionary; raises what the SDK raises."""
        self._answer = tape
        with self._client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]) as it:
            for _ in it:
                pass
            # The SDK warns about types that it does not know, but reads them.
            return it.current_message_snapshot.to_dict(warnings=False)
