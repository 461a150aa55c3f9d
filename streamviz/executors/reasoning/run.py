"""A run: steps of a plan, the tools that they use, and the answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamviz.core.errors import ClientFacingError, Denied, UpstreamError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.executors.call import Call
from streamviz.executors.child import Child, Proposed
from streamviz.executors.reasoning.limits import Budget, Limits
from streamviz.executors.reasoning.plan import NoPlan, Plan, read_plan
from streamviz.executors.reasoning.prompts import Prompts
from streamviz.executors.reasoning.requests import Requests
from streamviz.executors.reasoning.speaking import Speaker
from streamviz.executors.reasoning.tool_use import DENIED, ProposedCalls, run_all, told
from streamviz.executors.tools import Result, Toolbox, shortened

LONGEST_PLAN = 100_000


class Run:
    """One run, carried out in a task of its own; cancelling that ends its calls and tools."""

    def __init__(self, call: Call, limits: Limits, prompts: Prompts, toolbox: Toolbox, asked: JsonObject) -> None:
        self._call = call
        self._toolbox = toolbox
        self.budget = Budget(limits)
        self.requests = Requests(call.asked.model, asked, prompts)

    async def carry_out(self, speaker: Speaker) -> None:
        """Take the run from its first step to the end of the answer. Raises ClientFacingError if it cannot go on."""
        self._speaker = speaker
        try:
            async with self._toolbox:
                await self._think()
            await speaker.event("reasoning_complete")
            await self._answer()
        except ClientFacingError as error:
            await speaker.event("error", status=error.status)
            raise

    async def _think(self) -> None:
        """Take steps until the plan is finished or a limit is reached."""
        self.requests.plan_with(self._toolbox.tools, await self._call.structure())
        for failure in self._toolbox.failures:
            await self._speaker.event("error", f"Some tools cannot be used: {failure}\n\n")
        try:
            async with asyncio.timeout_at(self.budget.ends_at):
                for step in range(1, self.budget.limits.steps + 1):
                    if limit := self.budget.why_over():
                        await self._speaker.event("error", step=step, limit=limit)
                        return
                    if await self._take_step(step):
                        return
            await self._speaker.event("error", limit="steps")
        except TimeoutError:
            await self._speaker.event("error", limit="seconds")

    async def _take_step(self, step: int) -> bool:
        """Take one step. True if the plan is then finished."""
        await self._speaker.event("iteration_start", step=step)
        try:
            plan = await self._planned(step)
        except NoPlan as error:
            self.requests.hears(f"That was not a plan: {error}. Answer with one JSON object, as you were told.")
            await self._speaker.event("error", step=step)
            return False
        await self._speaker.event("planning", _paragraph(plan.thought), step=step, next_action=plan.next_action)
        if plan.next_action == "use_tools":
            self.requests.hears(await self._use_tools(step, plan))
        elif plan.next_action == "continue_thinking":
            self.requests.hears("Go on.")
        await self._speaker.event("iteration_complete", step=step)
        return plan.next_action == "finished"

    async def _planned(self, step: int) -> Plan:
        """The model's next step, asked for in a plainer way if its provider refuses this one."""
        while True:
            try:
                return await self._plan(step)
            except UpstreamError as error:
                if not self.requests.ask_plainly(error):
                    raise

    async def _plan(self, step: int) -> Plan:
        """The model's next step. Its own thinking goes to the client as it comes; a refusal is the last step."""
        pieces: list[str] = []
        refusals: list[str] = []
        has_thought = False
        async with self._counted(self._call.ask(f"plan {step}", self.requests.plan(self._room))) as child:
            async for payload in child:
                for delta in _deltas(payload):
                    pieces.append(as_text(delta.get("content")))
                    refusals.append(as_text(delta.get("refusal")))
                    if thinking := as_text(delta.get("reasoning_content") or delta.get("reasoning")):
                        has_thought = True
                        await self._speaker.event("external_reasoning", thinking, step=step)
        if has_thought:
            await self._speaker.event("external_reasoning", "\n\n", step=step)
        text, refusal = "".join(pieces), "".join(refusals)
        if refusal and not text:
            self.requests.hears(refusal[:LONGEST_PLAN], role="assistant")
            return Plan(refusal, "finished")
        # Bounded, because it is sent again with every later step.
        self.requests.hears(text[:LONGEST_PLAN] or "{}", role="assistant")
        if len(text) > LONGEST_PLAN:
            raise NoPlan(f"it is longer than {LONGEST_PLAN} characters")
        return read_plan(text)

    @property
    def _room(self) -> int | None:
        """The most tokens for a plan: what is left, but no more than the model can write. None is any number."""
        left, most = self.budget.tokens_left, self._call.most_output
        return left if left is None or most is None else min(left, most)

    async def _use_tools(self, step: int, plan: Plan) -> str:
        """Run the tools that this step asks for. Returns what the model is told about them."""
        wanted = [
            Proposed(f"call_{step}_{number}", use.name, use.arguments_text)
            for number, use in enumerate(plan.tools_to_use or (), 1)
        ][: 2 * self.budget.limits.tool_calls]
        results = {each.id: self._refused(each) for each in wanted}
        able = [each for each in wanted if each.name in self._toolbox][: self.budget.calls_left]
        self.budget.tool_calls += len(able)
        if able:
            results |= {each.id: DENIED for each in able}
            allowed = await self._allowed(step, able)
            results |= await run_all(
                allowed, self._toolbox, self._speaker, step, side_by_side=bool(plan.concurrent_execution)
            )
        return told(wanted, results)

    def _refused(self, call: Proposed) -> Result:
        """The result of a call that may not run."""
        if call.name in self._toolbox:
            return Result("No more tools may be used.", is_error=True)
        return Result(f"There is no tool called {shortened(call.name, 100)}.", is_error=True)

    async def _allowed(self, step: int, wanted: list[Proposed]) -> list[Proposed]:
        """The calls that policies and people let run, in the form in which they are to run."""
        calls = ProposedCalls()
        try:
            async with self._counted(self._call.propose(f"tools {step}", wanted)) as child:
                async for payload in child:
                    calls.take(payload)
        except Denied:
            return []
        asked = {each.id for each in wanted}
        return [each for each in calls.calls if each.id in asked]

    async def _answer(self) -> None:
        """Make the call whose answer is the client's."""
        async with self._counted(self._call.ask("answer", self.requests.answer())) as child:
            async for payload in child:
                await self._speaker.pass_on(payload)

    @asynccontextmanager
    async def _counted(self, child: Child) -> AsyncIterator[Child]:
        """End a call on leaving, for whatever reason, and count what it used."""
        try:
            yield child
        finally:
            await child.close()
            self.budget.spend(child.spent)


def _deltas(payload: JsonObject) -> list[JsonObject]:
    return [as_object(choice.get("delta")) for choice in objects(payload.get("choices"))]


def _paragraph(text: str) -> str:
    return f"{stripped}\n\n" if (stripped := text.strip()) else ""
