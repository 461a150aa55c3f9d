"""Trying a policy out, and running it over the record."""

import asyncio
import subprocess
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import aget_object_or_404, get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from streamviz.core.errors import PolicyParametersError
from streamviz.core.verdicts import Mode
from streamviz.dashboard import roles, tryout
from streamviz.dashboard.forms import BacktestForm, PolicyForm, TryOutForm, wrong_with
from streamviz.dashboard.pages import needs, render_page, signed_in_user
from streamviz.records.backtests import jobs
from streamviz.records.models import Backtest, Policy
from streamviz.records.models.policies import PolicyFields, may_build
from streamviz.records.policies_in_force import active_policy


@needs(roles.CHANGE_POLICY)
@require_POST
async def try_out(request: HttpRequest, name: str) -> HttpResponse:
    """What a policy, as its form is filled in just now, would make of a stream."""
    policy = await aget_object_or_404(Policy, name=name)
    by = await _user(request)
    asked = TryOutForm(request.POST)
    draft = PolicyForm(request.POST, instance=policy, kind=policy.kind, by=by)
    # A draft is what could be saved, by who tries it; only why is not asked yet.
    del draft.fields["reason"]
    is_valid = await sync_to_async(draft.is_valid)()
    problem, result = wrong_with(asked) or wrong_with(draft) or _refusal(policy, by), None
    if not problem and is_valid and asked.is_valid():
        policy.mode = Mode.ENFORCE.value
        problem, result = await _tried(policy, asked)
    context = {"problem": problem, "result": result, "policy": policy}
    return await render_page(request, "dashboard/_try_out.html", context)


def _refusal(fields: PolicyFields, by: User) -> str:
    """Why somebody may not run this; empty where they may."""
    return "" if may_build(fields.kind, by) else "Only administrators can run custom code."


async def _user(request: HttpRequest) -> User:
    user = await request.auser()
    assert isinstance(user, User)
    return user


async def _tried(policy: Policy, asked: TryOutForm) -> tuple[str, "tryout.TryOut | None"]:
    wanted = asked.cleaned_data
    if wanted["stream"]:
        recording = await tryout.recorded(wanted["stream"])
    else:
        subject = wanted["subject"] or "content"
        recording = await asyncio.to_thread(tryout.pasted, subject, wanted["name"], wanted["text"], wanted["tools"])
    if isinstance(recording, str):
        return f"Could not try it on that stream: {recording}.", None
    try:
        policy.by_hand = ""
        active = await sync_to_async(active_policy)(policy.name, policy)
    except PolicyParametersError as error:
        return str(error), None
    return "", await tryout.try_on(recording, [active])


@needs(roles.CHANGE_POLICY)
@require_POST
def start_backtest(request: HttpRequest, name: str) -> HttpResponse:
    """Run a version of a policy over the record, in a process of its own."""
    policy = get_object_or_404(Policy, name=name)
    form = BacktestForm(request.POST)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return redirect("policy", name)
    wanted = form.cleaned_data
    version = get_object_or_404(policy.versions, number=wanted["version"])
    if refusal := _refusal(version, signed_in_user(request)):
        messages.error(request, refusal)
        return redirect("policy", name)
    since = timezone.now() - timedelta(days=wanted["days"]) if wanted["days"] else None
    job = Backtest.objects.create(
        policy=policy, streams=wanted["streams"], since=since, created_by=signed_in_user(request), **version.fields()
    )
    command = [*settings.PYTHON, "-m", "django", "backtest", "--job", str(job.pk)]
    subprocess.Popen(command, cwd=settings.WORKING_DIR, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return redirect("backtest", name, job.pk)


@needs(roles.VIEW_POLICIES)
@require_safe
def backtest(request: HttpRequest, name: str, job_id: int) -> HttpResponse:
    """A back-test: how far it is, and what it found; the progress alone where only that is asked for."""
    job = get_object_or_404(Backtest.objects.select_related("policy", "created_by"), pk=job_id, policy__name=name)
    jobs.settle(job)
    is_part = request.headers.get("HX-Request") == "true"
    template = "dashboard/_backtest.html" if is_part else "dashboard/backtest.html"
    context = {"page": "policies", "policy": job.policy, "job": job, "is_part": is_part}
    return render(request, template, context)


@needs(roles.CHANGE_POLICY)
@require_POST
def cancel_backtest(request: HttpRequest, name: str, job_id: int) -> HttpResponse:
    """End a back-test; what it found so far stays."""
    jobs.cancel(get_object_or_404(Backtest, pk=job_id, policy__name=name))
    return redirect("backtest", name, job_id)
