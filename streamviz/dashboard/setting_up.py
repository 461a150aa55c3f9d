"""What to paste so that a client calls this server; shown with a new key, and while there is nothing else to show."""

from typing import Any, NamedTuple

from django.conf import settings

from streamviz.core.model_names import matching
from streamviz.records.models import Route
from streamviz.upstream.loading import is_needed
from streamviz.upstream.providers import is_configured

NO_KEY = "sv-…"
_SIMULATED = "sim/thinking"
# The first whose provider has a credential is taken.
_MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-5", "gemini": "gemini/gemini-2.5-pro"}


class Snippet(NamedTuple):
    """What one client is given, and where."""

    id: str
    client: str
    where: str
    text: str


_CLIENTS = (
    Snippet(
        "claude-code",
        "Claude Code",
        "shell",
        """\
export ANTHROPIC_BASE_URL={base_url}
export ANTHROPIC_AUTH_TOKEN={key}
export ANTHROPIC_MODEL={model}
export ANTHROPIC_SMALL_FAST_MODEL={model}
claude""",
    ),
    Snippet(
        "codex",
        "Codex",
        "shell",
        """\
export STREAMVIZ_KEY={key}
codex -c model="{model}" -c model_provider="streamviz" \\
  -c 'model_providers.streamviz={{name="streamviz", base_url="{base_url}/v1", env_key="STREAMVIZ_KEY", \
wire_api="responses"}}'""",
    ),
    Snippet(
        "opencode",
        "opencode",
        "opencode.json",
        """\
{{
  "model": "streamviz/{model}",
  "provider": {{
    "streamviz": {{
      "npm": "@ai-sdk/openai-compatible",
      "options": {{ "baseURL": "{base_url}/v1", "apiKey": "{key}" }},
      "models": {{ "{model}": {{}} }}
    }}
  }}
}}""",
    ),
    Snippet(
        "openai",
        "OpenAI SDK",
        "Python",
        """\
from openai import OpenAI

client = OpenAI(base_url="{base_url}/v1", api_key="{key}")
stream = client.chat.completions.create(
    model="{model}",
    messages=[{{"role": "user", "content": "Hello"}}],
    stream=True,
)
for chunk in stream:
    print("".join(choice.delta.content or "" for choice in chunk.choices), end="")""",
    ),
    Snippet(
        "anthropic",
        "Anthropic SDK",
        "Python",
        """\
from anthropic import Anthropic

client = Anthropic(base_url="{base_url}", api_key="{key}")
with client.messages.stream(
    model="{model}",
    max_tokens=1024,
    messages=[{{"role": "user", "content": "Hello"}}],
) as stream:
    for text in stream.text_stream:
        print(text, end="")""",
    ),
    Snippet(
        "google",
        "Google Gen AI SDK",
        "Python",
        """\
from google import genai

client = genai.Client(api_key="{key}", http_options={{"base_url": "{base_url}"}})
for chunk in client.models.generate_content_stream(model="{model}", contents="Hello"):
    print(chunk.text or "", end="")""",
    ),
    Snippet(
        "curl",
        "curl",
        "shell",
        """\
curl -N {base_url}/v1/chat/completions \\
  -H "Authorization: Bearer {key}" \\
  -H "Content-Type: application/json" \\
  -d '{{"model": "{model}", "stream": true,
       "messages": [{{"role": "user", "content": "Hello"}}]}}'""",
    ),
)


def setting_up(base_url: str, secret: str = "", models: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `_setting_up.html` shows: a new key, if there is one, what to paste, and whether only the simulator can be
    called. `models` are the globs that the key is limited to."""
    return {
        "secret": secret,
        "snippets": snippets(base_url, secret or NO_KEY, models),
        "has_no_provider": _has_no_provider,  # the template calls it, in a thread
    }


def _has_no_provider() -> bool:
    return not is_needed(has_routes=Route.objects.exists(), brings_credentials=settings.CLIENT_CREDENTIALS)


def snippets(base_url: str, key: str = NO_KEY, models: tuple[str, ...] = ()) -> list[Snippet]:
    """One snippet per client, with this key, and a model that it can call here."""
    told = {"base_url": base_url, "key": key, "model": _model(models)}
    return [each._replace(text=each.text.format(**told)) for each in _CLIENTS]


def _model(globs: tuple[str, ...]) -> str:
    """The first model that a key limited to these can call here, or else the first glob."""
    callable_here = [*(model for provider, model in _MODELS.items() if is_configured(provider)), _SIMULATED]
    return next((model for model in callable_here if not globs or matching((model,), globs)), *globs[:1])
