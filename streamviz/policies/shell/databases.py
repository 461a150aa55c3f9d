"""Commands that drop databases or empty their tables."""

from collections.abc import Callable, Mapping

from streamviz.policies.shell import patterns
from streamviz.policies.shell.commands import Command, operands
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.patterns import has

_SQL = frozenset("psql mysql mariadb sqlcmd clickhouse-client clickhouse cockroach cqlsh usql bq snowsql".split())
_MONGO = frozenset("mongo mongosh".split())
_KEYS = frozenset("redis-cli valkey-cli".split())
_ADMINS = frozenset("dropdb dropuser".split())
# Programs that are often run in a container.
DATABASES = _SQL | _MONGO | _KEYS | _ADMINS | {"mysqladmin"}

_DROPS = "it drops a database or empties a table"


def _sql(command: Command) -> str:
    texts = [*command.arguments, input_of(command) or ""]
    return _DROPS if any(has(patterns.DROPS, text) for text in texts) else ""


def _mongo(command: Command) -> str:
    texts = [*command.arguments, input_of(command) or ""]
    return _DROPS if any(has(patterns.MONGO_DROPS, text) for text in texts) else ""


def _redis(command: Command) -> str:
    words = [*command.arguments, *(input_of(command) or "").split()]
    return _DROPS if {word.lower() for word in words} & {"flushall", "flushdb"} else ""


def _drops(command: Command) -> str:
    return _DROPS if operands(command.arguments) else ""


def _mysqladmin(command: Command) -> str:
    return _DROPS if "drop" in operands(command.arguments) else ""


# By program: what is wrong with a command; empty if nothing is.
DATABASE_RULES: Mapping[str, Callable[[Command], str]] = {
    **dict.fromkeys(_SQL, _sql),
    **dict.fromkeys(_MONGO, _mongo),
    **dict.fromkeys(_KEYS, _redis),
    **dict.fromkeys(_ADMINS, _drops),
    "mysqladmin": _mysqladmin,
}
