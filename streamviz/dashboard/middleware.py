"""What all pages have in common: headers that tell browsers what pages may do, and caches to keep none for others; no
page keeps a database connection while it is sent; and browsers see no empty 405."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import is_valid_path
from django.utils.decorators import sync_and_async_middleware

from streamviz.records.database import give_back

_STRICT = (
    "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# The admin's own pages have inline scripts and styles, and Alpine, which evaluates its attributes.
_ADMIN = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_ADMIN_PATH = "/admin/"

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
Change = Callable[[HttpRequest, HttpResponseBase], HttpResponseBase]


def of_each_response(change: Change) -> Callable[[GetResponse], GetResponse]:
    """A middleware that makes this change to each response, whether its view is a coroutine or not."""

    @sync_and_async_middleware
    def middleware(get_response: GetResponse) -> GetResponse:
        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            response = get_response(request)
            assert isinstance(response, Awaitable)
            return change(request, await response)

        def answer(request: HttpRequest) -> HttpResponseBase:
            response = get_response(request)
            assert isinstance(response, HttpResponseBase)
            return change(request, response)

        return answer_async if iscoroutinefunction(get_response) else answer

    return middleware


@of_each_response
def content_security_set(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Adds a Content-Security-Policy, the strict one everywhere but in the admin, and who may cache the response unless
    it says so itself."""
    policy = _ADMIN if request.path_info.startswith(_ADMIN_PATH) else _STRICT
    response.headers.setdefault("Content-Security-Policy", policy)
    # From the cookie alone, no cache on the way can tell that a page is one person's.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    return response


@sync_and_async_middleware
def connection_given_back(get_response: GetResponse) -> GetResponse:
    """Gives the request's database connection back once its page is rendered: Django does so when it is sent, which a
    slow reader can put off."""

    async def answer_async(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, Awaitable)
        made = await response
        await sync_to_async(give_back)()
        return made

    def answer(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        response = get_response(request)
        give_back()
        return response

    return answer_async if iscoroutinefunction(get_response) else answer


@of_each_response
def forms_led_up(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Redirects whoever opens a URL that a form is sent to, as after signing in again, to the page above that has the
    form."""
    is_opened = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
    if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or not is_opened:
        return response
    above = request.path_info.rstrip("/")
    while not _is_page(above := above.rpartition("/")[0]):
        pass
    return HttpResponseRedirect(f"{settings.BASE_PATH}{above}/")


def _is_page(path: str) -> bool:
    return not path or bool(is_valid_path(f"{path}/"))
