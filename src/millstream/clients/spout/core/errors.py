"""Errors of the spout."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.quoting import counted


class TooManyFailures(MillstreamError):
    """Records failed again and again, and none was acked: the spout has ended. The last error is the cause."""

    def __init__(self, failures: int) -> None:
        super().__init__(
            f"{counted(failures, 'record')} in a row failed and none was acked: the spout has ended (failures_max)."
            " Nothing of them is committed; mend what handles the records and start again"
        )
        self.failures = failures
