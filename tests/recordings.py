"""Where the recorded streams are that tests read: beside the project, or in the folder that RECORDINGS names."""

import os
from pathlib import Path

RECORDINGS = Path(os.environ.get("RECORDINGS") or Path(__file__).parents[2] / "shared" / "streams")

# The formats whose streams were recorded.
RECORDED_FORMATS = ("anthropic_messages", "gemini", "openai_chat", "openai_responses")
