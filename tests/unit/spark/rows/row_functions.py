"""Functions that options of the tests name."""

from __future__ import annotations

from typing import Any


def words(
    _key: bytes | None, value: bytes | None, topic: str, *place: Any
) -> list[dict[str, Any]] | None:
    """A row for each word, none for a tombstone; a number is no word."""
    if value is None:
        return None
    found = value.decode().split()
    if any(word.isdigit() for word in found):
        raise LookupError("a number is no word")
    return [{"word": word, "place": f"{topic}-{place[0]}-{place[1]}"} for word in found]


def whole(*record: Any) -> tuple[str]:
    return (repr(record),)


NUMBER = 7


def topic_of(row: dict[str, Any]) -> str | None:
    """Rows that begin with a point have no topic."""
    value: str = row["value"]
    if value == "!":
        raise LookupError("no topic for this")
    return None if value.startswith(".") else f"{row['topic']}-{value[0]}"


def last_partition(_key: Any, _value: Any, partition_count: int) -> int:
    return partition_count - 1


def no_partition(_key: Any, value: Any, partition_count: int) -> Any:
    return {"far": partition_count, "text": "0"}.get(value, 0)
