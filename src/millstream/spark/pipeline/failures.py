"""The cause of a failed query, out of what Spark says: a message of the JVM around a Python traceback around the cause.

Pure: text in, one line out.
"""

from __future__ import annotations

import re
from typing import Final

_ERROR_LINE: Final = re.compile(r"(?P<module>(?:[a-z_]\w*\.)*)[A-Z]\w+(?:: |$)")
_NO_ERRORS: Final = ("Traceback", "SQLSTATE")
_OURS: Final = "millstream."
_OURS_AFTER_SPARKS: Final = re.compile(r"\[[A-Z_]+\] .*?: (millstream\.(?:\w+\.)*[A-Z]\w+: .*)")
_NO_MORE: Final = re.compile(r"\s+at [\w.$]+\(|=== Streaming Query ===")
"""A frame of the JVM, or Spark's description of the query."""
_CALL_OF_THE_JVM: Final = "An error occurred while calling "
"""What py4j writes above an error of the JVM."""


def cause(text: str) -> str:
    """`module.Error: what to do`: our own last word where we had one, else the last error of the Python traceback.

    Kernel and clients chain their errors, `ZeroDivisionError` and then the one that says at which node and offset; the
    last one knows most. What follows the first frame of the JVM repeats it, or describes the query.
    """
    lines = [_last_part(line.strip(": ")) for line in _of_the_error(text) if line.strip()]
    errors = [
        (match["module"], line)
        for line in lines
        if (match := _ERROR_LINE.match(line)) and not line.startswith(_NO_ERRORS)
    ]
    ours = [line for module, line in errors if module.startswith(_OURS)]
    python = [line for module, line in errors if not module.startswith(("org.", "java."))]
    return (ours or python or lines or ["no reason given"])[-1 if ours or python else 0]


def _last_part(line: str) -> str:
    """A line in which Spark's own words stand before our error, which it was told without a traceback."""
    found = _OURS_AFTER_SPARKS.match(line) if line.startswith("[") else None
    return line if found is None else found[1]


def _of_the_error(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith(_CALL_OF_THE_JVM)]
    end = next((i for i, line in enumerate(lines) if _NO_MORE.match(line)), len(lines))
    return lines[:end]
