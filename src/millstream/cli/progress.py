"""Shows at a person's terminal how far a long job has come: one line, written over about once a second."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import click

from millstream.cli.terminal import printable

_TELLS_MS: Final = 1_000
"""A person reads no faster."""
_TO_END_OF_LINE: Final = "\x1b[K"


@dataclass(slots=True)
class PaceLine:
    """Writes sentences to `write`, no more often than a person can read them; nothing where that is None."""

    write: Callable[[str], object] | None
    now_ms: Callable[[], int]
    begun_ms: int
    told_ms: int
    is_shown: bool = False

    def tell(self, done: int, total: int | None, noun: str) -> None:
        """Tells how much is done, if the last time was a second ago."""
        self.tell_sentence(lambda elapsed_ms: pace(done, total, elapsed_ms, noun))

    def tell_sentence(self, sentence: Callable[[int], str]) -> None:
        """Writes what `sentence` says of so many milliseconds, if the last time was a second ago."""
        if self.write is None:
            return
        now_ms = self.now_ms()
        if now_ms - self.told_ms < _TELLS_MS:
            return
        self.told_ms = now_ms
        self.is_shown = True
        self.write(f"{printable(sentence(now_ms - self.begun_ms))} ...{_TO_END_OF_LINE}\r")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Takes the line away, so that what comes next stands in its place."""
        if self.is_shown and self.write is not None:
            self.is_shown = False
            self.write(_TO_END_OF_LINE)


def at_terminal(
    now_ms: Callable[[], int], *, quiet: bool = False, prints_records: bool = False
) -> PaceLine:
    """Returns one that writes nothing where no person looks, or where records that are printed stand in between."""
    is_seen = not quiet and sys.stderr.isatty() and not (prints_records and sys.stdout.isatty())
    begun_ms = now_ms()
    return PaceLine(_write if is_seen else None, now_ms, begun_ms, begun_ms)


def _write(text: str) -> None:
    click.echo(text, err=True, nl=False)


def pace(done: int, total: int | None, elapsed_ms: int, noun: str) -> str:
    """Returns how much is done, how fast that goes, and how long the rest takes if it goes on so."""
    told = f"{done:,} {noun}" if total is None else f"{done:,} of {total:,} {noun}"
    rate = done * 1_000 / elapsed_ms if elapsed_ms > 0 else 0.0
    if rate < 1:
        return told
    told += f", {rate:,.0f}/s"
    if total is None or done >= total:
        return told
    left_s = round((total - done) / rate)
    minutes, seconds = divmod(left_s, 60)
    return f"{told}, {f'{minutes} min {seconds:02} s' if minutes else f'{seconds} s'} left"
