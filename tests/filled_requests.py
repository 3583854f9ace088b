"""Requests of every API with content, made from the message classes, and what their answers say went wrong."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from millstream.errors import EncodeError
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.message_values import MessageValue

WORDS = {
    "name": "known", "topic": "known", "topic_names": ["known"],
    "client_software_name": "test", "client_software_version": "1",
    "resource_name": "known", "resource_type": 2, "timeout_ms": 1000, "acks": 1,
    "session_timeout_ms": 6000, "rebalance_timeout_ms": 100, "protocol_type": "consumer", "num_partitions": 1,
    "replication_factor": 1, "replica_id": -1, "max_wait_ms": 1,
}  # fmt: skip


def filled_request(kind: type[Any], version: int, group: str) -> Any:
    """A request with one item in every list of structs, naming a topic that exists and a group that does not.

    As far as `version` has the fields.
    """
    names = dict.fromkeys(("key", "group_id"), group)
    lists = {
        key: [group]
        for key in ("groups_names", "group_ids", "coordinator_keys", "transactional_ids")
    }
    message = with_items(kind, {**WORDS, **names, **lists})
    if isinstance(message, ApiVersionsRequest) and version < 3:
        return ApiVersionsRequest()
    default = kind()
    for _ in range(20):
        try:
            message.encode(bytearray(), version)
        except EncodeError as error:
            refused = re.search(r"field (\w+)", str(error))
            assert refused is not None, error  # noqa: PT017 - the error names the field to leave out
            setattr(message, refused[1], getattr(default, refused[1]))
    return message


def with_items(kind: type[Any], words: Mapping[str, Any]) -> Any:
    """One item in every list: a struct of its own, partition 0, or what `words` has for it."""
    message = kind()
    hints = typing.get_type_hints(kind, vars(import_module(kind.__module__)))
    for name in kind.field_names():
        if name in words:
            setattr(message, name, words[name])
            continue
        for hint in (hints[name], *typing.get_args(hints[name])):
            if typing.get_origin(hint) is list:
                (inner,) = typing.get_args(hint)
                if isinstance(inner, type) and issubclass(inner, MessageValue):
                    setattr(message, name, [with_items(inner, words)])
                elif inner is int and name.startswith("partition"):
                    setattr(message, name, [0])
                elif inner is str and name == "groups":
                    setattr(message, name, words["group_ids"])
    return message


def error_codes(value: Any) -> Iterator[int]:
    """Every error code anywhere in a message."""
    if isinstance(value, list):
        for item in value:
            yield from error_codes(item)
    elif isinstance(value, MessageValue):
        for name in value.field_names():
            content = getattr(value, name)
            if name in {"error_code", "partition_error_code"}:
                yield content
            yield from error_codes(content)
