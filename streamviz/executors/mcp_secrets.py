"""Mask the secrets that an MCP server was given in everything that it says."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from streamviz.upstream.redaction import with_lines, without


def secrets_in(variables: Iterable[str]) -> list[str]:
    """The values of these environment variables, their lines, and the passwords of URLs among them, as plain text and
    as JSON writes them: the longest first, because one may begin another."""
    values = {each for name in variables for each in _parts(os.environ.get(name, ""))}
    return sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)


def masked(text: str, secrets: Sequence[str]) -> str:
    """The text without any of them. Short ones stay: they are words, not credentials."""
    for secret in secrets:
        text = without(secret, text)
    return text


def _parts(value: str) -> Iterator[str]:
    yield from with_lines(value)
    with suppress(ValueError):  # it is not a URL
        password = urlsplit(value.strip()).password or ""
        yield from (password, unquote(password))


def _forms(value: str) -> tuple[str, ...]:
    return value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
