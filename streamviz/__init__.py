"""streamviz: an observability dashboard and policy proxy for LLM streams."""
