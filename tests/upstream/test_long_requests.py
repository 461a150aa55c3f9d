"""Long requests are converted where no stream has to wait for it."""

import threading
from typing import Any

from streamviz.upstream.lite import litellm


class Config(litellm.AnthropicConfig):
    """Anthropic's configuration, which notes the thread that converts a request."""

    thread = 0

    def transform_request(self, **given: Any) -> dict[str, object]:
        self.thread = threading.get_ident()
        return super().transform_request(**given)


async def test_a_conversation_becomes_anthropics_beside_the_event_loop() -> None:
    config = Config()
    messages: Any = [{"role": "user", "content": "Hello"}]
    made = await config.async_transform_request(
        model="claude-x", messages=messages, optional_params={"max_tokens": 9}, litellm_params={}, headers={}
    )
    assert made["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    assert config.thread not in (0, threading.get_ident())
