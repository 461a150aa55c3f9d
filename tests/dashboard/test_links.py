"""Every link on the pages of a made-up history leads to a page."""

import re
from collections import deque
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from streamviz.records.models import Policy

pytestmark = pytest.mark.slow

STARTS = ("/", "/sessions/?range=all", "/stats/?range=all", "/errors/?range=all", "/policies/", "/system/", "/keys/")
LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
# Static files, what the server answers without Django, and links out of these pages.
ELSEWHERE = ("/static/", "/api/", "/admin/")


def links(path: str, page: str) -> Iterator[str]:
    """The links of a page within this site."""
    for link in LINK.findall(page):
        parts = urlsplit(urljoin(f"http://testserver{path}", unescape(link)))
        if parts.netloc == "testserver" and not parts.path.startswith(ELSEWHERE):
            yield f"{parts.path}?{parts.query}" if parts.query else parts.path


def shape(link: str) -> tuple[str, ...]:
    """What pages that differ only in ids and values have in common: one of each kind is enough."""
    parts = urlsplit(link)
    path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "#", parts.path)
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return (path, *names)


@pytest.mark.django_db(transaction=True)
def test_every_link_leads_to_a_page(guard: Policy) -> None:
    call_command("seed_history", streams=80, chunks=2_000, days=2, verbosity=0)
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.create_superuser("administrator"))
    waiting, shapes, broken = deque(STARTS), set[tuple[str, ...]](), []
    while waiting:
        link = waiting.popleft()
        if shape(link) in shapes:
            continue
        shapes.add(shape(link))
        answer = browser.get(link)
        if answer.status_code >= 400:
            broken.append((answer.status_code, link))
        elif answer.headers.get("content-type", "").startswith("text/html"):
            waiting += dict.fromkeys(links(link, answer.content.decode()))
    assert broken == []
    assert len(shapes) > 50
