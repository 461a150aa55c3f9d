"""Where a model's calls go."""

import pytest

from streamviz.core.errors import RequestError
from streamviz.upstream.targets import Lane, RoutePlan, Target, configured_models, resolve, simulator_target

# LiteLLM imports more of itself for some providers, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

CHAT, MESSAGES, RESPONSES = "openai_chat", "anthropic_messages", "openai_responses"


@pytest.fixture(autouse=True)
def _no_credentials(bare_environment: pytest.MonkeyPatch) -> None:
    """Start without credentials: each test sets its own variables."""


def refused(model: str, wire_format: str = CHAT) -> RequestError:
    """The error for a model that cannot be called."""
    with pytest.raises(RequestError) as raised:
        resolve(model, wire_format).require_key()
    return raised.value


@pytest.mark.parametrize(
    ("wire_format", "url"),
    [
        (CHAT, "http://sim:1/v1/chat/completions"),
        (MESSAGES, "http://sim:1/v1/messages"),
        (RESPONSES, "http://sim:1/v1/responses"),
    ],
)
def test_the_simulator_is_called_raw_in_every_format(wire_format: str, url: str) -> None:
    model = "sim/content?seed=7&speed=inf"
    target = simulator_target(model, wire_format, "http://sim:1")
    assert (target.lane, target.provider, target.url) == (Lane.RAW, "simulator", url)
    assert target.model == "content?seed=7&speed=inf"


def test_no_credential_of_the_environment_goes_to_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "precious")
    for wire_format in (CHAT, MESSAGES, RESPONSES):
        target = simulator_target("sim/content", wire_format, "http://sim:1")
        assert "precious" not in str(target.headers)


def test_a_recording_keeps_its_whole_name() -> None:
    model = "sim/replay:openai_chat/some-slug?pieces=7"
    target = simulator_target(model, CHAT, "http://sim:1")
    assert target.model == "replay:openai_chat/some-slug?pieces=7"


@pytest.mark.parametrize(
    ("model", "variable", "name", "url"),
    [
        ("openai/gpt-4.1", "OPENAI_API_KEY", "gpt-4.1", "https://api.openai.com/v1/chat/completions"),
        ("gpt-4.1", "OPENAI_API_KEY", "gpt-4.1", "https://api.openai.com/v1/chat/completions"),
        ("openrouter/z/m", "OPENROUTER_API_KEY", "z/m", "https://openrouter.ai/api/v1/chat/completions"),
        ("groq/llama", "GROQ_API_KEY", "llama", "https://api.groq.com/openai/v1/chat/completions"),
        ("mistral/large", "MISTRAL_API_KEY", "large", "https://api.mistral.ai/v1/chat/completions"),
        ("xai/grok", "XAI_API_KEY", "grok", "https://api.x.ai/v1/chat/completions"),
    ],
)
def test_a_provider_of_the_format_is_called_raw_with_its_credential(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str, name: str, url: str
) -> None:
    monkeypatch.setenv(variable, "precious")
    target = resolve(model, CHAT)
    target.require_key()
    assert (target.lane, target.model, target.url) == (Lane.RAW, name, url)
    assert target.headers == {"authorization": "Bearer precious"}


def test_anthropic_is_called_raw_for_messages_and_translated_for_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "precious")
    raw, translated = resolve("anthropic/claude", MESSAGES), resolve("anthropic/claude", CHAT)
    assert (raw.lane, raw.url) == (Lane.RAW, "https://api.anthropic.com/v1/messages")
    assert raw.headers["x-api-key"] == "precious"
    assert translated.lane is Lane.TRANSLATED
    assert translated.provider == "anthropic"


@pytest.mark.parametrize("model", ["gemini/gemini-2.5-pro", "bedrock/some-model", "cohere/command"])
def test_a_provider_of_another_format_is_translated(model: str) -> None:
    assert resolve(model, CHAT).lane is Lane.TRANSLATED


@pytest.mark.parametrize(
    ("model", "variable"), [("openai/gpt-4.1", "OPENAI_API_KEY"), ("openrouter/z/m", "OPENROUTER_API_KEY")]
)
def test_it_names_the_variable_of_a_credential_that_is_not_set(model: str, variable: str) -> None:
    error = refused(model)
    assert (error.status, error.code) == (401, "no_credential")
    assert error.message.endswith(f"lacks {variable}. Set it there and restart streamviz.")


@pytest.mark.parametrize("model", ["no-such-model", "nobody/model", "", "/", " sim/content", "x" * 5000, "\x00"])
def test_a_model_of_no_known_provider_does_not_exist(model: str) -> None:
    error = refused(model)
    assert (error.status, error.code, error.param) == (404, "model_not_found", "model")
    assert "Name it as provider/model, or see GET /v1/models." in error.message


@pytest.mark.parametrize("model", ["huggingface/https://evil.test/v1", "oobabooga/http://10.0.0.1:9"])
def test_a_client_cannot_choose_the_address(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv("HUGGINGFACE_API_KEY", "precious")
    assert refused(model).status == 404


def test_a_route_has_an_address_and_a_credential_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not this one")
    monkeypatch.setenv("TEAM_KEY", "precious")
    target = resolve("fast", CHAT, RoutePlan("openai/llama", "http://gpu:9/v1/", "TEAM_KEY"))
    assert (target.model, target.url) == ("llama", "http://gpu:9/v1/chat/completions")
    assert target.headers == {"authorization": "Bearer precious"}
    assert target.with_key("sk-clients").headers == target.headers


def test_a_credential_may_end_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files from which variables are set may end in one, which no header may contain."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TEAM_KEY"):
        monkeypatch.setenv(name, "precious\n")
    route = RoutePlan("openai/gpt-4o", "http://127.0.0.1:9/v1", "TEAM_KEY")
    asked = (("openai/gpt-4o", CHAT), ("anthropic/claude-sonnet-4-5", MESSAGES), ("anthropic/claude-sonnet-4-5", CHAT))
    targets = [*(resolve(*each) for each in asked), resolve("fast", CHAT, route)]
    assert [target.key for target in targets] == ["precious"] * 4
    for name, model, plan in (("TEAM_KEY", "fast", route), ("OPENAI_API_KEY", "openai/gpt-4o", None)):
        monkeypatch.setenv(name, "\n")
        with pytest.raises(RequestError, match=f"lacks {name}"):
            resolve(model, CHAT, plan).require_key()


def test_a_named_credential_that_is_not_set_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "precious")
    for base_url in ("", "http://gpu:9/v1"):
        target = resolve("fast", CHAT, RoutePlan("openai/llama", base_url, "TEAM_KEY"))
        assert "precious" not in str(target.headers)
        with pytest.raises(RequestError, match="TEAM_KEY"):
            target.require_key()


def test_an_address_of_its_own_without_a_credential_is_sent_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "precious")
    target = resolve("fast", CHAT, RoutePlan("openai/llama", "http://gpu:9/v1"))
    target.require_key()
    assert (target.url, target.headers) == ("http://gpu:9/v1/chat/completions", {})


@pytest.mark.parametrize("base_url", ["file:///etc/passwd", "http://user:pass@gpu", "gpu:9"])
def test_a_route_whose_address_is_none_is_not_called(base_url: str) -> None:
    with pytest.raises(RequestError) as raised:
        resolve("fast", CHAT, RoutePlan("openai/llama", base_url))
    assert raised.value.code == "route_unusable"
    assert "pass" not in raised.value.message.replace("/etc/passwd", "").replace("password", "")


def test_a_route_to_another_format_is_translated_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "precious")
    target = resolve("smart", CHAT, RoutePlan("anthropic/claude", "http://gpu:9", "TEAM_KEY"))
    assert (target.lane, target.base_url, target.key) == (Lane.TRANSLATED, "http://gpu:9", "precious")


def test_the_address_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "precious")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other:9/v1")
    assert resolve("openai/gpt-4.1", CHAT).url == "http://other:9/v1/chat/completions"


def test_a_credential_is_in_no_text_about_a_target() -> None:
    target = Target("m", "openai", CHAT, Lane.RAW, key="precious")
    plan = RoutePlan("openai/m", key="precious")
    assert "precious" not in f"{target!r} {target} {plan!r} {plan}"


def test_the_models_of_providers_with_a_credential_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    without = set(configured_models())
    monkeypatch.setenv("GROQ_API_KEY", "precious")
    added = set(configured_models()) - without
    assert added
    assert all(resolve(model, CHAT).key == "precious" for model in list(added)[:3])


@pytest.mark.parametrize(
    "model",
    [
        "azure_ai/agents/asst_1",
        "azure_ai/deployments/x",
        "gemini/x:generate",
        "vertex_ai/x:predict",
        "openai/responses/gpt-4o",
        "openrouter/responses/x",
        "hosted_vllm/container/x",
    ],
)
@pytest.mark.parametrize("wire_format", [CHAT, MESSAGES, RESPONSES])
def test_a_name_chooses_no_path_and_no_other_api(model: str, wire_format: str) -> None:
    assert refused(model, wire_format).status == 404


def test_names_with_a_colon_or_a_slash_are_called_where_they_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "AWS_PROFILE", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(variable, "x")
    for model in ("openai/ft:gpt-4o:org::id", "bedrock/anthropic.claude-v2:1", "openrouter/z/m:free"):
        resolve(model, CHAT).require_key()
