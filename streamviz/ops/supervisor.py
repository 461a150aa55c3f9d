"""Everything that `make run` starts, in one process that also ends it all."""

import os
import queue
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import Error, connections

from streamviz.core.base_urls import WILDCARDS, own_url, reachable_host
from streamviz.ops import checks, database_checks, first_start, password_checks
from streamviz.ops.children import Address, Child
from streamviz.ops.embedded_postgres import EmbeddedPostgres
from streamviz.ops.keeping import Keeping
from streamviz.ops.welcome import say, show_first_key, welcome
from streamviz.records.writer.status import is_running

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BASE_URLS = re.compile(r"[A-Z_]+_(BASE_URL|API_BASE)")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

# Called with the server's address.
Then = Callable[[str], None]


def run(prepare: Callable[[], Then] | None = None) -> None:
    """Start everything, say where it is, and keep it running; end everything on Ctrl-C. `prepare` is called before the
    server starts, and what it returns with the server's address once everything runs. Raises Fault, with everything
    ended, if something cannot be started."""
    with stoppable(say), ExitStack() as stack:
        _forget_own_address(settings.HOST, settings.PORT)
        checks.require_folder(settings.VAR_DIR)
        require_held = stack.enter_context(checks.only_one_running(settings.VAR_DIR))
        checks.require_two_ports(settings.PORT, settings.SIMULATOR_PORT)
        checks.require_free_port(settings.HOST, settings.PORT, "PORT")
        checks.require_free_port("127.0.0.1", settings.SIMULATOR_PORT, "SIMULATOR_PORT")
        postgres = _start_postgres(stack)
        administrator = _prepare_database()
        # Before the server reads the keys, so that it knows these from the start.
        key = first_start.issue_first_key(settings.VAR_DIR / "first_key")
        show_first_key(key)
        then = prepare() if prepare is not None else None
        ended: queue.SimpleQueue[Child] = queue.SimpleQueue()
        children = _children()
        for child in children:
            child.start(ended.put)
            stack.callback(child.stop)
        for child in children:
            child.wait_until_ready()
        link = first_start.link_if_needed(administrator, pages_url(), settings.VAR_DIR / "sign_in_link")
        welcome(base_url(), pages_url(), link, key)
        if then is not None:
            then(base_url())
        connections.close_all()
        Keeping(ended, postgres, require_held).run()


def _forget_own_address(host: str, port: int) -> None:
    """Remove providers' base URLs that lead back to this server, where every call would return. A shell in which a
    client was set up has one. The processes started later do not inherit them either."""
    # At one address of this machine alone, another server may have the same port at another.
    hosts = (host, *_THIS_MACHINE) if host in (*WILDCARDS, *_THIS_MACHINE) else (host,)
    for name in [name for name in os.environ if _BASE_URLS.fullmatch(name)]:
        if _leads_to(os.environ[name], hosts, port):
            del os.environ[name]
            say(f"{name} is this server's own address, which is for clients, so it is ignored here")


def _leads_to(url: str, hosts: tuple[str, ...], port: int) -> bool:
    with suppress(ValueError):  # not a URL: calls to the provider report that
        found = urlsplit(url.strip())
        return found.hostname in hosts and (found.port or {"http": 80, "https": 443}.get(found.scheme)) == port
    return False


def base_url() -> str:
    """Where a browser on this machine finds the server."""
    return own_url(settings.HOST, settings.PORT) + settings.BASE_PATH


def pages_url() -> str:
    """Where browsers find the pages: at the first origin that a TLS proxy has for them, or else on this machine."""
    names = [origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin]
    return f"{names[0]}{settings.BASE_PATH}" if names else base_url()


@contextmanager
def stoppable(tell: Callable[[str], None]) -> Iterator[None]:
    """Let a stop signal end the block once; while it ends, further signals change nothing. If SIGHUP is ignored, as
    with nohup, it stays ignored."""

    has_come = False

    def stop(number: int, _: object) -> None:
        nonlocal has_come
        has_come = True
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        print(file=sys.stderr)
        tell("Stopping")
        raise KeyboardInterrupt

    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set()
    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS if number not in ignored}
    try:
        yield
    except (KeyboardInterrupt, Error, psycopg.Error):
        # If the signal came amid a query, leaving its transaction may fail, which then takes the interrupt's place.
        if not has_come:
            raise
        tell("Stopped; nothing is left running")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start_postgres(stack: ExitStack) -> EmbeddedPostgres | None:
    if not settings.EMBEDDED_POSTGRES:
        return None
    say("Starting Postgres")
    postgres = EmbeddedPostgres(settings.EMBEDDED_POSTGRES_DIR, say)
    stack.callback(postgres.stop)
    postgres.start()
    return postgres


def _prepare_database() -> User:
    database_checks.require_database()
    password_checks.require_database_password_if_public()
    say("Preparing the database")
    call_command("migrate", interactive=False, verbosity=0)
    administrator = first_start.ensure_administrator()
    password_checks.require_password_if_public()
    return administrator


def _children() -> list[Child]:
    port = settings.SIMULATOR_PORT
    environment = {"SIMULATOR_URL": f"http://127.0.0.1:{port}"}
    simulator = ["streamviz.simulator", "--port", str(port)]
    server = Address(reachable_host(settings.HOST), settings.PORT)
    say("Starting the simulator, the writer and the server")
    return [
        Child("simulator", simulator, Address("127.0.0.1", port).answers, environment),
        # Children end in the opposite order, so that the writer still stores what the server records up to its last
        # moment.
        Child("writer", ["streamviz", "write"], lambda: is_running(settings.JOURNAL_DIR), environment),
        Child("server", ["streamviz", "serve"], server.answers, environment),
    ]
