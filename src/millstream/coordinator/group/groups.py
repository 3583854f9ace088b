"""The groups of one shard by id. Owns the registry only: what a group does is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.coordinator.group.classic_group import ClassicGroup
from millstream.errors import GroupIdNotFound


class Groups:
    def __init__(self) -> None:
        self._groups: dict[str, ClassicGroup] = {}

    def __iter__(self) -> Iterator[ClassicGroup]:
        return iter(self._groups.values())

    def find(self, group_id: str) -> ClassicGroup | None:
        return self._groups.get(group_id)

    def get(self, group_id: str) -> ClassicGroup:
        """Raises GroupIdNotFound."""
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"group {group_id} not found")
        return group

    def get_or_create(self, group_id: str, timestamp_ms: int) -> ClassicGroup:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = ClassicGroup(group_id, timestamp_ms)
        return group

    def put(self, group: ClassicGroup) -> None:
        self._groups[group.group_id] = group

    def remove(self, group_id: str) -> ClassicGroup | None:
        return self._groups.pop(group_id, None)
