"""Regular expressions that clients send: the one place that reads them.

The engine is RE2: its time is linear in the text and in the expression, whatever a client asks for. Nothing is
captured: what a group matched is of no use, and ten thousand groups would cost gigabytes. Three limits keep the rest
small, so that what one expression costs is known: its length, its Unicode classes (each of them takes 10 KB before RE2
looks at its own limit), and the memory of the compiled expression.

`check_pattern` reads an expression without compiling it, which takes less than 40 ms. Compiling may take
seconds, and RE2's binding keeps the interpreter's lock all the while; matching gives the lock away, but one
text may take many seconds. So who compiles asks `is_cheap` first: what is not is compiled in another process,
what is may be compiled in a thread of this one.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

import re2

from millstream.errors import InvalidRegularExpression

PATTERN_BYTES_MAX: Final = 32_767
"""As much as a string of a record may hold."""
PATTERN_UNICODE_CLASSES_MAX: Final = 50
"""Reading one takes up to 0.3 ms, where it is negated and case does not matter."""
COMPILED_BYTES_MAX: Final = 32 << 20
"""What RE2 may use for one expression. `\\p{L}{1000}` needs most of it."""
CHEAP_COST_MAX: Final = 1_000
"""Random expressions of this cost, made to take long, were compiled in less than 5 ms; what people write is far
below."""
_REPETITION: Final = re.compile(r"(.?)\{([0-9]+)(?:,([0-9]*))?\}", re.DOTALL)
"""With the character before it."""
_ENDS_OF_REPEATABLE: Final = frozenset(["", ")", "*", "+", "?"])
"""What stands before them may have repetitions itself."""


class _Compiled(Protocol):
    """re2 has no types of its own."""

    def fullmatch(self, text: str) -> object | None: ...


def is_cheap(text: str) -> bool:
    """Whether compiling `text` takes a few milliseconds at most, by a bound that does not read it.

    The bound is one of the length once every repetition is written out, as if each repeated all there is and all groups
    lay in each other. One Unicode class becomes a program of a thousand instructions, so what has one is never cheap.
    """
    if len(text) > CHEAP_COST_MAX or "\\p" in text or "\\P" in text:
        return False
    single = groups = 1
    for before, least, most in _REPETITION.findall(text):
        count = max(int(least), int(most or 0)) + 1
        if before in _ENDS_OF_REPEATABLE:
            groups *= count
        else:
            single += count
    return len(text.encode()) * single * groups <= CHEAP_COST_MAX


class ClientPattern:
    """A compiled expression. Forget it soon: it may hold `COMPILED_BYTES_MAX`."""

    def __init__(self, text: str) -> None:
        """Raises InvalidRegularExpression with the reason alone: the caller says whose expression it was."""
        check_size(text)
        try:
            self._compiled: _Compiled = re2.compile(text, _options())
        except re2.error as error:
            raise InvalidRegularExpression(_reason(error)) from None
        finally:
            re2.purge()  # its cache would keep 128 of them

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole of `text`."""
        return self._compiled.fullmatch(text) is not None


def check_pattern(text: str) -> None:
    """Checks an expression without compiling it. Raises InvalidRegularExpression with the reason alone.

    An expression that is too large when compiled is only found by compiling it.
    """
    check_size(text)
    try:
        re2.Set.FullMatchSet(_options()).Add(text)
    except re2.error:
        ClientPattern(text)  # knows the reason; what cannot be read is not compiled
        raise InvalidRegularExpression("it cannot be read") from None


def check_size(text: str) -> None:
    """Checks the size of an expression. Raises InvalidRegularExpression with the reason alone."""
    if len(text) > PATTERN_BYTES_MAX or len(text.encode()) > PATTERN_BYTES_MAX:
        raise InvalidRegularExpression(f"it is longer than {PATTERN_BYTES_MAX} bytes")
    if unicode_classes(text) > PATTERN_UNICODE_CLASSES_MAX:
        raise InvalidRegularExpression(
            f"it has more than {PATTERN_UNICODE_CLASSES_MAX} Unicode classes (\\p, \\P)"
        )


def unicode_classes(text: str) -> int:
    """Returns an upper bound of the Unicode classes in an expression; a backslash that is escaped counts too."""
    return text.count("\\p") + text.count("\\P")


def _options() -> re2.Options:
    options = re2.Options()
    options.never_capture = True
    options.max_mem = COMPILED_BYTES_MAX
    options.log_errors = False  # they are answered
    return options


def _reason(error: Exception) -> str:
    reason = error.args[0]
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
