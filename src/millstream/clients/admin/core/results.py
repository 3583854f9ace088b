"""Results of admin calls: one result or one typed error per item."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from millstream.clients.core.named_errors import named_error
from millstream.errors import KafkaError
from millstream.security.acl import Operation

Key = TypeVar("Key")
Value = TypeVar("Value")


class Results(dict[Key, Value | KafkaError], Generic[Key, Value]):
    """A dict by item. Nothing is raised for an item that failed until its result is asked for."""

    def result(self, key: Key) -> Value:
        """Returns the item's result; raises its error."""
        value = self[key]
        if isinstance(value, KafkaError):
            raise value
        return value

    def errors(self) -> dict[Key, KafkaError]:
        """Returns the errors of the items that failed."""
        return {key: value for key, value in self.items() if isinstance(value, KafkaError)}

    def raise_errors(self) -> Self:
        """Raises the first error, if any, with notes on the others; else gives the results back."""
        errors = list(self.errors().items())
        if not errors:
            return self
        first = errors[0][1]
        for key, error in errors[1:]:
            first.add_note(f"{key}: {error}")
        raise first


def item_error(code: int, item: object, message: str | None = None) -> KafkaError:
    """Returns the error of one item, named in its message."""
    return named_error(code, str(item), message)


def done(code: int, item: object, message: str | None = None) -> KafkaError | None:
    """Returns the result of an item that has none but its success."""
    return item_error(code, item, message) if code else None


def check(code: int, item: object, message: str | None = None) -> None:
    """Raises the error that concerns a whole request."""
    if code:
        raise item_error(code, item, message)


NOT_ASKED = -(2**31)
"""The bits of authorized operations that were not asked for (KIP-430)."""


def operations(bits: int) -> frozenset[Operation] | None:
    """Returns the operations that the caller may do; None where that was not asked for."""
    if bits == NOT_ASKED:
        return None
    return frozenset(each for each in Operation if each and bits >> each & 1)
