"""Rows whose key or value has no encoding: the error that names one, and the column in which the
reason travels beside the row.
"""

from __future__ import annotations

from typing import Final

from millstream.errors import MillstreamError

UNENCODED: Final = "millstream.unencoded"
"""No column of a DataFrame that is written. Where it is there, it is null for rows that are encoded."""


class UnencodableRow(MillstreamError):
    """A key or a value that its format or its schema does not take."""
