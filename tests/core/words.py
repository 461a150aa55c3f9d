"""The member names of each wire format, for generating streams."""

from typing import NamedTuple


class Words(NamedTuple):
    """A format's member names: any that carry something, those of an answer's envelope, of a call's arguments, of
    texts, and around a call; and those that say which, of what kind and where something is."""

    carriers: list[str]
    envelope: list[str]
    given: list[str]
    texts: list[str]
    wrappers: list[str]
    heads: list[str]


_CARRIERS = (
    "arguments input payload command commands patch function custom text content transcript thinking reasoning"
    " reasoning_content reasoning_details thinking_blocks refusal delta partial_json summary output result action"
    " parameters args json code query name data audio images parts message value tool_calls tool_call function_call"
    " annotations citations logprobs item part content_block content_blocks provider_specific_fields operation"
    " citation parsed parsed_arguments output_text tool_use signature encrypted_content results url diff image_url"
).split()
# Google's, in camel and in snake case.
_GEMINI_CARRIERS = (
    "text text thought functionCall functionCall function_call args partialArgs partial_args name id executableCode"
    " executable_code codeExecutionResult toolCall tool_call toolResponse functionResponse inlineData fileData"
    " thoughtSignature videoMetadata partMetadata part_metadata mediaResolution audioTranscription speechMetadata"
    " parts content candidates response finishMessage finish_message groundingMetadata citationMetadata"
    " promptFeedback modelStatus continuationToken automaticFunctionCallingHistory parsed stringValue jsonPath"
    " willContinue toolType safetyRatings"
).split()
_HEADS = "type object index id role output_index content_index summary_index item_id call_id status name".split()
_ENVELOPE = """id object model created created_at system_fingerprint service_tier provider usage stop_reason
    stop_sequence finish_reason stop_details incomplete_details error metadata instructions user tools item_id status
    previous_response_id role note text_format container prompt_cache_key""".split()
_GEMINI_ENVELOPE = """usageMetadata modelVersion responseId createTime finishReason finishMessage promptFeedback
    modelStatus error safetyRatings continuationToken index role""".split()

OTHERS = Words(
    _CARRIERS,
    _ENVELOPE,
    ["arguments", "input", "input", "action", "parameters"],
    ["text", "text", "thinking", "refusal", "transcript", "content"],
    ["function", "custom"],
    _HEADS,
)
GEMINI = Words(
    _GEMINI_CARRIERS,
    _GEMINI_ENVELOPE,
    ["args", "args", "args", "partialArgs"],
    ["text", "text", "text", "code", "output"],
    ["functionCall", "functionCall", "function_call", "toolCall", "executableCode"],
    ["index", "role", "id", "name", "thought", "willContinue", "finishReason", "jsonPath"],
)


def words_of(format: str) -> Words:
    """The words of one format."""
    return GEMINI if format == "gemini" else OTHERS
