"""The policies, and switching their mode in place."""

from django.contrib import messages
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from streamviz.core.policy import Mode
from streamviz.dashboard import roles
from streamviz.dashboard.forms import PolicyModeForm
from streamviz.dashboard.pages import needs, signed_in_user
from streamviz.records.models import Policy, PolicyVersion


@needs(roles.VIEW_POLICIES)
@require_safe
def policies(request: HttpRequest) -> HttpResponse:
    """All policies in the order in which they run."""
    versions = PolicyVersion.objects.select_related("changed_by")
    found = Policy.objects.prefetch_related(Prefetch("versions", versions))
    rows = [(policy, policy.versions.all()[0]) for policy in found]
    return render(request, "dashboard/policies.html", {"page": "policies", "rows": rows, "modes": list(Mode)})


@needs(roles.CHANGE_POLICY)
@require_POST
def policy_mode(request: HttpRequest, name: str) -> HttpResponse:
    """Switch a policy's mode, which makes a version of it and acts on the next request."""
    form = PolicyModeForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a mode and say why.")
        return redirect("policies")
    with transaction.atomic():
        policy = get_object_or_404(Policy.objects.select_for_update(), name=name)
        policy.mode = form.cleaned_data["mode"]
        policy.save(by=signed_in_user(request), reason=form.cleaned_data["reason"])
    messages.success(request, f"{policy.name} is now {policy.mode}, as v{policy.version}.")
    return redirect("policies")
