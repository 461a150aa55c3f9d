"""The parts of a message of OpenAI's responses, from blocks."""

from streamviz.core.blocks import OtherStreamBlock, StreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, object_in
from streamviz.core.wire.openai_responses_words import SPEECH


def part_of(block: StreamBlock, told: JsonObject) -> JsonObject:
    """A message's part. `told` is upstream's own, all of which stays except its type and text: annotations and log
    probabilities belong to the text that they came with."""
    if block.kind is BlockKind.REFUSAL:
        return {"type": "refusal", "refusal": block.text}
    if isinstance(block, OtherStreamBlock):
        return {**object_in(block.text), **told, "type": block.label}
    if block.kind is BlockKind.THINKING:
        return {**told, "type": "reasoning_text", "text": block.text}
    if told.get("type") == SPEECH:
        return {**told, "transcript": block.text}
    return {"annotations": [], **told, "type": "output_text", "text": block.text}


def is_speech(kind: BlockKind, label: str) -> bool:
    """Whether a block is the sound of a message's part, whose text is another block."""
    return kind is BlockKind.MEDIA and label == SPEECH


def payload_of(details: JsonObject) -> JsonObject:
    """What an item or a part contains beside its own description."""
    return {key: value for key, value in details.items() if key not in ("type", "id", "status") and value is not None}
