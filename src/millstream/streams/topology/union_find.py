"""Disjoint sets of names: which nodes must run in one task."""

from __future__ import annotations


class UnionFind:
    """Names united pair by pair; `root` is equal for names of one set."""

    __slots__ = ("_parent",)

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def add(self, name: str) -> None:
        self._parent.setdefault(name, name)

    def root(self, name: str) -> str:
        parent = self._parent
        at = name
        while parent[at] != at:
            at = parent[at]
        while parent[name] != at:
            parent[name], name = at, parent[name]
        return at

    def unite(self, one: str, other: str) -> None:
        self._parent[self.root(other)] = self.root(one)
