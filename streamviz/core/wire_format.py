"""What a wire format is: everything that the rest of the project has to know about one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.composer import Composer
from streamviz.core.errors import ClientFacingError, UpstreamError
from streamviz.core.json_value import JsonObject, as_index, as_object, encode
from streamviz.core.lint.linter import Linter
from streamviz.core.request_parts import ReadItem


class MakeComposer(Protocol):
    """Makes a composer that writes a stream: `head` has the message's own fields, `source` names the format of the
    events if that is another."""

    def __call__(self, head: JsonObject, *, source: str = ...) -> Composer: ...


@dataclass(frozen=True, slots=True)
class Credential:
    """How a provider of the format takes its credential, and the headers that each call to it has."""

    header: str = "authorization"
    prefix: str = "Bearer "
    always: Mapping[str, str] = field(default_factory=dict)

    def headers(self, key: str, header: str = "") -> dict[str, str]:
        """The headers of a call with this credential, or with none; in another `header` if that is given."""
        if not key:
            return {**self.always}
        if not header:
            return {**self.always, self.header: f"{self.prefix}{key}"}
        return {**self.always, header: f"Bearer {key}" if header == "authorization" else key}


@dataclass(frozen=True, slots=True)
class WireFormat:
    """One format; `name` is its name in the record, `title` that on pages, and `operation` what OpenTelemetry's
    conventions for generative AI call a call of it ("" if they have no name for it).

    Clients send calls to `path`. Upstream they go to `upstream_path` below a base URL: unchanged to `providers`, of
    which `vendor` is the one whose own format it is. `parameters` are those that may be translated for others.
    """

    name: str
    title: str
    operation: str
    path: str
    upstream_path: str
    vendor: str
    providers: frozenset[str]
    # The field with what was said before, and that with the system prompt ("" if it is among the turns).
    turns: str
    system: str
    may_be_text: bool
    parameters: frozenset[str]
    # The fields that limit an answer's tokens, and those that say how many answers there are.
    most_output: tuple[str, ...]
    answers: tuple[str, ...]
    aggregator: type[Aggregator[Chunk, JsonObject]]
    composer: MakeComposer
    # It is made with an object that is empty until the answer has come.
    body_composer: Callable[[JsonObject], Composer]
    error_body: Callable[[ClientFacingError], JsonObject]
    # Reads the parts of one of a request's turns.
    parts_of: ReadItem
    # None if its answers are never streams.
    linter: type[Linter] | None = None
    credential: Credential = field(default_factory=Credential)
    # Whether a stream has its usage only if the request asks for it in `stream_options`.
    reports_usage_if_asked: bool = False
    # The fields of a request that are in the path of its call instead, and what writes them there: from the model, and
    # whether the answer is streamed, it makes what follows `path`.
    fields_in_path: tuple[str, ...] = ()
    path_end: Callable[[str, bool], str] | None = None
    # Where, below the URL of calls, the tokens of a request for a model are counted, and what is sent there; None if
    # the format has no such call.
    counting: Callable[[JsonObject, str], tuple[str, JsonObject]] | None = None
    # Whether answers are numbers, which no model writes word by word, as a request's input may be: very many values,
    # which take hardly any time to read.
    is_of_numbers: bool = False
    # The member of a request that has its limits and sampling parameters; empty if they are the request's own.
    settings: str = ""
    # Whether an answer that a filter ended is called incomplete, like one that was cut off.
    is_incomplete_if_filtered: bool = False
    # Whether clients leave out the provider's name before the names of the vendor's own models.
    names_models_bare: bool = False

    def new_aggregator(self, bounds: Bounds) -> Aggregator[Chunk, JsonObject]:
        """An aggregator that accepts no more than `bounds` allow."""
        return self.aggregator(run_id=self.path, most_blocks=bounds.blocks, most_values=bounds.values)

    def error_answer(self, error: ClientFacingError) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for an error. What a provider answered in JSON goes on unchanged."""
        headers = {"content-type": "application/json"}
        if isinstance(error, UpstreamError) and error.body.lstrip()[:1] == b"{":
            return error.status, {**headers, **error.headers}, error.body
        return error.status, {**error.headers, **headers}, encode(self.error_body(error))

    @property
    def base_path(self) -> str:
        """What base URLs of the format end with, as its vendor's do."""
        return self.path.removesuffix(self.upstream_path)

    def url(self, base_url: str) -> str:
        """The URL of calls at a base URL, which may contain the version that the path has, too."""
        base_url = base_url.rstrip("/")
        if self.upstream_path.startswith("/v1/"):
            base_url = base_url.removesuffix("/v1")
        return base_url + self.upstream_path

    def asks_for_usage(self, request: JsonObject) -> bool:
        """Whether the client that sends a request is to get the usage; a whole answer always reports it."""
        if not self.reports_usage_if_asked or not request.get("stream"):
            return True
        return as_object(request.get("stream_options")).get("include_usage") is True

    def settings_of(self, request: JsonObject) -> JsonObject:
        """The object in a request that has its limits and sampling parameters."""
        return as_object(request.get(self.settings)) if self.settings else request

    def most_tokens(self, request: JsonObject) -> int | None:
        """The most tokens that a request lets each of its answers have; None if it does not say."""
        asked = [most for path in self.most_output if (most := _number_at(request, path))]
        return max(asked) if asked else None

    def answers_asked(self, request: JsonObject) -> int:
        """How many answers a request asks for."""
        return max([1, *(_number_at(request, path) or 1 for path in self.answers)])


def _number_at(request: JsonObject, path: str) -> int | None:
    *parents, last = path.split(".")
    for name in parents:
        request = as_object(request.get(name))
    value = request.get(last)
    return as_index(int(value) if isinstance(value, float) and value.is_integer() else value)
