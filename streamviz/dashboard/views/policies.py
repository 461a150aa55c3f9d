"""The policies: all of them, one of them, and changing them."""

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from streamviz.core.verdicts import Mode
from streamviz.dashboard import chosen_timespans, policy_facts, roles, timespans
from streamviz.dashboard.forms import BacktestForm, PolicyForm, PolicyModeForm, PolicyWhyForm, TryOutForm
from streamviz.dashboard.pages import needs, render_page, signed_in_user
from streamviz.dashboard.policy_figures import hold_times, policy_charts
from streamviz.dashboard.policy_figures import policy_changes as policy_changes_in
from streamviz.dashboard.policy_list import SMALLEST_FIRST, SORTED, policy_list
from streamviz.dashboard.policy_verdicts import verdict_rows
from streamviz.dashboard.rule_words import KINDS, rule_of
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.time_axis import axis
from streamviz.live.presentation.figures import estimates
from streamviz.live.publisher import publisher
from streamviz.policies.registry import REGISTRY, kinds, words_for
from streamviz.records import policy_changes
from streamviz.records.models import Policy, spread_of
from streamviz.records.models.policies import may_build

ONLY = ("intervened", "shadow", "failed")


@needs(roles.VIEW_POLICIES)
@require_safe
async def policies(request: HttpRequest) -> HttpResponse:
    """All policies by their mode, in the order in which they run, or sorted by `?sort=`."""
    sorting = Sorting.asked(request.GET, {name: name not in SMALLEST_FIRST for name in SORTED})
    found = await sync_to_async(policy_list)(sorting, await publisher.asked_by())
    context = {"page": "policies", "list": found, "sorting": sorting, "modes": list(Mode), "kinds": _kinds()}
    return await render_page(request, "dashboard/policies.html", context)


def _kinds() -> list[tuple[str, str, str, str]]:
    """Each kind with the words for it, what it is for, and an example."""
    return [(kind, words, *KINDS[kind]) for kind, words in kinds()]


@needs(roles.CHANGE_POLICY)
@require_POST
def policy_mode(request: HttpRequest, name: str) -> HttpResponse:
    """Switch a policy's mode, which saves a new version and takes effect with the next request."""
    policy = get_object_or_404(Policy, name=name)
    form = PolicyModeForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a mode and give a reason.")
        return redirect("policies")
    told = form.cleaned_data
    try:
        policy = policy_changes.switch(
            policy.pk, Mode(told["mode"]), signed_in_user(request), told["reason"], told["seen"]
        )
    except ValidationError as error:
        messages.error(request, policy_changes.not_switched(policy, error))
        return redirect("policies")
    messages.success(request, policy_changes.switched(policy))
    return redirect("policies")


@needs(roles.VIEW_POLICIES)
@require_safe
def policy_spread(request: HttpRequest, name: str) -> HttpResponse:
    """Whether every worker has a policy's newest version in force; asked again until they do."""
    policy = get_object_or_404(Policy, name=name)
    context = {"policy": policy, "spread": spread_of(policy.name, policy.version)}
    return render(request, "dashboard/_policy_spread.html", context)


@needs(roles.VIEW_POLICIES)
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, name: str) -> HttpResponse:
    """A policy: its form, what it did, its versions."""
    found = get_object_or_404(Policy, name=name)
    form = PolicyForm(request.POST or None, instance=found, kind=found.kind, by=signed_in_user(request))
    if request.method == "POST":
        roles.require(request, roles.CHANGE_POLICY)
        if form.is_valid() and _save(request, form):
            messages.success(request, f"{found.name} was saved as v{form.instance.version}.")
            return redirect("policy", found.name)
        found = Policy.objects.get(pk=found.pk)
    return render(request, "dashboard/policy.html", _context(request, found, form))


def _save(request: HttpRequest, form: PolicyForm) -> bool:
    """Save the policy; return False, with an error on the form, if somebody else was faster."""
    told = form.cleaned_data
    try:
        form.save(commit=False).save(by=signed_in_user(request), reason=told["reason"], seen=told["seen"])
    except ValidationError as error:
        form.add_error(None, error)
    return form.is_valid()


def _context(request: HttpRequest, found: Policy, form: PolicyForm) -> dict[str, object]:
    only, may_view = request.GET.get("verdicts", ""), request.user.has_perm(roles.VIEW)
    versions = policy_facts.version_rows(found)
    seen = form.cleaned_data.get("seen") if form.is_bound else None
    over = request.GET.get("over", "")
    over = over if over in policy_facts.SPANS else "24h"
    span = chosen_timespans.chosen({"range": over}, timezone.now(), None)
    done, held = policy_facts.done(found, span.since, span.until), hold_times(found.name, span)
    return {
        "page": "policies",
        "policy": found,
        "about": REGISTRY[found.kind].about if found.kind in REGISTRY else "",
        "rule": rule_of(found),
        "over": over,
        "spans": [(name, timespans.CHOICES[name]) for name in policy_facts.SPANS],
        "chart": policy_charts(span).get(found.name),
        "hold_times": held,
        "axis": axis(span),
        "changes": [each.mark for each in policy_changes_in(span) if each.version.policy_id == found.pk],
        "done": done,
        "estimates": estimates({"verdicts": done.one_in, "holds": held.whole.one_in if held.whole else 1}),
        "form": form,
        "may_run": may_build(found.kind, signed_in_user(request)),
        "spread": spread_of(found.name, found.version),
        "versions": versions,
        "newer": [row for row in versions if seen is not None and row.version.number > seen],
        "verdicts": verdict_rows(found.name, policy_facts.recent_verdicts(found, only)) if may_view else [],
        "only": only,
        "filters": ONLY,
        "where_not": policy_facts.where_not(found),
        "try_out": TryOutForm(),
        "backtest": BacktestForm(initial={"version": found.version}),
        "backtests": found.backtests.select_related("created_by")[:5],
    }


@needs(roles.ADD_POLICY)
@require_http_methods(["GET", "HEAD", "POST"])
def new_policy(request: HttpRequest, kind: str) -> HttpResponse:
    """Create a policy of one kind."""
    if kind not in REGISTRY:
        raise Http404
    form = PolicyForm(request.POST or None, kind=kind, by=signed_in_user(request))
    if request.method == "POST" and form.is_valid():
        saved = form.save(commit=False)
        saved.save(by=signed_in_user(request), reason=form.cleaned_data["reason"])
        return redirect("policy", saved.name)
    context = {"page": "policies", "words": words_for(kind), "about": REGISTRY[kind].about, "form": form}
    return render(request, "dashboard/new_policy.html", context)


@needs(roles.CHANGE_POLICY)
@require_POST
def roll_back(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Restore one of a policy's earlier versions."""
    found = get_object_or_404(Policy, name=name)
    version = get_object_or_404(found.versions, number=number)
    form = PolicyWhyForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Give a reason for the rollback.")
        return redirect("policy", name)
    told = form.cleaned_data
    try:
        saved = policy_changes.roll_back(version, signed_in_user(request), told["reason"], told["seen"])
    except ValidationError as error:
        messages.error(request, f"Could not roll back: {policy_changes.errors_of(error)}")
    else:
        messages.success(request, f"{name} was rolled back to v{number}, as v{saved.version}.")
    return redirect("policy", name)
