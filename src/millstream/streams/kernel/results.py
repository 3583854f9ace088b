"""What functions of the user return where a mapper must return pairs or something to iterate over.

Hardly anything is looked at while all is well: operators unpack what they are given, and ask here when that fails. Text of
two characters can be unpacked like a pair; of a batch of results the first is asked for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LOOKALIKES: Final = (str, bytes, dict, set, frozenset)


def check_no_lookalike(result: object) -> None:
    """Raise TypeError for what can be unpacked if it has two items, although nobody means a pair by it."""
    if isinstance(result, _LOOKALIKES):
        raise TypeError(f"the mapper must return a pair (key, value), not {result!r}")


def no_pair(results: Iterable[object], error: Exception) -> Exception:
    """The error to raise where results could not be unpacked: one that shows the first that is no pair."""
    for result in results:
        if not _is_pair(result):
            return TypeError(f"the mapper must return a pair (key, value), not {result!r}")
    return error


def not_several(result: object, error: Exception, *, pairs: bool) -> Exception:
    """The error to raise where a result could not be gone through; that of the user's own iterator is left alone."""
    what = "pairs (key, value)" if pairs else "values"
    if not isinstance(result, Iterable):
        return TypeError(f"the mapper must return an iterable of {what}, not {result!r}")
    if pairs and isinstance(result, list | tuple):
        wrong = [each for each in result if not _is_pair(each)]
        if wrong:
            return TypeError(
                f"the mapper must return an iterable of {what}, not one of {wrong[0]!r}"
            )
    return error


def _is_pair(result: object) -> bool:
    return isinstance(result, tuple | list) and len(result) == 2
