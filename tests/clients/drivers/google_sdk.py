"""Google's own SDK, which runs its tools by itself."""

from driver import CITY, QUESTION, SYSTEM, Asked, main, png
from google import genai
from google.genai import types


def run(asked: Asked) -> str:
    attempts = types.HttpRetryOptions(attempts=asked.retries + 1, initial_delay=0.1)
    options = types.HttpOptions(base_url=asked.base, retry_options=attempts)
    sdk = genai.Client(api_key=asked.key, http_options=options)
    config = types.GenerateContentConfig(system_instruction=SYSTEM)
    if asked.task == "count":
        return str((sdk.models.count_tokens(model=asked.model, contents=QUESTION).total_tokens or 0) > 0)
    if asked.task == "shape":
        config.response_mime_type, config.response_json_schema = "application/json", CITY
    contents: types.ContentListUnion = QUESTION
    if asked.task == "picture":
        import base64

        contents = [QUESTION, types.Part.from_bytes(data=base64.b64decode(png()), mime_type="image/png")]
    if asked.task == "tools":

        def look(command: str) -> str:
            """Look at the folder."""
            return asked.look(command)

        config.tools = [look]
        return sdk.models.generate_content(model=asked.model, contents=contents, config=config).text or ""
    if asked.task == "whole":
        return sdk.models.generate_content(model=asked.model, contents=contents, config=config).text or ""
    pieces = []
    for number, chunk in enumerate(
        sdk.models.generate_content_stream(model=asked.model, contents=contents, config=config)
    ):
        if asked.has_left(number):
            return "left"
        pieces.append(chunk.text or "")
    return "".join(pieces)


main(run)
