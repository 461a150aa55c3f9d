"""What a collector of OpenTelemetry, if one is set, is told about streams: spans and metrics by the GenAI
conventions."""
