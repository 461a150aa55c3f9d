"""Static files, served from their source folders."""

from pathlib import Path

from django.http import HttpResponse
from django.test import RequestFactory

from streamviz.dashboard.static_files import StaticFilesMiddleware


def test_a_file_that_grew_is_sent_whole(tmp_path: Path) -> None:
    path = tmp_path / "app.css"
    path.write_text("a { color: red; }")
    middleware = StaticFilesMiddleware(lambda _: HttpResponse())
    middleware.add_files(str(tmp_path), prefix="/own/")
    path.write_text("a { color: rebeccapurple; }")
    response = middleware(RequestFactory().get("/own/app.css"))
    assert response.content == path.read_bytes()
    assert int(response.headers["Content-Length"]) == len(response.content)
