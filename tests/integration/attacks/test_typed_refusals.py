"""Every text of a request as long as the protocol allows: what no record and no answer can hold is refused with an error that says
so, and nothing fails with a traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.errors import InvalidConfig
from millstream.protocol.api import ApiKey, request_class
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.json_form import struct_class
from millstream.protocol.schema import Field, Struct
from tests.patience import wait_until
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import request_frame

LONGEST: Final = "x" * 32_767
APPEND: Final = 2
TRIED: Final = [
    key for key in BROKER_HANDLERS if key is not ApiKey.UNREGISTER_BROKER
]  # it would be obeyed


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path_factory.mktemp("refusals")) as node:
        with node.client() as client:
            client.create_topic("t")
            for kind, key in ((0, "g"), (1, "t")):
                request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
                wait_until(
                    lambda request=request: (  # type: ignore[misc]  # it cannot be inferred
                        client.ask(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0].error_code
                        == 0
                    )
                )
        yield node


@pytest.mark.parametrize("number", [0, 1, -1], ids=lambda number: f"numbers are {number}")
@pytest.mark.parametrize("key", TRIED, ids=lambda key: key.name)
def test_the_longest_texts_are_answered_without_a_traceback(
    node: AttackedNode, key: ApiKey, number: int
) -> None:
    kind, versions = request_class(key), BROKER_HANDLERS[key].api.versions
    before = len(node.log)
    for version in {versions.start, versions.stop - 1}:
        message = _message(kind, schema_of(kind).root, version, number)
        with node.client() as client:
            client.send(request_frame(key, version, message))
            try:
                client.read_frame()
            except ConnectionError:
                continue  # the frame is nothing that this API answers
        assert "Traceback" not in node.log[before:], node.log[-3_000:]


def test_a_list_that_outgrows_a_record_is_refused_as_kafka_refuses_it(node: AttackedNode) -> None:
    def append(first: int, topic: str) -> AlterConfigsResource:
        replicas = ",".join(f"{number}:1" for number in range(first, first + 4_000))
        config = AlterableConfig(
            "follower.replication.throttled.replicas", config_operation=APPEND, value=replicas
        )
        return AlterConfigsResource(ConfigResourceType.TOPIC, topic, [config])

    with node.attack(), node.client() as client:
        answers = [
            client.ask(
                ApiKey.INCREMENTAL_ALTER_CONFIGS,
                1,
                IncrementalAlterConfigsRequest(resources=[append(first, "t")]),
            ).responses[0]
            for first in (0, 4_000)
        ]
    assert [answer.error_code for answer in answers] == [0, InvalidConfig.code]
    assert "exceeds the maximum value size of 32767 bytes" in answers[1].error_message


def _message(kind: type, layout: Struct, version: int, number: int) -> Any:
    return kind(
        **{
            each.attribute: _value(kind, each, version, number)
            for each in layout.fields
            if version in each.versions and each.tag is None
        }
    )


def _value(kind: type, each: Field, version: int, number: int) -> Any:
    element = _element(kind, each, version, number)
    return [element] if each.is_array else element


def _element(kind: type, each: Field, version: int, number: int) -> Any:
    if each.struct is not None:
        return _message(struct_class(kind, each.attribute), each.struct, version, number)
    match each.type:
        case "string":
            return LONGEST
        case "uuid":
            return b"u" * 16
        case "bytes":
            return b"b" * 100
        case "records":
            return b""
        case "bool":
            return False
        case "float64":
            return float(number)
        case _:
            if each.attribute in ("num_partitions", "count", "replication_factor"):
                return 1
            return max(number, 0) if each.type.startswith("u") else number
