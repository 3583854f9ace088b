"""Errors of the Streams library: what Kafka Streams calls StreamsException and TopologyException.

    MillstreamError
    └── StreamsError               something went wrong while a topology ran; the task must not go on
        ├── TopologyError          a topology that cannot be built; names the node and the cure
        ├── SerializationError     a value that its serde cannot write, or bytes that it cannot read
        ├── ProcessingError        a user function raised; names node, topic, partition and offset
        │   └── AsyncCallTimedOut   an async function of the user was not answered in the time it was given
        ├── TaskAssignmentError    the members of a classic group cannot agree on who runs which task
        ├── TaskTimedOut           a task was tried again for task.timeout.ms, and made no progress
        ├── ProcessorStateError    what a record cache held back could not go on when it was flushed
        └── InvalidStoreError      a store used while it is closed, or not connected to the node, or not there to be asked
            ├── InvalidStorePartition   the store has no such partition
            ├── UnknownStore            the topology has no such store
            ├── StoreMigrated           the store may be at another instance now: find out where
            ├── StoreNotAvailable       ask again: the task is opened, moves, or is restored
            └── StreamsNotStarted       the application does not run

Wrong arguments of a call are `ValueError`, as everywhere in Python.
"""

from __future__ import annotations

from millstream.errors import MillstreamError


class StreamsError(MillstreamError):
    """A running topology failed; the cause is chained."""

    is_final = False
    """The application's handlers have been asked, or are not to be: nothing above may go on."""


class TopologyError(StreamsError):
    """A topology that cannot be built. The sentence names the node and what to change."""


class SerializationError(StreamsError):
    """A value its serde cannot write, or bytes it cannot read."""


class ProcessingError(StreamsError):
    """A user function raised; the cause carries the user's own traceback."""


class AsyncCallTimedOut(ProcessingError):
    """A call of an async function took longer than `timeout_ms`; names node, topic, partition and offset."""


class TaskAssignmentError(StreamsError):
    """The tasks of a classic group could not be shared out, or a member cannot read how (Kafka Streams'
    TaskAssignmentException).
    """


class TaskTimedOut(StreamsError):
    """A task was tried again and again and made no progress; the cause is that of its last failure."""


class ProcessorStateError(StreamsError):
    """A flush of a record cache failed: an operator below its table raised an error (Kafka Streams'
    ProcessorStateException).
    """


class InvalidStoreError(StreamsError):
    """A store that is closed, unknown, or not connected to the node that asks for it."""


class InvalidStorePartition(InvalidStoreError):
    """A partition was asked for that the store does not have."""


class UnknownStore(InvalidStoreError):
    """The topology has no store of this name."""


class StoreMigrated(InvalidStoreError):
    """The instance keeps no partition of the store now; another one may: ask its host."""


class StoreNotAvailable(InvalidStoreError):
    """The task that keeps the store cannot be asked now; the same question may be answered a moment later."""


class StreamsNotStarted(InvalidStoreError):
    """The application was asked before it ran, or after it was closed or had failed."""
