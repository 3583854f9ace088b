"""Answers queries of an application's stores as JSON over HTTP. Needs the extra `queries` (Starlette, uvicorn)."""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.streams.query_server.application import create_query_application
    from millstream.streams.query_server.door import QueryTls
    from millstream.streams.query_server.serving import QueryServer
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.streams.query_server.application": "create_query_application",
            "millstream.streams.query_server.door": "QueryTls",
            "millstream.streams.query_server.serving": "QueryServer",
        },
        extras=("queries",),
    )

__all__ = ["QueryServer", "QueryTls", "create_query_application"]
