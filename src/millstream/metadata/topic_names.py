"""The rules for names of topics: which are valid, which collide in metrics, and which topics are Kafka's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from millstream.errors import InvalidTopic

NAME_LENGTH_MAX: Final = 249
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"
INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Checks the name of a topic. Raises InvalidTopic, which says what is wrong with it."""
    if not name:
        problem = "the empty string is not allowed"
    elif name in {".", ".."}:
        problem = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        problem = f"'{name}' is longer than {NAME_LENGTH_MAX} characters"
    elif not _LEGAL.fullmatch(name):
        problem = f"'{name}' may only hold ASCII letters and digits, '.', '_' and '-'"
    else:
        return
    raise InvalidTopic(f"Topic name is invalid: {problem}")


def is_legal_topic_name(name: str) -> bool:
    try:
        check_topic_name(name)
    except InvalidTopic:
        return False
    return True


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def colliding_name(name: str, existing: Iterable[str]) -> str | None:
    """Returns a topic whose metrics would carry the same name: `.` and `_` are one character there."""
    if "." not in name and "_" not in name:
        return None
    wanted = name.replace(".", "_")
    return next(
        (other for other in existing if other != name and other.replace(".", "_") == wanted), None
    )
