"""The program of the pattern process: compiles expressions of clients and matches texts, as `frames` says.

    python -m millstream.broker.patterns.program

Its standard input and output are the node. It ends at the end of its input, and by SIGALRM when it
is not asked for long or one answer takes long: so it is never left behind, even where the node was
killed while an expression was compiled.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
from typing import BinaryIO, Final

from millstream.broker.patterns.frames import LENGTH, Ask, framed, read_message, read_texts
from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import ClientPattern

_ADDRESS_SPACE_BYTES_MAX: Final = 1 << 30
"""The costliest expressions need 240 MB."""
_ANSWER_S_MAX: Final = 15
"""Longer than a node waits: it has gone."""
_UNASKED_S_MAX: Final = 180
"""Longer than a node keeps an idle process."""


class PatternProgram:
    """Keeps the expression it compiled last: a node often asks for the same twice in a row."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._pattern: ClientPattern | None = None

    def answer(self, message: bytes) -> bytes:
        ask, content = read_message(message)
        if ask is Ask.COMPILE:
            return self._compile(content.decode())
        assert self._pattern is not None, "an expression comes before the texts"
        matches = self._pattern.matches
        return bytes(matches(text) for text in read_texts(content))

    def _compile(self, text: str) -> bytes:
        if text == self._text:
            return b""
        self._text = self._pattern = None  # frees the memory of the last one first
        try:
            self._pattern = ClientPattern(text)
        except InvalidRegularExpression as error:
            return str(error).encode()
        self._text = text
        return b""


def serve(input_: BinaryIO, output: BinaryIO) -> None:
    """Serves questions. The first frame, which is empty, says that the process is ready."""
    program, answer = PatternProgram(), b""
    while True:
        output.write(framed(answer))
        output.flush()
        signal.alarm(_UNASKED_S_MAX)
        length = input_.read(LENGTH.size)
        if len(length) < LENGTH.size:
            return
        message = input_.read(LENGTH.unpack(length)[0])
        signal.alarm(_ANSWER_S_MAX)
        answer = program.answer(message)


def _limit_memory() -> None:
    """Limits the memory, where the system knows such limits."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, highest = resource.getrlimit(resource.RLIMIT_AS)
        limit = _ADDRESS_SPACE_BYTES_MAX
        if highest != resource.RLIM_INFINITY:
            limit = min(limit, highest)
        resource.setrlimit(resource.RLIMIT_AS, (limit, highest))


def main() -> None:
    _limit_memory()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the node has gone
        serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
