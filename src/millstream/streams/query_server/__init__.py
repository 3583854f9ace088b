"""Answers queries of an application's stores as JSON over HTTP. Needs the extra `queries` (Starlette, uvicorn)."""

from millstream.streams.query_server.application import create_query_application
from millstream.streams.query_server.door import QueryTls
from millstream.streams.query_server.serving import QueryServer

__all__ = ["QueryServer", "QueryTls", "create_query_application"]
