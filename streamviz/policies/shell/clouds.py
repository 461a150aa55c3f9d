"""Commands that delete resources in a cloud."""

import re
from collections.abc import Callable, Mapping

from streamviz.policies.shell.commands import Command, operands, options

_CLOUDS = frozenset("gcloud az doctl heroku fly flyctl gh glab vercel netlify supabase railway oci ibmcloud".split())
_CLOUD_DELETES = re.compile(r"(?:.*:)?(?:delete|destroy|purge)")
_AWS_DELETES = re.compile(r"(?:delete|terminate|deregister|purge|schedule-key-deletion)(?:-.*)?")
# Deleted every day, and no loss.
_PASSING = frozenset("pr mr issue run cache label branch codespace comment deployment session token".split())

DELETES = "it deletes a server's data"


def _aws(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "dryrun" in chosen or "dry-run" in chosen:
        return ""
    is_bucket = "s3" in rest and ("rb" in rest or ("rm" in rest and "recursive" in chosen))
    return DELETES if is_bucket or any(map(_AWS_DELETES.fullmatch, rest[1:3])) else ""


def _gsutil(command: Command) -> str:
    rest = operands(command.arguments)
    is_recursive = bool(options(command.arguments) & {"r", "R", "a"})
    return DELETES if "rb" in rest[:1] or ("rm" in rest[:1] and is_recursive) else ""


def _cloud(command: Command) -> str:
    rest = operands(command.arguments)
    if rest and rest[0] in _PASSING:
        return ""
    return DELETES if any(map(_CLOUD_DELETES.fullmatch, rest[:5])) or "pg:reset" in rest else ""


# By program: what is wrong with a command; empty if nothing is.
CLOUD_RULES: Mapping[str, Callable[[Command], str]] = {
    **dict.fromkeys(_CLOUDS, _cloud),
    "aws": _aws,
    "gsutil": _gsutil,
}
