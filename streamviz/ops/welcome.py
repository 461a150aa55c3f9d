"""What `make run` tells the person in front of it."""

import json
import shlex

MODEL = "sim/content"
CURL_BODY = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}


def say(line: str) -> None:
    """One line of progress, at once."""
    print(f"streamviz: {line}", flush=True)


def show_first_key(key: str | None) -> None:
    """At once when there is one, so that it is not lost when the start fails after it was made."""
    if key:
        say(f"Created the first API key; it won't be shown again: {key}")


def welcome(base_url: str, link: str | None, key: str | None) -> None:
    """Where to look and what to try; `link` and `key` are None when there is nothing new to hand out."""
    say(f"Running at {base_url}/ (Ctrl-C stops it)\n")
    if link:
        print(f"  Sign in as the administrator, once:\n    {link}\n")
    if not key:
        print(f"  API keys are shown once, when they are made. Make another at {base_url}/admin/\n")
    print(f"  Try it:\n    {curl_line(base_url, key)}\n", flush=True)


def curl_line(base_url: str, key: str | None) -> str:
    """A command that streams an answer of the simulator's; without a key, one that takes it from the shell."""
    header = shlex.quote(f"Authorization: Bearer {key}") if key else '"Authorization: Bearer $STREAMVIZ_KEY"'
    body = shlex.quote(json.dumps(CURL_BODY))
    return f"curl -N {base_url}/v1/chat/completions -H {header} -H 'Content-Type: application/json' -d {body}"
