"""Who may do what. Viewers and operators are groups; administrators are Django's superusers.

| role | may |
|---|---|
| viewer | see every page |
| operator | also change, try out and back-test policies; send, cancel, decide about streams; star and note them |
| administrator | everything, in the admin too; delete sessions, make public links |
"""

from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest

from streamviz.records.models import Stream

VIEWER, OPERATOR = "viewer", "operator"

VIEW = "records.view_stream"
VIEW_POLICIES = "records.view_policy"
VIEW_KEYS = "records.view_apikey"
CHANGE_POLICY = "records.change_policy"
ADD_POLICY = "records.add_policy"
ISSUE_KEYS = "records.add_apikey"
REVOKE_KEYS = "records.change_apikey"
SIMULATE = "records.simulate_stream"
DECIDE = "records.decide_block"
CANCEL = "records.cancel_stream"
CHANGE_SESSION = "records.change_session"
DELETE_SESSION = "records.delete_session"
SHARE = "records.add_publiclink"

# Start pages, the first that somebody may see. Permissions can be granted one by one, so Live is not for everybody.
_HOMES = {"live": VIEW, "policies": VIEW_POLICIES, "keys": VIEW_KEYS}
_SEEN = (
    *("session", "stream", "block", "verdict", "policy", "policyversion", "backtest", "apikey"),
    *("route", "routeversion"),
)
_OWN_PERMISSIONS = {
    "simulate_stream": "Can send simulated streams",
    "decide_block": "Can allow and deny held blocks by hand",
    "cancel_stream": "Can cancel running streams",
}


def ensure_roles(**_: Any) -> None:
    """Create the groups and give them their permissions; called after each migration."""
    streams = ContentType.objects.get_for_model(Stream)
    for codename, name in _OWN_PERMISSIONS.items():
        Permission.objects.get_or_create(content_type=streams, codename=codename, defaults={"name": name})
    seen = [f"view_{model}" for model in _SEEN]
    _give(VIEWER, seen)
    _give(OPERATOR, [*seen, "change_policy", "change_session", *_OWN_PERMISSIONS])


def _give(role: str, codenames: list[str]) -> None:
    group, _ = Group.objects.get_or_create(name=role)
    group.permissions.set(Permission.objects.filter(content_type__app_label="records", codename__in=codenames))


def keep_staff_in_step(instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_: Any) -> None:
    """Operators work in the admin too, so whoever becomes one may enter it, and whoever is no longer one may not."""
    if not action.startswith("post_"):
        return
    users = User.objects.filter(pk__in=pk_set or ()) if reverse else User.objects.filter(pk=instance.pk)
    is_operator = Q(groups__name=OPERATOR)
    User.objects.filter(pk__in=users.filter(is_operator).values("pk")).update(is_staff=True)
    left = users.exclude(pk__in=User.objects.filter(is_operator).values("pk")).filter(is_superuser=False)
    left.update(is_staff=False)


def require(request: HttpRequest, permission: str) -> None:
    """Raise PermissionDenied if the user lacks a permission, in a view that others may read."""
    if not request.user.has_perm(permission):
        raise PermissionDenied


def home_of(user: Any) -> str:
    """The first page that somebody may see, by the name of its URL; empty if there is none."""
    in_admin = "admin:index" if user.is_staff and user.get_all_permissions() else ""
    return next((page for page, permission in _HOMES.items() if user.has_perm(permission)), in_admin)


def role_of(user: User) -> str:
    """The role's name, for the account page; empty if there is none."""
    if user.is_superuser:
        return "administrator"
    names = set(user.groups.values_list("name", flat=True))
    return next((role for role in (OPERATOR, VIEWER) if role in names), "")
