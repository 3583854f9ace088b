"""Checks on functions, suppliers and patterns of the user, made while a topology is built."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from datetime import timedelta

from millstream.streams.options import OffsetReset
from millstream.streams.topology.operators import UserFunction
from millstream.streams.vectorised import Vectorised


def check_arity(
    operator: str,
    argument: str,
    function: object,
    *parameters: str,
    takes_columns: bool = False,
) -> None:
    """Raise TypeError now, naming the operator, if the function cannot take these parameters.

    Functions whose signature cannot be read (some built-in ones) pass. `takes_columns`: it may be a vectorised one.
    """
    if not callable(function):
        raise TypeError(f"{operator}: {argument} must be callable, not {function!r}")
    if isinstance(function, Vectorised) and not takes_columns:
        raise TypeError(
            f"{operator}: {argument} {function.name} is vectorised, but this operator calls it for each record: "
            "give a plain function"
        )
    try:
        signature = inspect.signature(function)
    except ValueError:
        return
    try:
        signature.bind(*parameters)
    except TypeError as mismatch:
        raise TypeError(
            f"{operator}: {argument} is called with ({', '.join(parameters)}) "
            f"but takes {signature}: {mismatch}"
        ) from None


def check_supplier(node: str, supplier: Callable[[], object], *methods: str) -> None:
    """Raise TypeError or ValueError, naming the node, unless the supplier makes a new object with each call.

    Two tasks that share one processor would share its state, so Kafka Streams asks every supplier twice, too.
    """
    check_arity(node, "supplier", supplier)
    first, second = supplier(), supplier()
    if first is second:
        raise ValueError(
            f"{node}: the supplier must return a new object each time it is called, "
            f"but returned {first!r} twice: give the class itself, or a function that makes one"
        )
    for method in methods:
        if not callable(getattr(first, method, None)):
            raise TypeError(
                f"{node}: what the supplier makes, {first!r}, has no method {method}: add one"
            )


def check_partitioner(node: str, partitioner: UserFunction | None) -> None:
    """Raise TypeError, naming the node, unless this is a partitioner or nothing."""
    if partitioner is not None:
        check_arity(node, "partitioner", partitioner, "topic", "key", "value", "partitions")


def check_reading(
    node: str, timestamps: object, reset: OffsetReset | timedelta | None = None
) -> None:
    """Raise TypeError or ValueError, naming the node, unless a source can read its topics like this."""
    if timestamps is not None:
        check_arity(node, "timestamps", timestamps, "record", "partition_time")
    if not isinstance(reset, OffsetReset | timedelta | None):
        raise TypeError(f"{node}: reset is an OffsetReset or a timedelta, not {reset!r}")
    if isinstance(reset, timedelta) and reset < timedelta(0):
        raise ValueError(f"{node}: reset goes back by a duration, which is not negative: {reset}")


def check_kind(what: str, other: object, kind: type) -> None:
    """Raise TypeError unless the other one is of this kind."""
    if not isinstance(other, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {type(other).__name__}")


def names_of_stores(operator: str, stores: Iterable[str]) -> tuple[str, ...]:
    """The names; TypeError for a single str, which is also iterable."""
    if isinstance(stores, str):
        raise TypeError(f"{operator}: stores are names of stores, not one str: write [{stores!r}]")
    return tuple(stores)


def check_pattern(node: str, pattern: str | re.Pattern[str]) -> str:
    """The text of a pattern; ValueError naming the node if it is no regular expression."""
    if isinstance(pattern, re.Pattern):
        return pattern.pattern
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{node}: {pattern!r} is no regular expression: {error}") from None
    return pattern
