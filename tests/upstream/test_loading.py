"""The cost of a start is that of its imports: mostly LiteLLM, if calls may need it."""

import subprocess
import sys

import pytest

from streamviz.upstream.loading import is_needed
from tests.services import ROOT, clean_environment

pytestmark = pytest.mark.integration

SERVER = """
import sys
import django

django.setup()
assert not {"jsonschema", "jsonpath", "litellm"} & set(sys.modules), "nothing has made a policy yet"
import streamviz.serving.asgi
assert "redis" not in sys.modules, "there is none"
from streamviz.core.tokens import Tokens
from streamviz.upstream import targets
from streamviz.upstream.prices import most_output, price

target = targets.simulator_target("sim/content", "openai_chat", "http://sim:1")
assert price(target.model, target.provider, Tokens(1, 1)) is most_output(target.model, target.provider) is None
assert targets.configured_models() == []
print("litellm" in sys.modules)
targets.resolve("gpt-4o", "openai_chat")
print("litellm" in sys.modules)
"""


@pytest.mark.slow
def test_a_server_of_simulated_models_does_without(bare_environment: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("variable", "has_routes", "brings_credentials", "needed"),
    [
        ("", False, False, False),
        ("OPENAI_API_KEY", False, False, True),
        ("", True, False, True),
        ("", False, True, True),
    ],
)
def test_litellm_is_needed_where_calls_to_providers_can_be_expected(
    bare_environment: pytest.MonkeyPatch, variable: str, has_routes: bool, brings_credentials: bool, needed: bool
) -> None:
    if variable:
        bare_environment.setenv(variable, "x")
    assert is_needed(has_routes=has_routes, brings_credentials=brings_credentials) is needed


def test_litellm_fetches_no_prices_whichever_module_imports_it_first() -> None:
    said = "import os, streamviz.upstream; print(os.environ.get('LITELLM_LOCAL_MODEL_COST_MAP'))"
    command = [sys.executable, "-c", said]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"
