"""Writes a script step by step: what a scenario says, and how long each piece takes to arrive."""

import math
from random import Random

import msgspec

from streamviz.simulator.asked import Asked
from streamviz.simulator.prose import content_tokens, tokens
from streamviz.simulator.shapes import Shape
from streamviz.simulator.steps import (
    Content,
    Finish,
    FinishReason,
    Pause,
    Step,
    Thinking,
    ToolEnd,
    ToolPiece,
    ToolStart,
)


class Pacing:
    """How long the pieces of an answer take: 30 to 60 a second with jitter, unless the model name says otherwise."""

    def __init__(self, rng: Random, asked: Asked, server_speed: float) -> None:
        self._rng = rng
        self._speed = server_speed if asked.speed is None else asked.speed
        self._exact = None if asked.pace is None else asked.pace / 1000
        self._pause = asked.seconds
        self._a_piece = 1 / rng.uniform(30, 60)

    def piece(self) -> float:
        """Seconds before the next piece."""
        if self._speed == math.inf:
            return self._exact or 0.0
        if self._exact is not None:
            return self._exact
        return self._a_piece * self._rng.uniform(0.4, 1.6) / self._speed

    def first(self) -> float:
        """Seconds of silence before the first piece."""
        if self._exact is not None:
            return self._exact
        return self._rng.uniform(0.2, 0.5) / self._speed

    def pause(self, seconds: float) -> float:
        """The length of a scenario's pause: as the model name says, otherwise `seconds` at the requested speed."""
        return seconds / self._speed if self._pause is None else self._pause


class Author:
    """Collects the steps of one answer. `rng` makes every choice of words, so that a seed gives the same words at any
    speed. `turn` is how many answers the request already has, `shape` that of the JSON that it asks for, if any."""

    def __init__(self, asked: Asked, seed: int, server_speed: float, turn: int, shape: Shape | None) -> None:
        self.turn = turn
        self.shape = shape
        self.seconds = asked.seconds
        self.plan_steps = asked.steps
        self.rng = Random(f"words {asked.scenario} {seed}")
        self.pacing = Pacing(Random(f"pace {asked.scenario} {seed}"), asked, server_speed)
        self.chunks = asked.chunks
        self.score = asked.score
        self.steps: list[Step] = [Pause(delay=self.pacing.first())]

    def add(self, step: Step) -> None:
        """Add a step, after the time that a piece takes."""
        self.steps.append(msgspec.structs.replace(step, delay=self.pacing.piece()))

    def say(self, chunks: int | None = None) -> None:
        """Add some content: as many pieces as the model name asks for, else `chunks`, else a whole passage."""
        count = chunks if self.chunks is None else self.chunks
        self.steps += [Content(text, delay=self.pacing.piece()) for text in content_tokens(self.rng, count)]

    def say_text(self, text: str) -> None:
        """Add this content, piece by piece."""
        self.steps += [Content(piece, delay=self.pacing.piece()) for piece in tokens(text)]

    def think(self, text: str) -> None:
        """Add this thinking, piece by piece."""
        self.steps += [Thinking(piece, delay=self.pacing.piece()) for piece in tokens(text)]

    def call(self, number: int, name: str, arguments: object) -> None:
        """Add a tool call, its arguments piece by piece."""
        self.steps += self.call_steps(number, name, arguments)

    def call_steps(self, number: int, name: str, arguments: object) -> list[Step]:
        """The steps of a tool call, for a scenario that mixes them with others."""
        pieces = tokens(arguments_json(arguments))
        return [
            ToolStart(number, name, delay=self.pacing.piece()),
            *(ToolPiece(number, piece, delay=self.pacing.piece()) for piece in pieces),
            ToolEnd(number),
        ]

    def pause(self, seconds: float) -> None:
        """Add silence, `seconds` long at a real provider's speed."""
        self.steps.append(Pause(delay=self.pacing.pause(seconds)))

    def finish(self, reason: FinishReason) -> None:
        """End the answer."""
        self.add(Finish(reason))


def arguments_json(arguments: object) -> str:
    """Tool arguments as JSON text."""
    return msgspec.json.encode(arguments).decode()
