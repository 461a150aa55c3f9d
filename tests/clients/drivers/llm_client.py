"""llm, with models as its command line creates them."""

import base64
from typing import Any

import llm
from driver import QUESTION, SYSTEM, Asked, main, png
from llm.default_plugins.openai_models import Chat


def run(asked: Asked) -> str:
    kind: Any = {"supports_tools": True, "supports_schema": True, "vision": True}
    model = Chat(asked.model, model_name=asked.model, api_base=f"{asked.base}/v1", **kind)
    model.key = asked.key
    if asked.task == "tools":
        return str(model.chain(QUESTION, system=SYSTEM, tools=[llm.Tool.function(asked.look, name="look")]).text())
    more: Any = {}
    if asked.task == "picture":
        more = {"attachments": [llm.Attachment(type="image/png", content=base64.b64decode(png()))]}
    if asked.task == "shape":
        more = {"schema": llm.schema_dsl("city")}
    response = model.prompt(QUESTION, system=SYSTEM, stream=asked.task not in ("whole", "shape"), **more)
    pieces = []
    for number, piece in enumerate(response):
        if asked.has_left(number):
            return "left"
        pieces.append(piece)
    return "".join(pieces)


main(run)
