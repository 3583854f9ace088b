"""Replaces the parts of the `cython` module that the leaves use, for installations that do not have it.

Only a build needs Cython. Where it is absent the leaves run interpreted, and there these names mean nothing. Their
annotations (`cython.longlong`) are never evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

Decorated = TypeVar("Decorated")

compiled: Final = False


def cclass(decorated: Decorated) -> Decorated:
    return decorated


cfunc = inline = cclass


def freelist(size: int) -> Callable[[Decorated], Decorated]:
    """Returns a decorator that sets how many objects of a class are kept to be used again."""
    assert size > 0, "a list of nothing helps nobody"
    return cclass


def declare(c_type: object = None, *, visibility: str = "private") -> None:
    """Declares the type of an attribute, and whether Python sees it."""


longlong: Final = int


class _NoGil:
    """`nogil` as a decorator and as a block: interpreted code never gives up the lock."""

    def __call__(self, decorated: Decorated) -> Decorated:
        return decorated

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass


nogil: Final = _NoGil()


def exceptval(*, check: bool) -> Callable[[Decorated], Decorated]:
    """Returns a decorator that sets whether C callers look for an exception after the call."""
    assert not check, "only used to say that a function raises nothing"
    return cclass
