"""Static files, served from where they are."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise with complete responses: the files are small, and its streaming responses are not made for ASGI."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, or that the browser already has it."""
        found = static_file.get_response(request.method, request.META)
        body = b"" if found.file is None else found.file.read()
        if found.file is not None:
            found.file.close()
        response = HttpResponse(body, status=int(found.status))
        del response.headers["Content-Type"]
        for name, value in found.headers:
            response.headers[name] = value
        if body:  # the file may have changed since its length was noted
            response.headers["Content-Length"] = str(len(body))
        return response
