"""Reads and changes addresses of brokers, partitions and error codes inside messages, for the fault proxy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.metadata import MetadataResponse
from millstream.testing.faults.plan import Rule

TopicNames = Mapping[object, str]
"""By topic id, for versions that carry no names."""


class AdvertisedAddress(Protocol):
    """An address of a broker in an answer to a client."""

    host: str
    port: int


_ENDPOINT_LISTS: Final[Mapping[ApiKey, str]] = {
    ApiKey.METADATA: "brokers",
    ApiKey.DESCRIBE_CLUSTER: "brokers",
    ApiKey.FIND_COORDINATOR: "coordinators",
    ApiKey.PRODUCE: "node_endpoints",
    ApiKey.FETCH: "node_endpoints",
    ApiKey.SHARE_FETCH: "node_endpoints",
    ApiKey.SHARE_ACKNOWLEDGE: "node_endpoints",
}
TELLS_ENDPOINTS: Final = frozenset(_ENDPOINT_LISTS)

_PARTITION_FIELDS: Final = ("partition_index", "index", "partition")
_TOPIC_FIELDS: Final = ("name", "topic")


def endpoints(key: ApiKey, response: Message) -> list[AdvertisedAddress]:
    """Returns all addresses in an answer, to be changed in place."""
    answer: Any = response  # Any: the generated class of `key`; no type joins a key to its classes
    found: list[AdvertisedAddress] = list(getattr(answer, _ENDPOINT_LISTS[key]))
    if key is ApiKey.FIND_COORDINATOR:
        found.append(answer)  # before version 4 there is one, in the answer itself
    return [endpoint for endpoint in found if endpoint.host]


def node_ids(response: MetadataResponse) -> dict[tuple[str, int], int]:
    """Returns the ids of the nodes, by address."""
    return {(broker.host, broker.port): broker.node_id for broker in response.brokers}


def topic_names(response: MetadataResponse) -> dict[object, str]:
    return {topic.topic_id: topic.name for topic in response.topics if topic.name is not None}


def partitions_of(message: Message, names: TopicNames) -> frozenset[TopicPartition]:
    return frozenset(partition for partition, _ in _walk(message, None, names))


def refuse_partitions(response: Message, rule: Rule, error_code: int, names: TopicNames) -> None:
    """Puts the error code into the partitions of `response` that `rule` covers."""
    for partition, item in _walk(response, None, names):
        if rule.covers(partition) and hasattr(item, "error_code"):
            item.error_code = error_code


def _walk(
    node: Any,  # Any: any generated class
    topic: str | None,
    names: TopicNames,
) -> Iterator[tuple[TopicPartition, Any]]:  # Any: see above
    """All items of partitions below `node`, whatever the message calls them."""
    topic = _topic_of(node, names) or topic
    index = next((getattr(node, n) for n in _PARTITION_FIELDS if hasattr(node, n)), None)
    if topic is not None and isinstance(index, int):
        yield TopicPartition(topic, index), node
        return
    for name in node.__slots__:
        value = getattr(node, name)
        if not isinstance(value, list):
            continue
        for item in value:
            if hasattr(item, "__slots__"):
                yield from _walk(item, topic, names)
            elif topic is not None and isinstance(item, int) and name.startswith("partition"):
                yield TopicPartition(topic, item), node


def _topic_of(node: Any, names: TopicNames) -> str | None:  # Any: any generated class
    for name in _TOPIC_FIELDS:
        value = getattr(node, name, None)
        if isinstance(value, str) and value:
            return value
    return names.get(getattr(node, "topic_id", None))
