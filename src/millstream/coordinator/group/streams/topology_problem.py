"""The problem that keeps a topology from running."""

from __future__ import annotations

from millstream.protocol.enums import StreamsGroupStatus


class TopologyProblem(Exception):
    """The topics in the cluster are not what the topology needs.

    Not an error of the request: the member is told and waits.
    """

    def __init__(self, code: StreamsGroupStatus, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
