"""Reading the thinking of a response's items: it comes in parts, which make up one block, and again as a whole."""

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.json_value import JsonObject, as_index, as_text
from streamviz.core.wire.joined_texts import ShownTexts
from streamviz.core.wire.openai_responses_incoming import Item, Thought
from streamviz.core.wire.openai_responses_seals import is_own_thinking
from streamviz.core.wire.openai_responses_words import parts_in, texts_beside, texts_in


class ThinkingReader(Aggregator[Chunk, JsonObject]):
    """Adds what comes of an item's thinking to its block."""

    def clear(self) -> None:
        super().clear()
        self._shown = ShownTexts()

    def _tell_thinking(self, item: Item, details: JsonObject, is_whole: bool) -> None:
        for key in ("summary", "content"):
            for position, part in enumerate(self._few(parts_in(details.get(key)))):
                self._think_part(item, (key, position), part)
        block, signature = item.block, as_text(details.get("encrypted_content"))
        for text in texts_beside(details):
            if block is None or text not in (block.beginning(len(text)), block.ending(len(text))):
                self._think(item, ("", 0), text)
        if is_whole and signature and block is not None and not block.is_sealed and not is_own_thinking(details):
            self._grow(block, signature=signature)

    def _think_part(self, item: Item, place: tuple[str, int], part: JsonObject) -> None:
        texts = texts_in(part)
        if texts:
            self._think(item, place, texts[0])
        if len(texts) > 1:
            self._contradict("a part of the thinking has two texts")

    def _think(self, item: Item, part: tuple[str, int], whole: str) -> None:
        """Add to a part of the thinking what has not come yet."""
        block, known = item.block, item.thoughts.setdefault(part, Thought())
        is_told = block is not None and block.is_sealed and not known.length and whole == block.text
        if block is None or not whole or is_told:  # LiteLLM's proxy streams a summary, and at the end it is content
            return
        if len(whole) < known.length or not whole.startswith("".join(known.pieces)):
            self._contradict("thinking is repeated differently")
        elif len(whole) > known.length:
            self._tell_whole(block)
            self._think_on(item, block, part, whole[known.length :])

    def _tell_whole(self, block: StreamBlock) -> None:
        """Note that a block grows by a text that is in no delta."""
        self._shown.tell_whole(block)
        self._check_place(block)

    def _check_place(self, block: StreamBlock) -> None:
        if self._shown.is_late(block):
            self._contradict("a text comes after a later one")

    def _think_on(self, item: Item, block: StreamBlock, part: tuple[str, int], text: str) -> None:
        known = item.thoughts.setdefault(part, Thought())
        if self._shown.comes_late((block.ordinal, part[0]), part[1]):
            self._contradict("a part of the thinking comes after a later one")
        if block.is_sealed:
            self._contradict("thinking continues after its end")
        elif known.length and known is not item.latest_thought:
            # Clients keep the parts apart; here they are one text.
            self._contradict("a part of the thinking continues after another has begun")
        else:
            item.latest_thought = known
            known.pieces.append(text)
            known.length += len(text)
            self._grow(block, text)


def thought_of(word: str, payload: JsonObject) -> tuple[str, int]:
    """Which part of the thinking an event is about: the list that has it, and its number there."""
    if word in ("reasoning", "reasoning_content", "reasoning_text"):
        return "content", as_index(payload.get("content_index")) or 0
    return "summary", as_index(payload.get("summary_index")) or 0
