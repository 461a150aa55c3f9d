"""The formats' own words, which nearly every answer has in its envelope and which say nothing."""

from streamviz.core.wire.beside import member_names

_ALL = """
    id object type index role model created name usage status message assistant text function service_tier cost
    default standard prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens
    reasoning_tokens audio_tokens image_tokens text_tokens prompt_tokens_details completion_tokens_details
    input_tokens_details output_tokens_details
"""
_OPENAI_CHAT = """
    chat.completion.chunk finish_reason native_finish_reason system_fingerprint obfuscation stop length
    tool_calls accepted_prediction_tokens rejected_prediction_tokens
"""
_ANTHROPIC_MESSAGES = """
    message_start message_delta message_stop content_block_start content_block_delta content_block_stop ping text_delta
    input_json_delta tool_use server_tool_use caller stop_reason stop_sequence end_turn max_tokens inference_geo
    cache_creation cache_creation_input_tokens cache_read_input_tokens ephemeral_1h_input_tokens
    ephemeral_5m_input_tokens not_available
"""
_OPENAI_RESPONSES = """
    response created_at completed_at in_progress completed background error incomplete_details instructions metadata
    max_output_tokens max_tool_calls parallel_tool_calls previous_response_id prompt_cache_key
    prompt_cache_retention reasoning effort summary context safety_identifier store temperature format verbosity
    tool_choice tools strict top_logprobs top_p truncation frequency_penalty presence_penalty user auto disabled
    none low medium high moderation sequence_number output_index content_index item_id call_id output_text
    function_call web_search phase description parameters properties required additionalProperties string in_memory
    tool_usage final_answer current_turn response.created response.in_progress response.completed
    response.output_item.added response.output_item.done response.content_part.added response.content_part.done
    response.output_text.delta response.output_text.done response.function_call_arguments.delta
    response.function_call_arguments.done
"""
_GEMINI = """
    usageMetadata promptTokenCount candidatesTokenCount totalTokenCount thoughtsTokenCount promptTokensDetails
    candidatesTokensDetails modality tokenCount modelVersion responseId finishReason serviceTier trafficType createTime
    TEXT STOP ON_DEMAND
"""
VOCABULARY = member_names(_ALL + _OPENAI_CHAT + _ANTHROPIC_MESSAGES + _OPENAI_RESPONSES + _GEMINI)
