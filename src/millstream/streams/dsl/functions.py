"""Checks on user functions while a topology is built."""

from __future__ import annotations

import inspect

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
