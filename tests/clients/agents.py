"""Coding agents: how each is configured for streamviz, and run on one prompt in a folder of its own."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROMPT = "Do five steps"
SECONDS = 240
# The only variables passed on to an agent: it must not find another provider, key or home directory.
KEPT = ("PATH", "LANG", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")


@dataclass(frozen=True)
class Place:
    """Where an agent runs: streamviz's address and key, a model, and the agent's folder."""

    base: str
    key: str
    model: str
    home: Path

    def write(self, name: str, text: str) -> None:
        """Write a file into the folder."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@dataclass(frozen=True)
class Ran:
    """How a run of an agent ended."""

    status: int | None
    output: str


# Writes the agent's configuration, and returns its command line and environment.
Prepare = Callable[[Place, str], tuple[list[str], dict[str, str]]]


def claude_code(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    arguments = [
        "claude",
        "-p",
        prompt,
        "--dangerously-skip-permissions",
        "--output-format",
        "stream-json",
        "--verbose",
    ]
    return arguments, {
        "ANTHROPIC_BASE_URL": place.base,
        "ANTHROPIC_AUTH_TOKEN": place.key,
        "ANTHROPIC_MODEL": place.model,
        "ANTHROPIC_SMALL_FAST_MODEL": place.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "IS_SANDBOX": "1",
    }


def codex(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    place.write(
        ".codex/config.toml",
        f"""
model = "{place.model}"
model_provider = "streamviz"

[model_providers.streamviz]
name = "streamviz"
base_url = "{place.base}/v1"
env_key = "STREAMVIZ_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 1
""",
    )
    return _codex_exec(prompt), {"STREAMVIZ_KEY": place.key}


def codex_as_openai(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    """It takes us for OpenAI itself, and tries a websocket first."""
    place.write(".codex/config.toml", f'model = "{place.model}"\nopenai_base_url = "{place.base}/v1"\n')
    return _codex_exec(prompt), {"CODEX_API_KEY": place.key}


def _codex_exec(prompt: str) -> list[str]:
    options = ["--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox"]
    return ["codex", "exec", *options, prompt]


def opencode(place: Place, prompt: str, sdk: str = "@ai-sdk/openai-compatible") -> tuple[list[str], dict[str, str]]:
    provider = {
        "npm": sdk,
        "name": "streamviz",
        "options": {"baseURL": f"{place.base}/v1", "apiKey": place.key},
        "models": {place.model: {"name": place.model}},
    }
    settings = {"provider": {"streamviz": provider}, "permission": "allow", "autoupdate": False, "share": "disabled"}
    place.write("opencode.json", json.dumps(settings))
    arguments = ["opencode", "run", "--model", f"streamviz/{place.model}", "--format", "json", prompt]
    return arguments, {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def opencode_on_messages(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return opencode(place, prompt, "@ai-sdk/anthropic")


def gemini_cli(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    place.write(".gemini/settings.json", json.dumps(settings))
    arguments = ["gemini", "--model", place.model, "--yolo", "--output-format", "json", "--prompt", prompt]
    return arguments, {
        "GEMINI_API_KEY": place.key,
        "GOOGLE_GEMINI_BASE_URL": place.base,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_BROWSER": "1",
    }


def qwen_code(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    settings = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
    place.write(".qwen/settings.json", json.dumps(settings))
    arguments = ["qwen", "--yolo", "--auth-type", "openai", "--model", place.model, "--prompt", prompt]
    return arguments, {"OPENAI_API_KEY": place.key, "OPENAI_BASE_URL": f"{place.base}/v1"}


def pi(
    place: Place, prompt: str, api: str = "openai-completions", path: str = "/v1"
) -> tuple[list[str], dict[str, str]]:
    model = {"id": place.model, "reasoning": True, "contextWindow": 128_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{place.base}{path}", "api": api, "apiKey": place.key, "models": [model]}
    place.write(".pi/agent/models.json", json.dumps({"providers": {"streamviz": provider}}))
    return ["pi", "--provider", "streamviz", "--model", place.model, "--print", prompt], {"PI_OFFLINE": "1"}


def pi_on_messages(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return pi(place, prompt, "anthropic-messages", "")


def pi_on_responses(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return pi(place, prompt, "openai-responses")


def pi_on_gemini(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return pi(place, prompt, "google-generative-ai", "/v1beta")


def copilot_cli(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return ["copilot", "--prompt", prompt, "--allow-all-tools", "--no-color"], {
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": f"{place.base}/v1",
        "COPILOT_PROVIDER_API_KEY": place.key,
        "COPILOT_MODEL": place.model,
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def continue_cli(place: Place, prompt: str, provider: str = "openai") -> tuple[list[str], dict[str, str]]:
    model = {"name": "m", "provider": provider, "model": place.model, "apiBase": f"{place.base}/v1"}
    model |= {"apiKey": place.key, "roles": ["chat"], "capabilities": ["tool_use"]}
    settings = {"name": "streamviz", "version": "1.0.0", "schema": "v1", "models": [model]}
    place.write("config.yaml", json.dumps(settings))  # JSON is YAML, too
    arguments = ["cn", "--print", "--auto", "--config", str(place.home / "config.yaml"), prompt]
    return arguments, {"CONTINUE_TELEMETRY_ENABLED": "0"}


def continue_cli_on_messages(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    return continue_cli(place, prompt, "anthropic")


def aider(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    options = "--yes-always --no-git --no-check-update --no-show-model-warnings --analytics-disable --no-pretty"
    arguments = ["aider", "--model", f"openai/{place.model}", *options.split(), "--message", prompt]
    return arguments, {"OPENAI_API_BASE": f"{place.base}/v1", "OPENAI_API_KEY": place.key}


def aider_on_messages(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
    arguments, _ = aider(place, prompt)
    arguments[2] = f"anthropic/{place.model}"
    return arguments, {"ANTHROPIC_API_BASE": place.base, "ANTHROPIC_API_KEY": place.key}


# By client and dialect.
AGENTS: Mapping[tuple[str, str], Prepare] = {
    ("claude_code", "messages"): claude_code,
    ("codex", "responses"): codex,
    ("codex_as_openai", "responses"): codex_as_openai,
    ("opencode", "chat"): opencode,
    ("opencode", "messages"): opencode_on_messages,
    ("gemini_cli", "gemini"): gemini_cli,
    ("qwen_code", "chat"): qwen_code,
    ("pi", "chat"): pi,
    ("pi", "messages"): pi_on_messages,
    ("pi", "responses"): pi_on_responses,
    ("pi", "gemini"): pi_on_gemini,
    ("copilot_cli", "chat"): copilot_cli,
    ("continue_cli", "chat"): continue_cli,
    ("continue_cli", "messages"): continue_cli_on_messages,
    ("aider", "chat"): aider,
    ("aider", "messages"): aider_on_messages,
}


def begin(prepare: Prepare, place: Place, programs: Path, prompt: str = PROMPT) -> subprocess.Popen[str]:
    """Start an agent; its programs are in the folder `programs`."""
    place.home.mkdir(parents=True, exist_ok=True)
    arguments, own = prepare(place, prompt)
    kept = {name: value for name in KEPT if (value := os.environ.get(name))}
    environment = {**kept, "HOME": str(place.home), "PWD": str(place.home), "TERM": "dumb", **own}
    return subprocess.Popen(
        [str(programs / arguments[0]), *arguments[1:]],
        cwd=place.home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(prepare: Prepare, place: Place, programs: Path, prompt: str = PROMPT) -> Ran:
    """Run an agent to its end; `status` is None if it timed out."""
    process = begin(prepare, place, programs, prompt)
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return Ran(None, process.communicate()[0])
    return Ran(process.returncode, output)
