"""The names by which a model is known."""

import pytest

from streamviz.core.model_names import matching, model_names


@pytest.mark.parametrize(
    ("asked", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("fast", "openai", "gpt-4o"),
        ("OpenAI/GPT-4o", "openai", "GPT-4o"),
        ("openrouter/openai/gpt-4o", "openrouter", "openai/gpt-4o"),
        ("x", "openrouter", "some/where/gpt-4o"),
    ],
)
def test_however_a_model_is_asked_for_its_own_name_is_among_its_names(asked: str, provider: str, model: str) -> None:
    names = model_names(asked, provider, model)
    assert matching(names, ["gpt-*"])
    assert matching(names, [f"{provider}/*"])
    assert matching(names, [asked])
    assert names[0] == model
    assert not matching(names, ["claude-*", "anthropic/*", ""])


def test_a_simulated_model_is_nobody_elses() -> None:
    names = model_names("sim/gpt-4o", "openai", "gpt-4o")
    assert names == ("sim/gpt-4o",)
    assert matching(names, ["SIM/*"]) == "SIM/*"
    assert not matching(names, ["openai/*", "gpt-*"])


def test_a_route_that_looks_simulated_has_the_names_of_where_it_leads() -> None:
    assert matching(model_names("sim/fast", "openai", "gpt-4o"), ["gpt-*"])


def test_no_glob_means_nothing() -> None:
    assert matching(("a",), []) == ""
