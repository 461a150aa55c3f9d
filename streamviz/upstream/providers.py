"""The providers that clients may name, what shows that an operator uses one, and how its models may be called.

Any other provider is called only by a route. LiteLLM knows many more. It asks some of them for an address, a login or a
prompt template as soon as it is given their name, and takes hosts and paths out of model names.
"""

import os
import re
from dataclasses import dataclass

MOST_CHARACTERS = 300
_PLAIN = re.compile(r"[A-Za-z0-9@~][A-Za-z0-9@~_.:+=-]*")
# Words before a model's name by which LiteLLM chooses another API of the provider.
_ROUTING = frozenset(
    "agent agentcore agents assistants async_invoke claude_platform container converse converse_like deployment"
    " deployments gpt5_series invoke mantle model_router o_series responses".split()
)


@dataclass(frozen=True, slots=True)
class Provider:
    """One of these variables in the environment shows that an operator has an account there, or serves it at an
    address.

    `is_in_path`: the model's name becomes part of the URL, or chooses one, so it must be a single segment of a path;
    with `has_methods`, a colon in it would begin the name of a method there. With `takes_client_key`, clients may bring
    a credential of their own: the provider is at one known address.
    """

    variables: tuple[str, ...]
    is_in_path: bool = False
    has_methods: bool = False
    takes_client_key: bool = True


def _keyed(*names: str) -> dict[str, Provider]:
    return {name: Provider((f"{name.upper()}_API_KEY",)) for name in names}


def _served(*names: str) -> dict[str, Provider]:
    """Providers that operators run themselves: LiteLLM would look for these on this machine."""
    return {name: Provider((f"{name.upper()}_API_BASE",), takes_client_key=False) for name in names}


PROVIDERS = {
    **_keyed("openai", "anthropic", "openrouter", "groq", "deepseek", "mistral", "xai", "cerebras", "sambanova"),
    **_keyed("nvidia_nim", "deepinfra", "moonshot", "dashscope", "nebius", "novita", "hyperbolic", "featherless_ai"),
    **_keyed("zai", "github", "baseten", "vercel_ai_gateway", "codestral", "minimax", "meta_llama", "volcengine"),
    **_served("hosted_vllm", "lm_studio", "llamafile", "litellm_proxy", "ollama"),
    "ollama_chat": Provider(("OLLAMA_API_BASE",), takes_client_key=False),
    "together_ai": Provider(("TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_TOKEN")),
    "fireworks_ai": Provider(
        ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN")
    ),
    "perplexity": Provider(("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    "cohere": Provider(("COHERE_API_KEY", "CO_API_KEY")),
    "cohere_chat": Provider(("COHERE_API_KEY", "CO_API_KEY")),
    "gemini": Provider(("GEMINI_API_KEY", "GOOGLE_API_KEY"), is_in_path=True, has_methods=True),
    "azure": Provider(("AZURE_API_KEY", "AZURE_AD_TOKEN"), is_in_path=True, takes_client_key=False),
    "azure_ai": Provider(("AZURE_AI_API_KEY",), is_in_path=True, takes_client_key=False),
    "bedrock": Provider(
        ("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"), is_in_path=True, takes_client_key=False
    ),
    "vertex_ai": Provider(
        ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEX_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
        is_in_path=True,
        has_methods=True,
        takes_client_key=False,
    ),
    "cloudflare": Provider(("CLOUDFLARE_API_KEY",), is_in_path=True, takes_client_key=False),
    "databricks": Provider(("DATABRICKS_API_KEY",), is_in_path=True, takes_client_key=False),
}
# Providers that report the usage of a chat stream only if asked, and accept being asked. Others report it unasked, or
# may not accept the parameter.
TELL_USAGE_IF_ASKED = frozenset(
    "openai custom_openai hosted_vllm dashscope github lm_studio llamafile litellm_proxy nebius novita sambanova"
    " baseten".split()
)
# Providers that take their credential in one header, so that a call can be made without one.
ONE_KEY = frozenset(
    name for name, provider in PROVIDERS.items() if provider.takes_client_key or name in ("ollama", "ollama_chat")
)


def is_configured(name: str) -> bool:
    """Whether the environment says that an operator uses this provider."""
    return any(os.environ.get(variable, "").strip() for variable in PROVIDERS[name].variables)


def is_any_configured() -> bool:
    """Whether the environment says that an operator uses any provider."""
    return any(map(is_configured, PROVIDERS))


def is_callable(model: str) -> bool:
    """Whether a client's name for a model may be given to LiteLLM: only a provider listed above, no address, no
    path."""
    prefix, is_prefixed, name = model.partition("/")
    return may_call(prefix, name) if is_prefixed else _is_plain(model, is_in_path=True)


def may_call(provider: str, name: str) -> bool:
    """Whether clients may call a model of this provider by this name."""
    found = PROVIDERS.get(provider)
    if found is None or (found.has_methods and ":" in name):
        return False
    return _is_plain(name, found.is_in_path)


def _is_plain(name: str, is_in_path: bool) -> bool:
    """Whether it consists of words separated by slashes: nothing that a URL, a path or a template would interpret."""
    parts = name.split("/")
    if len(name) > MOST_CHARACTERS or (is_in_path and len(parts) > 1) or not _ROUTING.isdisjoint(parts[:-1]):
        return False
    return all(_PLAIN.fullmatch(part) for part in parts) and ".." not in name and not name.lower().startswith("arn:")
