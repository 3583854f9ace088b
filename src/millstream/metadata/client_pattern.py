"""Regular expressions that clients send: the one place that reads them.

The engine is RE2: its time is linear in the text and in the expression, whatever a client asks for. Nothing is captured: what a
group matched interests nobody, and ten thousand groups would cost gigabytes. Three limits keep the rest small, so that what one
expression costs is known: its length, its Unicode classes (each of them takes 10 KB before RE2 looks at its own limit), and the
memory of the compiled expression.

`check_pattern` reads an expression without compiling it and takes a few milliseconds at most. Compiling takes up to half a second, and
matching up to 0.1 s a text: both belong into a thread. Matching leaves the interpreter to others while it runs; compiling does not, as the
binding of RE2 keeps the interpreter's lock, so the largest expressions still delay everybody once.
"""

from __future__ import annotations

from typing import Final, Protocol

import re2

from millstream.errors import InvalidRegularExpression

PATTERN_BYTES_MAX: Final = 32_767
"""As much as a string of a record may hold."""
PATTERN_UNICODE_CLASSES_MAX: Final = 200
COMPILED_BYTES_MAX: Final = 32 << 20
"""What RE2 may use for one expression. `\\p{L}{1000}` needs most of it."""


class _Compiled(Protocol):
    """re2 has no types of its own."""

    def fullmatch(self, text: str) -> object | None: ...


class ClientPattern:
    """A compiled expression. Make it in a thread, and forget it soon: it may hold `COMPILED_BYTES_MAX`."""

    def __init__(self, text: str) -> None:
        """Raises InvalidRegularExpression with the reason alone: the caller says whose expression it was."""
        _check_size(text)
        try:
            self._compiled: _Compiled = re2.compile(text, _options())
        except re2.error as error:
            raise InvalidRegularExpression(_reason(error)) from None
        finally:
            re2.purge()  # its cache would keep 128 of them

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` is meant."""
        return self._compiled.fullmatch(text) is not None


def check_pattern(text: str) -> None:
    """Raises InvalidRegularExpression with the reason alone. What is too large compiled is found by compiling it."""
    _check_size(text)
    try:
        re2.Set.FullMatchSet(_options()).Add(text)
    except re2.error:
        ClientPattern(text)  # knows the reason; what cannot be read is not compiled
        raise InvalidRegularExpression("it cannot be read") from None


def _check_size(text: str) -> None:
    if len(text.encode()) > PATTERN_BYTES_MAX:
        raise InvalidRegularExpression(f"it is longer than {PATTERN_BYTES_MAX} bytes")
    if text.count("\\p") + text.count("\\P") > PATTERN_UNICODE_CLASSES_MAX:
        raise InvalidRegularExpression(
            f"it has more than {PATTERN_UNICODE_CLASSES_MAX} Unicode classes (\\p, \\P)"
        )


def _options() -> re2.Options:
    options = re2.Options()
    options.never_capture = True
    options.max_mem = COMPILED_BYTES_MAX
    options.log_errors = False  # they are answered
    return options


def _reason(error: Exception) -> str:
    reason = error.args[0]
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
