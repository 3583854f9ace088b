"""Sends what `produce` has read, and counts what came of it: what brokers have
acknowledged, and what they have refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from millstream.cli.progress import PaceLine, pace
from millstream.cli.records.lines import Line, Parse, split
from millstream.cli.terminal import printable
from millstream.clients.core.serialization import SerializationError
from millstream.errors import MillstreamError
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients.blocking import Producer

Convert = Callable[[str, Line], Line]
STANDARD_INPUT = "-"
_LOOKS_AT_CLOCK: Final = 1_000
"""Records between two looks at the clock: one takes as long as a tenth of a record."""


class LinePlace(NamedTuple):
    """The place of a record in the input. `number` counts from 1 in each file."""

    file: str
    number: int
    unit: str = "line"

    def __str__(self) -> str:
        of_file = "" if self.file == STANDARD_INPUT else f" of {self.file}"
        return f"{self.unit} {self.number}{of_file}"


Placed = tuple[LinePlace, Line]


def placed(file: str, source: IO[bytes], delimiter: bytes, parse: Parse) -> Iterator[Placed]:
    """Yields the records of a file. Raises SerializationError, which names the line."""
    unit = "line" if delimiter == b"\n" else "record"
    for number, piece in enumerate(split(source, delimiter), 1):
        place = LinePlace(file, number, unit)
        try:
            line = parse(piece)
        except SerializationError as error:
            raise SerializationError(f"{place}: {error}") from error
        yield place, line


def told_on_the_way(lines: Iterator[Placed], progress: PaceLine) -> Iterator[Placed]:
    """Yields the same lines, and tells about once a second where they are."""
    for number, (place, line) in enumerate(lines, 1):
        yield place, line
        if number % _LOOKS_AT_CLOCK == 0:
            progress.tell_sentence(partial(_place_and_pace, place, number))


def _place_and_pace(place: LinePlace, count: int, elapsed_ms: int) -> str:
    return f"{place}, {pace(count, None, elapsed_ms, 'records')}"


class RecordSender:
    """Sends to one topic. Its counts are those of records whose outcome is known."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        convert: Convert | None,
        *,
        partition: int | None = None,
        waits: bool = False,
        is_acknowledged: bool = True,
    ) -> None:
        """`waits`: for each record before the next. Not `is_acknowledged`: brokers do not answer (acks=0)."""
        self._producer = producer
        self._topic = topic
        self._convert = convert
        self._partition = partition
        self._waits = waits
        self._is_acknowledged = is_acknowledged
        self._sent = 0
        self._acknowledged = 0
        self._committed: int | None = None
        """Records of committed transactions; None without transactions."""
        self._aborted = 0
        self._refused = 0
        self._first_refused: tuple[int, LinePlace] | None = None
        self._last: LinePlace | None = None
        """The place of the record that was sent last."""

    def write(self, lines: Iterable[Placed]) -> None:
        """Sends all lines.

        An error still delivers those that were read; after an interruption whoever closes the producer does.
        """
        try:
            for place, line in lines:
                self._send(place, line)
        except Exception:
            self._producer.flush()
            raise
        self._producer.flush()

    def write_in_transactions(self, lines: Iterator[Placed], every: int | None) -> None:
        """Commits a transaction for each so many records.

        An error aborts the one that is open; after an interruption whoever closes does.
        """
        self._producer.init_transactions()
        self._committed = 0
        following = next(lines, None)
        while following is not None:
            begun_at = self._sent
            self._producer.begin_transaction()
            try:
                while following is not None and self._sent - begun_at != every:
                    self._send(*following)
                    following = next(lines, None)
                self._producer.commit_transaction()
                self._committed = self._sent
            except BaseException as error:
                # Acknowledged or not, now or later: what belongs to no committed transaction is not written.
                self._aborted = self._sent - begun_at
                if isinstance(error, Exception):
                    self._abort_after(error)
                raise

    def _abort_after(self, error: Exception) -> None:
        try:
            self._producer.abort_transaction()
        except MillstreamError as failure:
            # As where the producer has failed for good, which `error` says.
            error.add_note(f"the transaction could not be aborted either: {failure}")

    def summary(self, *, is_interrupted: bool = False) -> str:
        """Returns how many records were written, and what became of the others; of an input that was not read
        to its end, how far it was.
        """
        told = self._outcome()
        if self._last is None or not is_interrupted:
            return told
        return f"{told}; {printable(str(self._last))} was the last one sent"

    def _outcome(self) -> str:
        verb = "written" if self._is_acknowledged else "sent"
        written = self._acknowledged if self._committed is None else self._committed
        told = f"{counted(written, 'record')} {verb} to {printable(self._topic)}"
        if not self._is_acknowledged:
            told += " (acks=0: no broker says whether it has them)"
        if self._aborted:
            return f"{told}, {self._aborted} in a transaction that was not committed"
        if self._first_refused is not None:
            place = printable(str(self._first_refused[1]))
            return f"{told}, {self._refused} not; the first of these is {place}"
        return told

    def _send(self, place: LinePlace, line: Line) -> None:
        if self._convert is not None:
            try:
                line = self._convert(self._topic, line)
            except SerializationError as error:
                raise SerializationError(f"{place}: {error}") from error
        self._sent += 1
        self._last = place
        delivery = self._producer.send(
            self._topic,
            line.value,
            key=line.key,
            headers=line.headers,
            partition=self._partition if line.partition is None else line.partition,
            timestamp_ms=line.timestamp_ms,
            on_delivery=partial(self._on_delivery, (self._sent, place)),
        )
        if self._waits:
            delivery.result()

    def _on_delivery(
        self, sent: tuple[int, LinePlace], _metadata: object, error: Exception | None
    ) -> None:
        """Runs on the producer's loop, in the order of the records of a partition."""
        if error is None:
            self._acknowledged += 1
            return
        self._refused += 1
        if self._first_refused is None or sent < self._first_refused:
            self._first_refused = sent
