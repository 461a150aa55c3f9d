"""Commands that delete what servers keep: databases, clusters, cloud resources, container volumes."""

import re
from collections.abc import Callable, Mapping

from streamviz.policies.shell.clouds import CLOUD_RULES, DELETES
from streamviz.policies.shell.commands import Command, operands, options
from streamviz.policies.shell.databases import DATABASE_RULES

_CLUSTERS = frozenset("kubectl oc k3s k9s microk8s".split())
_LOST_WITH_A_CLUSTER = re.compile(
    r"(?:ns|namespaces?|pvc?|persistentvolume(?:claim)?s?|crds?|nodes?|clusters?)(?:/.*)?"
)
_PLANS = frozenset("terraform tofu terragrunt pulumi cdk cdktf serverless sls sam".split())


def deletes_data(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    rule = _RULES.get(command.name)
    return rule(command) if rule else ""


def _cluster(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "delete" not in rest[:3] or "dry-run" in chosen:
        return ""
    behind = rest[rest.index("delete") + 1 :]
    is_all = bool(chosen & {"all", "A", "all-namespaces"})
    return DELETES if is_all or any(map(_LOST_WITH_A_CLUSTER.fullmatch, behind)) else ""


def _plan(command: Command) -> str:
    rest = operands(command.arguments)
    is_destroying = bool({"destroy", "remove", "down"} & set(rest[:2])) and "help" not in options(command.arguments)
    applies = "apply" in rest and any(each in ("-destroy", "--destroy") for each in command.arguments)
    return "it tears down what is deployed" if is_destroying or applies else ""


def _containers(command: Command) -> str:
    rest, chosen = operands(command.arguments), options(command.arguments)
    if "prune" not in rest:
        return ""
    return "it deletes all unused volumes" if "volumes" in chosen or "volume" in rest else ""


_RULES: Mapping[str, Callable[[Command], str]] = {
    **DATABASE_RULES,
    **CLOUD_RULES,
    **dict.fromkeys(_CLUSTERS, _cluster),
    **dict.fromkeys(_PLANS, _plan),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _containers),
}
