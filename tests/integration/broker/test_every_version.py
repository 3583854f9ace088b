"""Each served API answers in each version it announces, with and without content, and never with UNKNOWN_SERVER_ERROR."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from millstream.broker.registry import HANDLERS
from millstream.errors import EncodeError
from millstream.protocol.api import VERSIONS, ApiKey, request_class
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.testing.broker import Broker
from millstream.testing.raw_client import RawClient, batch_of

UNKNOWN_SERVER_ERROR = -1
EVERY = [(key, version) for key, handler in HANDLERS.items() for version in handler.api.versions]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=True, settings={"group.min.session.timeout.ms": "100"}) as running:
        with RawClient(running.bootstrap_servers) as client:
            client.create_topic("known")
            client.produce("known", batch_of(b"x"))
        yield running


def error_codes(value: Any) -> Iterator[int]:
    """Every error code anywhere in a message."""
    if isinstance(value, list):
        for item in value:
            yield from error_codes(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            content = getattr(value, field.name)
            if field.name == "error_code":
                yield content
            yield from error_codes(content)


WORDS = {
    "name": "known", "topic": "known", "key": "group", "group_id": "group", "topic_names": ["known"],
    "groups_names": ["group"], "client_software_name": "test", "client_software_version": "1",
    "coordinator_keys": ["group"], "resource_name": "known", "resource_type": 2, "timeout_ms": 1000, "acks": 1,
    "session_timeout_ms": 1000, "rebalance_timeout_ms": 100, "protocol_type": "consumer", "num_partitions": 1,
    "replication_factor": 1, "replica_id": -1, "max_wait_ms": 1,
}  # fmt: skip


def filled(kind: type, version: int) -> Any:
    """A request with one item in every list of structs, naming what exists, as far as `version` has the fields."""
    message = with_items(kind)
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


def with_items(kind: type) -> Any:
    message = kind()
    hints = typing.get_type_hints(kind, vars(import_module(kind.__module__)))
    for field in dataclasses.fields(message):
        if field.name in WORDS:
            setattr(message, field.name, WORDS[field.name])
            continue
        for inner in typing.get_args(hints[field.name]):
            is_struct = isinstance(inner, type) and dataclasses.is_dataclass(inner)
            if is_struct and "list" in str(hints[field.name]):
                setattr(message, field.name, [with_items(inner)])
    return message


def test_what_is_served_is_what_kafka_4_3_serves() -> None:
    for key, handler in HANDLERS.items():
        assert (handler.api.lowest, handler.api.highest) == VERSIONS[key][:2], key.name


@pytest.mark.parametrize(("key", "version"), EVERY, ids=[f"{key.name}-{v}" for key, v in EVERY])
@pytest.mark.parametrize("content", ["empty", "filled"])
def test_every_version_is_answered(broker: Broker, key: ApiKey, version: int, content: str) -> None:
    kind = request_class(key)
    with RawClient(broker.bootstrap_servers) as client:
        request = kind() if content == "empty" else filled(kind, version)
        if key is ApiKey.INIT_PRODUCER_ID:
            request.transactional_id = None
        if key is ApiKey.PRODUCE:
            request.acks = 1
        answer = client.ask(key, version, request)
    assert UNKNOWN_SERVER_ERROR not in set(error_codes(answer)), answer
