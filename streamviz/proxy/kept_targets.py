"""The targets of models, kept: LiteLLM's first look-up of one takes long."""

import asyncio

from django.conf import settings

from streamviz.records.configuration import Configuration, KnownRoute
from streamviz.upstream.loading import load
from streamviz.upstream.targets import SIMULATOR_PREFIX, RoutePlan, Target, resolve, simulator_target

# A client may ask for any number of model names, so what is kept must be bounded.
_MOST = 1_000


class KeptTargets:
    """Where models are served, by model and wire format, as long as no route changes."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._kept: dict[tuple[str, str], Target] = {}
        self._times_forgotten = 0

    async def find(self, model: str, wire_format: str) -> Target:
        """Where `model` is served to clients of a wire format. Raises RequestError if it is not served."""
        route = self._configuration.routes.get(model)
        if route is None and model.startswith(SIMULATOR_PREFIX):
            return simulator_target(model, wire_format, settings.SIMULATOR_URL)
        target = self._kept.get((model, wire_format))
        if target is None:
            before = self._times_forgotten
            # In a thread, as it reads LiteLLM's tables: other clients must not wait for it.
            target = await asyncio.to_thread(_resolved, model, wire_format, route)
            if len(self._kept) >= _MOST:
                self._kept.clear()
            if before == self._times_forgotten:  # otherwise routes changed meanwhile
                self._kept[model, wire_format] = target
        return target

    def forget(self) -> None:
        """Routes may have changed: look up all targets again, including those being looked up now."""
        self._times_forgotten += 1
        self._kept.clear()


def _resolved(model: str, wire_format: str, route: KnownRoute | None) -> Target:
    load()
    plan = None if route is None else RoutePlan(route.target, route.base_url, route.credential)
    return resolve(model, wire_format, plan)
