"""Who may open which page of the admin, for all of its URLs."""

from django.contrib.auth.models import Group, User
from django.urls import URLResolver, get_resolver, reverse

from streamviz.records.models import ApiKey, McpServer, Policy, Route
from tests.dashboard.conftest import Cast

FOR_OPERATORS = {
    *("index", "search", "app_list", "jsi18n", "password_change_done"),
    *(f"records_{of}_{page}" for of in ("policy", "apikey", "route") for page in ("changelist", "change", "history")),
}
MODELS = (Policy, ApiKey, Route, McpServer, User, Group)


def url_of(name: str, pages: URLResolver) -> str:
    """The address of a page, with an existing object of its model."""
    [(_, wanted)] = pages.reverse_dict.getlist(name)[0][0]
    model = next((each for each in MODELS if f"_{each._meta.model_name}_" in name), Policy)
    pk = model._default_manager.values_list("pk", flat=True).first()
    return reverse(f"admin:{name}", kwargs={each: "records" if each == "app_label" else pk for each in wanted})


def test_an_operator_may_open_these_and_a_viewer_none(cast: Cast, guard: Policy) -> None:
    ApiKey.objects.issue("ci")
    Route.objects.create(name="fast", target="openai/gpt")
    McpServer.objects.create(name="files", command="true")
    _, pages = get_resolver().namespace_dict["admin"]
    urls = {name: url_of(name, pages) for name in pages.reverse_dict if isinstance(name, str)}
    tried = ("bob", "alice")
    opened = {who: {name for name, url in urls.items() if cast[who].get(url).status_code == 200} for who in tried}
    assert opened == {"bob": set(), "alice": FOR_OPERATORS}
