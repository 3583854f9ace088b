"""BranchedKStream: the branches of one split, as they are added."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.dsl.operations import stateless
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.operators import UserFunction

if TYPE_CHECKING:
    from millstream.streams.dsl.stream import KStream

K = TypeVar("K")
V = TypeVar("V")


@explain_misspellings
class BranchedKStream(Generic[K, V]):
    """The branches of one split. A record goes to the first branch whose predicate holds.

    Each branch is found in the result under its full name: the split's name, then the branch's name or its
    number (1, 2, …; 0 for the default branch).
    """

    def __init__(self, split: stateless.Split, kind: type[KStream[K, V]]) -> None:
        self._split = split
        self._kind = kind
        self._streams: dict[str, KStream[K, V]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._split.name}>"

    def branch(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch. `then` is given its stream; what it returns is found in the result, None is not."""
        check_arity("branch", "predicate", predicate, "key", "value")
        number = len(self._split.branches) + 1
        self._add(predicate, str(number) if name is None else name, then)
        return self

    def default_branch(
        self,
        *,
        name: str | None = None,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """End the split with a branch for all other records."""
        self._add(None, "0" if name is None else name, then)
        return self._streams

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """End the split; records that match no branch are dropped."""
        return self._streams

    def _add(
        self,
        predicate: UserFunction | None,
        suffix: str,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None,
    ) -> None:
        branch: KStream[K, V] = self._kind(self._split.add(predicate, suffix))
        result: KStream[K, V] | None = branch
        if then is not None:
            check_arity("branch", f"then of {branch.name}", then, "stream")
            result = then(branch)
            if not isinstance(result, self._kind | None):
                raise TypeError(
                    f"branch: then of {branch.name} must return a KStream or None, not {result!r}"
                )
        if result is not None:
            self._streams[branch.name] = result
