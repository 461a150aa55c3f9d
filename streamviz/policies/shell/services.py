"""Commands that delete what servers keep: databases, clusters, what is in a cloud, volumes of containers."""

import re
from collections.abc import Callable, Mapping

from streamviz.policies.shell import patterns
from streamviz.policies.shell.commands import Command, operands, options
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.patterns import has

_SQL = frozenset("psql mysql mariadb sqlcmd clickhouse-client clickhouse cockroach cqlsh usql bq snowsql".split())
_MONGO = frozenset("mongo mongosh".split())
_KEYS = frozenset("redis-cli valkey-cli".split())
_ADMINS = frozenset("dropdb dropuser".split())
# Often run in a container.
DATABASES = _SQL | _MONGO | _KEYS | _ADMINS | {"mysqladmin"}
_CLUSTERS = frozenset("kubectl oc k3s k9s microk8s".split())
_LOST_WITH_A_CLUSTER = re.compile(
    r"(?:ns|namespaces?|pvc?|persistentvolume(?:claim)?s?|crds?|nodes?|clusters?)(?:/.*)?"
)
_PLANS = frozenset("terraform tofu terragrunt pulumi cdk cdktf serverless sls sam".split())
_CLOUDS = frozenset("gcloud az doctl heroku fly flyctl gh glab vercel netlify supabase railway oci ibmcloud".split())
_CLOUD_DELETES = re.compile(r"(?:.*:)?(?:delete|destroy|purge)")
_AWS_DELETES = re.compile(r"(?:delete|terminate|deregister|purge|schedule-key-deletion)(?:-.*)?")
# What is deleted every day, and is no loss.
_PASSING = frozenset("pr mr issue run cache label branch codespace comment deployment session token".split())

_DROPS = "it drops a database or empties a table"
_DELETES = "it deletes a server's data"


def deletes_data(command: Command) -> str:
    """What is wrong with it, empty where nothing is."""
    rule = _RULES.get(command.name)
    return rule(command) if rule else ""


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


def _cluster(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "delete" not in rest[:3] or "dry-run" in chosen:
        return ""
    behind = rest[rest.index("delete") + 1 :]
    is_all = bool(chosen & {"all", "A", "all-namespaces"})
    return _DELETES if is_all or any(map(_LOST_WITH_A_CLUSTER.fullmatch, behind)) else ""


def _plan(command: Command) -> str:
    rest = operands(command.arguments)
    is_destroying = bool({"destroy", "remove", "down"} & set(rest[:2])) and "help" not in options(command.arguments)
    applies = "apply" in rest and any(each in ("-destroy", "--destroy") for each in command.arguments)
    return "it tears down what is deployed" if is_destroying or applies else ""


def _aws(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "dryrun" in chosen or "dry-run" in chosen:
        return ""
    is_bucket = "s3" in rest and ("rb" in rest or ("rm" in rest and "recursive" in chosen))
    return _DELETES if is_bucket or any(map(_AWS_DELETES.fullmatch, rest[1:3])) else ""


def _gsutil(command: Command) -> str:
    rest = operands(command.arguments)
    is_recursive = bool(options(command.arguments) & {"r", "R", "a"})
    return _DELETES if "rb" in rest[:1] or ("rm" in rest[:1] and is_recursive) else ""


def _cloud(command: Command) -> str:
    rest = operands(command.arguments)
    if rest and rest[0] in _PASSING:
        return ""
    return _DELETES if any(map(_CLOUD_DELETES.fullmatch, rest[:5])) or "pg:reset" in rest else ""


def _containers(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "prune" not in rest:
        return ""
    return "it deletes all unused volumes" if "volumes" in chosen or "volume" in rest else ""


_RULES: Mapping[str, Callable[[Command], str]] = {
    **dict.fromkeys(_SQL, _sql),
    **dict.fromkeys(_MONGO, _mongo),
    **dict.fromkeys(_CLUSTERS, _cluster),
    **dict.fromkeys(_PLANS, _plan),
    **dict.fromkeys(_CLOUDS, _cloud),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _containers),
    **dict.fromkeys(_KEYS, _redis),
    **dict.fromkeys(_ADMINS, _drops),
    "mysqladmin": _mysqladmin,
    "aws": _aws,
    "gsutil": _gsutil,
}
