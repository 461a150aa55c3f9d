"""The /v1 endpoints: a bare ASGI application beside Django's, because every layer costs the client time."""
