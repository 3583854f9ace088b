"""Hosts are found by the inputs of their tasks, as the coordinator tells them."""

from __future__ import annotations

import pytest

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.protocol.generated import streams_group_heartbeat as wire
from millstream.streams import Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.application.group.known_hosts import (
    NO_HOSTS,
    HostPartitions,
    KnownHosts,
    known_hosts,
)
from millstream.streams.application.interactive.hosts_of_stores import (
    NOT_AVAILABLE,
    HostsOfStores,
)
from millstream.streams.errors import InvalidStoreError, SerializationError, UnknownStore
from millstream.streams.host_info import HostInfo
from millstream.streams.queries.metadata import KeyQueryMetadata, StreamsMetadata
from millstream.streams.serdes import long, string

ONE, TWO = HostInfo("one", 1), HostInfo("two", 2)
REPARTITION = "app-by-value-repartition"


def of_app(default_key=None, own=None) -> HostsOfStores:
    builder = StreamsBuilder()
    builder.global_table("everywhere", key=string(), value=string(), materialized=Materialized("g"))
    grouped = builder.stream("in").group_by(
        lambda _, value: value, key=string(), value=string(), name="by-value"
    )
    grouped.count(materialized=Materialized("counts"))
    builder.table("plain", materialized=Materialized("rows"))
    return HostsOfStores(builder.build(), "app", default_key, own)


KNOWN = KnownHosts(
    4,
    (
        HostPartitions(ONE, frozenset({TopicPartition("in", 0), TopicPartition(REPARTITION, 1)})),
        HostPartitions(
            TWO,
            frozenset({TopicPartition("in", 1), TopicPartition("plain", 0)}),
            frozenset({TopicPartition(REPARTITION, 1)}),
        ),
    ),
)


def test_members_of_one_address_are_one_host() -> None:
    def told(host: str, port: int, *partitions: int) -> wire.EndpointToPartitions:
        return wire.EndpointToPartitions(
            user_endpoint=wire.Endpoint(host, port),
            active_partitions=[wire.TopicPartition("in", list(partitions))],
            standby_partitions=[wire.TopicPartition("in", [9])],
        )

    known = known_hosts(3, [told("two", 2, 0), told("one", 1, 1), told("two", 2, 2, 3)])
    assert known == KnownHosts(
        3,
        (
            HostPartitions(
                ONE, frozenset({TopicPartition("in", 1)}), frozenset({TopicPartition("in", 9)})
            ),
            HostPartitions(
                TWO,
                frozenset(TopicPartition("in", each) for each in (0, 2, 3)),
                frozenset({TopicPartition("in", 9)}),
            ),
        ),
    )


def test_a_host_has_the_stores_of_the_tasks_whose_inputs_it_reads() -> None:
    first, second = of_app().metadata(KNOWN)
    assert first == StreamsMetadata(ONE, frozenset({"counts", "g"}), KNOWN.hosts[0].active)
    assert second == StreamsMetadata(
        TWO,
        frozenset({"rows", "g"}),
        KNOWN.hosts[1].active,
        frozenset({"counts"}),
        frozenset({TopicPartition(REPARTITION, 1)}),
    )
    assert [each.host for each in of_app().metadata_of_store("rows", KNOWN)] == [TWO]
    assert [each.host for each in of_app().metadata_of_store("g", KNOWN)] == [ONE, TWO]
    with pytest.raises(UnknownStore, match=r"no store x; there are \['counts', 'g', 'rows'\]"):
        of_app().metadata_of_store("x", KNOWN)


def test_a_partition_is_where_its_task_is() -> None:
    hosts = of_app()
    assert hosts.metadata_of_partition("counts", 1, KNOWN) == KeyQueryMetadata(
        1, ONE, frozenset({TWO})
    )
    assert hosts.metadata_of_partition("counts", 0, KNOWN) == KeyQueryMetadata(0, None)
    assert hosts.metadata_of_partition("counts", 1, NO_HOSTS) is NOT_AVAILABLE


def test_topics_that_patterns_match_are_known_by_the_hosts_that_read_them() -> None:
    builder = StreamsBuilder()
    builder.stream("of-all").to("out")
    counted = builder.stream(pattern="in-.*", key=string()).group_by_key()
    counted.count(materialized=Materialized("counts"))
    builder.global_table("everywhere", key=string(), value=string(), materialized=Materialized("g"))
    hosts = HostsOfStores(builder.build(), "app", None, None)
    read = frozenset({TopicPartition("in-1", 0), TopicPartition("in-2", 0)})
    more = frozenset({TopicPartition("in-2", 1), TopicPartition("of-all", 1)})
    known = KnownHosts(1, (HostPartitions(ONE, read), HostPartitions(TWO, more)))
    assert hosts.sources_of("counts", known) == {"in-1", "in-2"}
    assert hosts.sources_of("counts", NO_HOSTS) == frozenset()
    assert hosts.sources_of("g", known) is None
    assert [each.state_store_names for each in hosts.metadata(known)] == [{"counts", "g"}] * 2
    assert hosts.metadata_of_partition("counts", 1, known) == KeyQueryMetadata(1, TWO)
    assert hosts.metadata_of_partition("counts", 2, known) == KeyQueryMetadata(2, None)


def test_a_global_store_is_asked_here_or_anywhere() -> None:
    assert of_app(own=TWO).metadata_of_partition("g", -1, KNOWN) == KeyQueryMetadata(-1, TWO)
    assert of_app().metadata_of_partition("g", -1, KNOWN) == KeyQueryMetadata(-1, ONE)


def test_the_partition_of_a_key_is_that_of_kafkas_partitioner_unless_another_is_given() -> None:
    hosts = of_app()
    assert hosts.partition_of("counts", "foobar", 4) == 2  # a vector of Kafka's own test of murmur2
    assert hosts.partition_of("counts", 3, 4, long()) == partition_for_key(bytes([0] * 7 + [3]), 4)
    assert hosts.partition_of("counts", "w3", 4, partitioner=lambda key, count: count - 1) == 3
    with pytest.raises(SerializationError, match="store counts cannot be asked for key int"):
        hosts.partition_of("counts", 3, 4)
    with pytest.raises(InvalidStoreError, match="store rows has no serde of keys"):
        hosts.partition_of("rows", "a", 4)
    assert of_app(string()).partition_of("rows", "foobar", 4) == 2


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("one:1", ONE),
        ("[::1]:8080", HostInfo("::1", 8080)),
        ("10.0.0.1:80", HostInfo("10.0.0.1", 80)),
    ],
)
def test_an_address_is_host_and_port(text: str, host: HostInfo) -> None:
    assert HostInfo.parsed(text) == host
    assert str(host) == text
    assert StreamsConfig("a", application_server=text).as_settings()["application.server"] == text


@pytest.mark.parametrize("text", ["one", "one:", ":1", "one:x", "one:0", "one:65536", "::1:80"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="application_server must be host:port"):
        StreamsConfig("a", application_server=text)
