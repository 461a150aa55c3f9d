"""Policies that a test's server imports, and that do what no policy should."""

import asyncio
import sys

from streamviz.policy import BlockKind, Chunk, Policy, StreamBlock, StreamingContext, StreamState, Verdict


class Exits(Policy):
    """Exits its process at each tool call."""

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        sys.exit(4)


class ExitsWhileItWaits(Policy):
    """Exits its process at the first chunk."""

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        await asyncio.sleep(0)
        sys.exit(5)


class NeverReturns(Policy):
    """Waits forever."""

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        await asyncio.Event().wait()
