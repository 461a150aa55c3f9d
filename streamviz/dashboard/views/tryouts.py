"""Trying a policy out."""

import asyncio

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import aget_object_or_404
from django.views.decorators.http import require_POST

from streamviz.core.errors import PolicyParametersError
from streamviz.core.verdicts import Mode
from streamviz.dashboard import roles, tryout, tryout_subjects
from streamviz.dashboard.forms import PolicyForm, TryOutForm, wrong_with
from streamviz.dashboard.pages import needs, render_page
from streamviz.records.models import Policy
from streamviz.records.models.policies import PolicyFields, may_build
from streamviz.records.policies_in_force import active_policy


@needs(roles.CHANGE_POLICY)
@require_POST
async def try_out(request: HttpRequest, name: str) -> HttpResponse:
    """What a policy, as its form is filled in now, would make of a stream."""
    policy = await aget_object_or_404(Policy, name=name)
    by = await _user(request)
    asked = TryOutForm(request.POST)
    if asked.is_valid() and asked.cleaned_data["stream"]:
        await sync_to_async(roles.require)(request, roles.VIEW)
    draft = PolicyForm(request.POST, instance=policy, kind=policy.kind, by=by)
    # A draft is what this user could save, except that it needs no reason yet.
    del draft.fields["reason"]
    problem, result = wrong_with(asked) or await sync_to_async(wrong_with)(draft) or refusal(policy, by), None
    if not problem:
        policy.mode = Mode.ENFORCE.value
        problem, result = await _tried(policy, asked)
    context = {"problem": problem, "result": result, "policy": policy}
    return await render_page(request, "dashboard/_try_out.html", context)


def refusal(fields: PolicyFields, by: User) -> str:
    """Why somebody may not run this policy; empty if they may."""
    return "" if may_build(fields.kind, by) else "Only administrators can run custom code."


async def _user(request: HttpRequest) -> User:
    user = await request.auser()
    assert isinstance(user, User)
    return user


async def _tried(policy: Policy, asked: TryOutForm) -> tuple[str, "tryout.TryOut | None"]:
    wanted = asked.cleaned_data
    if wanted["stream"]:
        recording = await tryout_subjects.recorded(wanted["stream"])
    else:
        subject = wanted["subject"] or "content"
        recording = await asyncio.to_thread(
            tryout_subjects.pasted, subject, wanted["name"], wanted["text"], wanted["tools"]
        )
    if isinstance(recording, str):
        return f"Could not try it on that stream: {recording}.", None
    try:
        policy.by_hand = ""
        active = await sync_to_async(active_policy)(policy.name, policy)
    except PolicyParametersError as error:
        return str(error), None
    return "", await tryout.try_on(recording, [active])
