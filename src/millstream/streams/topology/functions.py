"""Checks on what users give to be called, made while a topology is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from millstream.streams.topology.operators import UserFunction


def check_arity(operator: str, argument: str, function: UserFunction, *parameters: str) -> None:
    """Raise TypeError now, naming the operator, if the function cannot take these parameters.

    Functions whose signature cannot be read (some built-in ones) pass.
    """
    if not callable(function):
        raise TypeError(f"{operator}: {argument} must be callable, not {function!r}")
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
