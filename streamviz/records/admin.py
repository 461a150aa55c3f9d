"""The admin for what an operator configures. The record itself is shown on the dashboard's pages."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import IntegerField
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.forms import AdminPasswordChangeForm, PaginationInlineFormSet, UserChangeForm, UserCreationForm

from streamviz.core.verdicts import Mode
from streamviz.records import policy_changes
from streamviz.records.admin_forms import PolicyForm, RouteForm
from streamviz.records.models import ApiKey, McpServer, Policy, PolicyVersion, Route, RouteVersion

MODE_COLOURS = {Mode.OFF.value: "info", Mode.SHADOW.value: "warning", Mode.ENFORCE.value: "success"}


def _signed_in(request: HttpRequest) -> User:
    """The user who makes the request; the admin lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


class NoDeletion:
    """Rows cannot be deleted, because the record refers to them."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ShownFormSet(PaginationInlineFormSet):
    """Rows that can only be looked at. What is posted for them is ignored, as it could ask for thousands of forms."""

    def __init__(self, data: Any = None, files: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def is_valid(self) -> bool:
        return True


class Versions(TabularInline):
    """Every version that something has had."""

    formset = ShownFormSet
    extra = 0
    tab = True
    verbose_name_plural = "versions"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class VersionInline(Versions):
    """Every version a policy has had."""

    model = PolicyVersion
    fields = readonly_fields = ("number", "mode", "changed_at", "changed_by", "reason", "parameters")


@admin.register(Policy)
class PolicyAdmin(NoDeletion, ModelAdmin):
    """Policies; each change makes a version and applies from the next request on."""

    form = PolicyForm
    inlines = (VersionInline,)
    list_display = ("name", "kind", "shown_mode", "order", "shown_version", "last_change")
    list_filter = ("mode", "kind")
    search_fields = ("name",)
    actions = ("switch_off", "switch_to_shadow", "switch_to_enforce")
    fieldsets = (
        (None, {"fields": ("name", "mode", "why", "seen")}),
        ("Rule", {"fields": ("kind", "parameters")}),
        ("Scope", {"fields": ("models_scope", "keys_scope", "kinds_scope", "tools_scope")}),
        ("Running", {"fields": ("order", "fail_open", "time_limit", "by_hand", "by_hand_seconds")}),
    )

    @display(description="mode", ordering="mode", label=MODE_COLOURS)
    def shown_mode(self, policy: Policy) -> str:
        return policy.mode

    @display(description="version", ordering="version")
    def shown_version(self, policy: Policy) -> str:
        return f"v{policy.version}"

    @display(description="last change")
    def last_change(self, policy: Policy) -> str:
        newest = policy.present(policy.versions.all())
        who = newest.changed_by.get_username() if newest.changed_by else "streamviz"
        return f"{who}: {newest.reason}" if newest.reason else who

    def get_queryset(self, request: HttpRequest) -> QuerySet[Policy]:
        return super().get_queryset(request).prefetch_related("versions__changed_by")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        form.by = _signed_in(request)
        return form

    def save_model(self, request: HttpRequest, obj: Policy, form: Any, change: bool) -> None:
        obj.save(by=_signed_in(request), reason=form.cleaned_data["why"])

    @action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, policies: QuerySet[Policy]) -> HttpResponse | None:
        return self._switch(request, policies, Mode.OFF)

    @action(description="Switch to shadow: judge, change nothing", permissions=["change"])
    def switch_to_shadow(self, request: HttpRequest, policies: QuerySet[Policy]) -> HttpResponse | None:
        return self._switch(request, policies, Mode.SHADOW)

    @action(description="Switch to enforce", permissions=["change"])
    def switch_to_enforce(self, request: HttpRequest, policies: QuerySet[Policy]) -> HttpResponse | None:
        return self._switch(request, policies, Mode.ENFORCE)

    def _switch(self, request: HttpRequest, policies: QuerySet[Policy], mode: Mode) -> HttpResponse | None:
        """Ask for a reason first; the page that asks sends the same action again, with the answer."""
        why = request.POST.get("why", "").strip()
        if not why:
            context = {
                **self.admin_site.each_context(request),
                "title": f"Switch to {mode}",
                "policies": policies,
                "mode": mode,
                "action": request.POST.get("action", ""),
                "opts": self.model._meta,
            }
            return TemplateResponse(request, "admin/records/policy/switch.html", context)
        for policy in policies:
            try:
                seen = IntegerField(required=False).clean(request.POST.get(f"seen-{policy.pk}"))
                changed = policy_changes.switch(policy.pk, mode, _signed_in(request), why, seen)
            except ValidationError as error:
                messages.error(request, policy_changes.not_switched(policy, error))
            else:
                messages.success(request, policy_changes.switched(changed))
        return None


@admin.register(ApiKey)
class ApiKeyAdmin(NoDeletion, ModelAdmin):
    """API keys. A key is shown once, when it is issued."""

    list_display = ("name", "shown_prefix", "created_at", "created_by", "revoked_at")
    search_fields = ("name", "prefix")
    settable = ("name", "models_scope", "default_provider", "may_choose_executor")
    readonly_fields = ("prefix", "created_at", "created_by", "revoked_at")
    fields = (*settable, *readonly_fields)
    actions = ("revoke",)

    @display(description="key")
    def shown_prefix(self, key: ApiKey) -> str:
        return f"{key.prefix}…"

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return self.fields if obj else self.settable

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=self.settable)
            return
        key, secret = ApiKey.objects.issue(
            obj.name,
            by=_signed_in(request),
            models=obj.models_scope,
            provider=obj.default_provider,
            may_choose_executor=obj.may_choose_executor,
        )
        obj.pk, obj.secret = key.pk, secret

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the key in this response: after a redirect, it would have to come from a cookie."""
        context = {**self.admin_site.each_context(request), "title": "New key", "key": obj, "opts": self.opts}
        return TemplateResponse(request, "admin/records/apikey/issued.html", context)

    @action(description="Revoke, at once", permissions=["change"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        for key in keys:
            key.revoke()
        messages.success(request, f"{len(keys)} revoked.")


class RouteVersionInline(Versions):
    """Every version a route has had."""

    model = RouteVersion
    fields = readonly_fields = ("number", "changed_at", "changed_by", "reason", "target", "executor", "parameters")


@admin.register(Route)
class RouteAdmin(ModelAdmin):
    """Routes: what LiteLLM makes of the model names that clients ask for, and what answers their calls."""

    form = RouteForm
    inlines = (RouteVersionInline,)
    list_display = ("name", "target", "executor", "base_url", "credential")
    search_fields = ("name", "target")
    fieldsets = (
        (None, {"fields": ("name", "why")}),
        ("Model", {"fields": ("target", "base_url", "credential")}),
        ("Executor", {"fields": ("executor", "parameters")}),
    )

    def save_model(self, request: HttpRequest, obj: Route, form: Any, change: bool) -> None:
        obj.save(by=_signed_in(request), reason=form.cleaned_data["why"])


@admin.register(McpServer)
class McpServerAdmin(ModelAdmin):
    """MCP servers, for administrators only: a command runs a program on this machine."""

    list_display = ("name", "command", "url", "tools", "is_enabled")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_superuser

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser


admin.site.unregister((User, Group))


@admin.register(User)
class UserAccountAdmin(UserAdmin, ModelAdmin):
    """People who may sign in."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class RoleAdmin(GroupAdmin, ModelAdmin):
    """Roles."""
