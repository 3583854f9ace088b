"""The error of `millstream storage`."""

from __future__ import annotations

from millstream.errors import MillstreamError


class FormatError(MillstreamError):
    """Directories that cannot be formatted as they were asked to be. The message says why."""
