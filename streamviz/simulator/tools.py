"""Tool calls that a coding agent's model makes."""

from random import Random

PATHS = ("src/orders/pricing.py", "app/handlers/upload.py", "tests/test_worker.py", "config/database.yml", "README.md")
QUERIES = ("def parse_header", "TODO remove", "connection_pool", "class InvoiceWriter", "retry_after")


def harmless_call(rng: Random) -> tuple[str, dict[str, object]]:
    """A tool's name and arguments that do no harm."""
    path = rng.choice(PATHS)
    return rng.choice(
        (
            ("read_file", {"path": path, "start_line": rng.randint(1, 200), "max_lines": 120}),
            ("search_code", {"query": rng.choice(QUERIES), "path": path.partition("/")[0], "max_results": 20}),
            ("run_tests", {"target": path, "verbose": True, "options": {"workers": 2, "fail_fast": False}}),
            ("list_directory", {"path": path.rpartition("/")[0] or ".", "recursive": rng.random() < 0.5}),
        )
    )


def read_file_call() -> tuple[str, dict[str, object]]:
    """A call that reads one file."""
    return "read_file", {"path": "/srv/app/settings.toml", "start_line": 1, "max_lines": 80}


def dangerous_call() -> tuple[str, dict[str, object]]:
    """A shell command that deletes data."""
    return "run_shell", {"command": "rm -rf /srv/data", "working_directory": "/srv", "timeout_seconds": 30}


def hostile_call() -> tuple[str, dict[str, object]]:
    """A call whose name and arguments attack the page that shows them."""
    return (
        'open_url"><img src=x onerror=alert(1)>',
        {
            "url": "javascript:alert(document.cookie)",
            "<script>key</script>": "</script><script>alert('arguments')</script>",
            "note": "{{ 7 * 7 }} {% include '/etc/passwd' %} ${7*7} \u202eoff.txt\u202c \x00\x1b[2J\u2028\u2029",
            "nested": {"__proto__": {"polluted": True}, "href": "&#106;avascript:alert(2)"},
        },
    )
