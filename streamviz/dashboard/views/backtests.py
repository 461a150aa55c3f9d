"""Back-tests: running a policy over the record."""

import subprocess
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from streamviz.dashboard import roles
from streamviz.dashboard.forms import BacktestForm, wrong_with
from streamviz.dashboard.pages import is_part, needs, signed_in_user
from streamviz.dashboard.views.tryouts import refusal
from streamviz.records.backtests import jobs
from streamviz.records.models import Backtest, Policy

_FULL = f"{jobs.MOST_AT_ONCE} back-tests are running: wait for one, or cancel it."


@needs(roles.CHANGE_POLICY, roles.VIEW_POLICIES)
@require_POST
def start_backtest(request: HttpRequest, name: str) -> HttpResponse:
    """Run a version of a policy over the record, in a separate process."""
    policy = get_object_or_404(Policy, name=name)
    form = BacktestForm(request.POST)
    if not form.is_valid():
        return _refused(request, name, wrong_with(form))
    wanted = form.cleaned_data
    version = get_object_or_404(policy.versions, number=wanted["version"])
    by = signed_in_user(request)
    if why := refusal(version, by):
        return _refused(request, name, why)
    since = timezone.now() - timedelta(days=wanted["days"]) if wanted["days"] else None
    job = jobs.begun(policy=policy, streams=wanted["streams"], since=since, created_by=by, **version.fields())
    if job is None:
        return _refused(request, name, _FULL)
    command = [*settings.PYTHON, "-m", "streamviz", "backtest", "--job", str(job.pk)]
    subprocess.Popen(command, cwd=settings.WORKING_DIR, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return redirect("backtest", name, job.pk)


@needs(roles.VIEW_POLICIES)
@require_safe
def backtest(request: HttpRequest, name: str, job_id: int) -> HttpResponse:
    """A back-test: how far it is, and what it found; only its progress if a script asks."""
    job = get_object_or_404(Backtest.objects.select_related("policy", "created_by"), pk=job_id, policy__name=name)
    jobs.settle(job)
    template = "dashboard/_backtest.html" if is_part(request) else "dashboard/backtest.html"
    context = {"page": "policies", "policy": job.policy, "job": job, "is_part": is_part(request)}
    return render(request, template, context)


@needs(roles.CHANGE_POLICY, roles.VIEW_POLICIES)
@require_POST
def cancel_backtest(request: HttpRequest, name: str, job_id: int) -> HttpResponse:
    """End a back-test; what it has found so far stays."""
    jobs.cancel(get_object_or_404(Backtest, pk=job_id, policy__name=name))
    return redirect("backtest", name, job_id)


def _refused(request: HttpRequest, name: str, why: str) -> HttpResponse:
    messages.error(request, why)
    return redirect("policy", name)
