"""What `make run` tells the person who started it."""

import json
import os
import shlex

from django.conf import settings

from streamviz.ops.handing_over import HandedOver, has_terminal
from streamviz.records.models import Route
from streamviz.upstream.providers import PROVIDERS, is_configured

MODEL = "sim/content"
CURL_BODY = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}


def say(line: str) -> None:
    """Print one line of progress at once."""
    print(f"streamviz: {line}", flush=True)


def show_first_key(key: HandedOver | None) -> None:
    """Show a new key at once, so that it is not lost if the start fails later."""
    if key and key.file:
        say(f"Created the first API key. It is in {key.file}, which only its owner can read: copy it, then delete it")
    elif key:
        say(f"Created the first API key; it won't be shown again: {key.secret}")


def welcome(base_url: str, pages_url: str, link: HandedOver | None, key: HandedOver | None) -> None:
    """Say where to look and what to try; `link` and `key` are None if there is nothing new to hand out. Browsers find
    the pages at `pages_url`; at `base_url`, this machine's own address, they may be refused."""
    say(f"Running at {pages_url}/{' (Ctrl-C stops it)' if has_terminal() else ''}\n")
    if link:
        where = f"the link is in {link.file}" if link.file else link.secret
        print(f"  Sign in as the administrator, once:\n    {where}\n")
    if not key:
        print(f"  API keys are shown once, when created. Make another at {pages_url}/keys/, or with `key create`.\n")
    print(f"  {_who_answers()}\n")
    print(f"  Try it:\n    {curl_line(base_url, key)}\n", flush=True)


def _who_answers() -> str:
    """Which providers can be called with the environment's credentials, and whether other credentials are used too."""
    configured = [name for name in PROVIDERS if is_configured(name)]
    others = ["clients send their own"] if settings.CLIENT_CREDENTIALS else []
    others += ["routes have theirs"] if any(_has_its_own(route) for route in Route.objects.all()) else []
    if configured or others:
        return f"Providers with a credential: {'; '.join([', '.join(configured) or 'none', *others])}."
    return "No provider's credential is set: set one, such as OPENAI_API_KEY, and start again to call its models."


def _has_its_own(route: Route) -> bool:
    """Whether a route names a credential that is set, or has an address of its own and needs none."""
    return bool(os.environ.get(route.credential, "").strip() if route.credential else route.base_url)


def curl_line(base_url: str, key: HandedOver | None) -> str:
    """A command that streams an answer from the simulator; without a key, one that takes the key from the shell."""
    body = shlex.quote(json.dumps(CURL_BODY))
    header = _authorization(key)
    return f"curl -N {base_url}/v1/chat/completions -H {header} -H 'Content-Type: application/json' -d {body}"


def _authorization(key: HandedOver | None) -> str:
    """The header, quoted for a shell."""
    if key is None:
        return '"Authorization: Bearer $STREAMVIZ_KEY"'
    if key.file is None:
        return shlex.quote(f"Authorization: Bearer {key.secret}")
    return f'"Authorization: Bearer $(cat {shlex.quote(str(key.file))})"'
