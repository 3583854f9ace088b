"""Checks on functions, suppliers and patterns of the user, made while a topology is built."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from datetime import timedelta

from millstream.streams.arguments import check_kind
from millstream.streams.options import OffsetReset
from millstream.streams.topology.operators import UserFunction
from millstream.streams.topology.stores import StoreSpec
from millstream.streams.vectorised import Vectorised


def add_one(_key: object, _value: object, count: int) -> int:
    """The aggregator of counts: what folds records may count them without calling it."""
    return count + 1


def check_arity(
    operator: str,
    argument: str,
    function: object,
    *parameters: str,
    takes_columns: bool = False,
    gives_rows: bool = False,
) -> None:
    """Raise TypeError now, naming the operator, if the function cannot take these parameters, or
    would not run when called.

    Functions whose signature cannot be read (some built-in ones) pass. `takes_columns`: it may be a vectorised one.
    `gives_rows`: it may be a generator.
    """
    if not callable(function):
        raise TypeError(f"{operator}: {argument} must be callable, not {function!r}")
    runs = (function, type(function).__call__)
    if any(map(inspect.iscoroutinefunction, runs)):
        raise TypeError(
            f"{operator}: {argument} is async, but operators call functions and wait for nothing: "
            f"give a plain function, not {function!r}"
        )
    if any(map(inspect.isgeneratorfunction, runs)) and not gives_rows:
        raise TypeError(
            f"{operator}: {argument} is a generator, which only flat_map and flat_map_values iterate over: "
            f"return a value, or use these, with {function!r}"
        )
    if isinstance(function, Vectorised) and not takes_columns:
        raise TypeError(
            f"{operator}: {argument} {function.name} is vectorised, but this operator calls it for each record: "
            "give a plain function"
        )
    _check_parameters(operator, argument, function, *parameters)


def check_async(operator: str, argument: str, function: object, *parameters: str) -> None:
    """Raise TypeError now, naming the operator, unless this is an async function that can take these parameters."""
    if not callable(function) or not any(
        map(inspect.iscoroutinefunction, (function, type(function).__call__))
    ):
        raise TypeError(
            f"{operator}: {argument} must be an async function, which is awaited for each record, not {function!r}"
        )
    _check_parameters(operator, argument, function, *parameters)


def _check_parameters(
    operator: str, argument: str, function: Callable[..., object], *parameters: str
) -> None:
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


def check_supplier(
    node: str, supplier: Callable[[], object], method: str, *parameters: str
) -> None:
    """Raise TypeError or ValueError, naming the node, unless each call of the supplier
    makes a new object with the method.

    Two tasks that share one processor would share its state, so Kafka Streams asks every supplier twice, too.
    """
    check_arity(node, "supplier", supplier)
    first, second = supplier(), supplier()
    if first is second:
        raise ValueError(
            f"{node}: the supplier must return a new object each time it is called, "
            f"but returned {first!r} twice: give the class itself, or a function that makes one"
        )
    if not callable(getattr(first, method, None)):
        raise TypeError(
            f"{node}: what the supplier makes, {first!r}, has no method {method}: add one"
        )
    check_arity(node, f"{method} of {first!r}", getattr(first, method), *parameters)
    for optional, given in (("init", ("context",)), ("close", ())):
        if hasattr(first, optional):
            check_arity(node, f"{optional} of {first!r}", getattr(first, optional), *given)


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


def names_of_stores(operator: str, stores: Iterable[str]) -> tuple[str, ...]:
    """Returns the names; TypeError for a single str, which is also iterable, and for what is no name."""
    if isinstance(stores, str):
        raise TypeError(f"{operator}: stores are names of stores, not one str: write [{stores!r}]")
    check_kind(f"{operator}: stores", stores, Iterable)
    names = tuple(stores)
    for name in names:
        check_kind(f"{operator}: the name of a store", name, str)
    return names


def stores_of(node: str, supplier: object) -> tuple[StoreSpec, ...]:
    """Returns the stores that a supplier brings in its attribute `stores`. Raises TypeError for anything else there."""
    given = getattr(supplier, "stores", ())
    check_kind(f"{node}: the attribute stores of the supplier", given, Iterable)
    stores = tuple(given)
    for store in stores:
        if not isinstance(store, StoreSpec):
            raise TypeError(
                f"{node}: the attribute stores of the supplier has StoreSpec objects, not {store!r}: "
                "names of stores that were added go to the argument stores="
            )
    return stores


def check_pattern(node: str, pattern: str | re.Pattern[str]) -> str:
    """Returns the text of a pattern; ValueError naming the node if it is no regular expression."""
    given = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    check_kind(f"{node}: the pattern", given, str)
    try:
        re.compile(given)
    except re.error as error:
        raise ValueError(f"{node}: {given!r} is no regular expression: {error}") from None
    return given
