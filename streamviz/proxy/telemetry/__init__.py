"""What OpenTelemetry is told of streams, where a collector is set: spans and metrics by its GenAI conventions."""
