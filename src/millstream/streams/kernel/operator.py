"""The contract of a running operator: a batch in, a batch out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext


class Operator(ABC):
    """Sub-classes say in `multiplies` whether one row may become several, and in `has_side_effects` whether
    the user can see when they are called; `needs_records` forbids batches of more than one row;
    `reads_arrays`: columns whose rows are of a known type are welcome, even columns of one row;
    `forwards_then_forgets` wants to know when what it gave goes through everything below, and when it has: its rows
    come from other records than those being processed. `asks_origin`: it looks at where a row comes from.
    `runs_again`: it has called all functions of the user before it writes, so that rows of a batch that failed may be run
    once more to find the one that did. One that writes in between notes the row in `context.failed_ordinal`.
    """

    multiplies = False
    has_side_effects = False
    needs_records = False
    reads_arrays = False
    forwards_then_forgets = False
    asks_origin = False
    runs_again = False

    def __init__(self, context: TaskContext) -> None:
        self.context = context

    @abstractmethod
    def process(self, batch: Batch, /) -> Batch:
        """What goes on to every child."""

    def shares_store(self) -> None:  # noqa: B027 - a hook of those whose rows show single writes
        """Operators below look into its store: what they see is the store as it is when each row goes on."""

    def forwarding(self, row: int) -> None:  # noqa: B027 - the same
        """Of what `process` gave this row goes on next, alone."""

    def forwarded(self) -> None:  # noqa: B027 - a hook of those that ask for it
        """What `process` gave has gone through everything below."""

    def route(self, _batch: Batch, /) -> list[Batch] | None:
        """For branches: one batch per child in their order. None: every child gets `process(batch)`."""
        return None
