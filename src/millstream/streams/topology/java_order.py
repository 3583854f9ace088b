"""The orders of Java's HashMap and TreeSet, which show in `describe()`.

Kafka Streams prints nodes and children in the order of such collections while their sort keys still change.
Text that is equal byte for byte needs the same orders: hash order for walking the nodes of a group, and the
insertion path of a red-black tree for children whose size grows after they were put in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def _spread_hash(text: str) -> int:
    value = 0
    for unit in text.encode("utf-16-be")[1::2] if text.isascii() else map(ord, text):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value ^ (value >> 16)


def hash_order(texts: Iterable[str], capacity: int = 16) -> list[str]:
    """Returns the texts as a java.util.HashSet of this initial capacity lists them after they were added in turn."""
    items = list(dict.fromkeys(texts))
    while len(items) > capacity * 0.75:
        capacity *= 2
    return sorted(items, key=lambda text: _spread_hash(text) & (capacity - 1))


def hash_order_of_bytes(keys: Iterable[bytes]) -> list[bytes]:
    """Returns the keys as a java.util.HashSet of Kafka's Bytes lists them after they were added in turn."""
    items = list(dict.fromkeys(keys))
    capacity = 16
    while len(items) > capacity * 0.75:
        capacity *= 2
    return sorted(items, key=lambda key: _spread_hash_of_bytes(key) & (capacity - 1))


def _spread_hash_of_bytes(key: bytes) -> int:
    value = 1
    for byte in key:
        value = (value * 31 + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return value ^ (value >> 16)


def copy_order(texts: Iterable[str]) -> list[str]:
    """Returns the order of `new HashSet<>(collection)`, whose capacity follows the size."""
    items = list(dict.fromkeys(texts))
    needed = max(int(len(items) / 0.75) + 1, 16)
    capacity = 16
    while capacity < needed:
        capacity *= 2
    return hash_order(items, capacity)


class _Entry(Generic[T]):
    __slots__ = ("item", "left", "parent", "red", "right")

    def __init__(self, item: T, parent: _Entry[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.left: _Entry[T] | None = None
        self.right: _Entry[T] | None = None
        self.red = True


class TreeSet(Generic[T]):
    """java.util.TreeSet without removal: where an item goes depends on comparisons made when it is added."""

    def __init__(self, compare: Callable[[T, T], int]) -> None:
        self._compare = compare
        self._root: _Entry[T] | None = None

    def add(self, item: T) -> None:
        at, parent = self._root, None
        went_left = False
        while at is not None:
            order = self._compare(item, at.item)
            if order == 0:
                return
            parent, went_left = at, order < 0
            at = at.left if went_left else at.right
        entry = _Entry(item, parent)
        if parent is None:
            self._root = entry
        elif went_left:
            parent.left = entry
        else:
            parent.right = entry
        self._rebalance(entry)

    def __iter__(self) -> Iterator[T]:
        stack: list[_Entry[T]] = []
        at = self._root
        while stack or at is not None:
            while at is not None:
                stack.append(at)
                at = at.left
            at = stack.pop()
            yield at.item
            at = at.right

    def _rebalance(self, entry: _Entry[T]) -> None:
        """The insertion cases of a red-black tree: recolour upwards, rotate at most twice."""
        while (parent := entry.parent) is not None and parent.red:
            grandparent = parent.parent
            assert grandparent is not None, "a red entry is never the root"
            on_left = parent is grandparent.left
            uncle = grandparent.right if on_left else grandparent.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grandparent.red = True
                entry = grandparent
                continue
            if entry is (parent.right if on_left else parent.left):
                self._rotate(parent, left=on_left)
                entry, parent = parent, entry
            parent.red, grandparent.red = False, True
            self._rotate(grandparent, left=not on_left)
        assert self._root is not None, "an entry was just added"
        self._root.red = False

    def _rotate(self, pivot: _Entry[T], *, left: bool) -> None:
        child = pivot.right if left else pivot.left
        assert child is not None, "a rotation needs the child that moves up"
        inner = child.left if left else child.right
        if left:
            pivot.right, child.left = inner, pivot
        else:
            pivot.left, child.right = inner, pivot
        if inner is not None:
            inner.parent = pivot
        child.parent = pivot.parent
        if pivot.parent is None:
            self._root = child
        elif pivot is pivot.parent.left:
            pivot.parent.left = child
        else:
            pivot.parent.right = child
        pivot.parent = child
