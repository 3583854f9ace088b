"""Client telemetry (KIP-714): who is asked for what, and which pushes are taken."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from millstream.broker.telemetry.client_telemetry import (
    ClientTelemetry,
    Push,
    TelemetryClient,
    Wanted,
)
from millstream.errors import (
    InvalidRecord,
    InvalidRequest,
    KafkaError,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from millstream.metadata.client_pattern import ClientPattern
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.enums import ConfigResourceType
from millstream.records.compression import Codec, compress

CLIENT = TelemetryClient(
    client_id="app-1",
    software_name="librdkafka",
    software_version="2.16.0",
    source_address="10.0.0.9",
    source_port=4711,
)


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def gauge(name: str, value: float) -> bytes:
    """One gauge as OpenTelemetry's MetricsData."""
    point = (
        b"\x19" + struct.pack("<q", 1_700_000_000_000_000_000) + b"\x21" + struct.pack("<d", value)
    )
    metric = field(1, name.encode()) + field(5, field(1, point))
    return field(1, field(2, field(2, metric)))


def image(**resources: dict[str, str]) -> MetadataImage:
    return MetadataImage(
        configs={
            ConfigResource(ConfigResourceType.CLIENT_METRICS, name): {
                key.replace("_", "."): value for key, value in config.items()
            }
            for name, config in resources.items()
        }
    )


def telemetry(bytes_max: int = 1_000, **resources: dict[str, str]) -> ClientTelemetry:
    made = ClientTelemetry(random.Random(3), bytes_max)
    made.follow(image(**resources))
    return made


EVERYTHING = {"metrics": "*", "interval_ms": "1000"}


class Patterns:
    """Matches here and now; `between` is what happens while the first text is matched."""

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        self.between = between

    async def matching(self, pattern: str, texts: Sequence[str], payer: str) -> frozenset[str]:
        assert payer == CLIENT.source_address
        between, self.between = self.between, lambda: None
        between()
        return frozenset(filter(ClientPattern(pattern).matches, texts))


def subscribe(
    asked: ClientTelemetry, client: TelemetryClient = CLIENT, patterns: Patterns | None = None
) -> Wanted:
    instance_id = asked.identified(ZERO_UUID)
    asyncio.run(asked.match(instance_id, client, patterns or Patterns(), 0))
    return asked.subscribe(instance_id, 0)


def push_of(wanted: Wanted, data: bytes = b"", **changed: object) -> Push:
    values: dict[str, object] = {
        "instance_id": wanted.instance_id,
        "subscription_id": wanted.subscription_id,
        "terminating": False,
        "compression_type": 0,
        "metrics": data,
        **changed,
    }
    return Push(**values)  # type: ignore[arg-type]


def refusal(asked: ClientTelemetry, push: Push, now_ms: int = 1) -> type[KafkaError]:
    with pytest.raises(KafkaError) as caught:
        asked.push(push, CLIENT, now_ms, 0)
    return type(caught.value)


def test_without_subscriptions_nothing_is_wanted_every_five_minutes() -> None:
    wanted = telemetry().subscribe(ZERO_UUID, 0)
    assert (wanted.metrics, wanted.interval_ms) == ((), 300_000)
    assert wanted.instance_id != ZERO_UUID


def test_a_client_keeps_the_id_it_was_given() -> None:
    asked = telemetry()
    first = asked.subscribe(ZERO_UUID, 0)
    assert asked.subscribe(first.instance_id, 300_000) == first


def test_matching_subscriptions_are_united_at_the_shortest_interval() -> None:
    asked = telemetry(
        one={"metrics": "a,b", "interval_ms": "5000", "match": "client_id=app-.*"},
        two={"metrics": "b,c", "interval_ms": "2000"},
        other={"metrics": "*", "interval_ms": "100", "match": "client_id=app"},
    )
    wanted = subscribe(asked)
    assert (wanted.metrics, wanted.interval_ms) == (("a", "b", "c"), 2_000)


@pytest.mark.parametrize(
    ("match", "meant"),
    [
        ("client_software_name=librdkafka,client_software_version=2\\..*", True),
        ("client_software_name=librdkafka,client_software_version=1\\..*", False),
        ("client_source_address=10\\.0\\.0\\.9,client_source_port=4711", True),
        ("client_source_port=47", False),
    ],
)
def test_every_pattern_must_match_in_full(match: str, meant: bool) -> None:
    wanted = subscribe(telemetry(one={"metrics": "*", "match": match}))
    assert wanted.metrics == (("*",) if meant else ())


def test_a_pattern_that_backtracking_engines_choke_on_is_matched_at_once() -> None:
    patient = telemetry(one={"metrics": "*", "match": "client_id=(a|aa)+"})
    client = replace(CLIENT, client_id="a" * 20_000 + "b")
    assert subscribe(patient, client).metrics == ()


def test_a_subscription_that_cannot_be_understood_is_logged_and_the_others_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A data directory of Kafka may hold what Java's engine knows and ours does not."""
    asked = telemetry(java={"metrics": "a", "match": "client_id=(?=x).*"}, plain={"metrics": "b"})
    assert asked.subscribe(ZERO_UUID, 0).metrics == ("b",)
    assert "client metrics java are not asked for" in caplog.text


def test_subscriptions_that_change_while_the_client_is_matched_are_matched_too() -> None:
    asked = telemetry(one={"metrics": "a", "match": "client_id=app.*"})
    changed = image(two={"metrics": "b", "match": "client_id=app.*"}, three={"metrics": "c"})
    assert subscribe(asked, patterns=Patterns(lambda: asked.follow(changed))).metrics == ("b", "c")


def test_what_has_not_changed_is_not_read_again(caplog: pytest.LogCaptureFixture) -> None:
    """Reading the patterns of hundreds of subscriptions would hold everybody up at each change of one."""
    java = {"metrics": "a", "match": "client_id=(?=x).*"}
    asked = telemetry(java=java)
    asked.follow(image(java=java, plain={"metrics": "b"}))
    assert caplog.text.count("client metrics java are not asked for") == 1
    assert asked.subscribe(ZERO_UUID, 0).metrics == ("b",)


def test_asking_again_before_the_interval_is_over_is_throttled() -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    with pytest.raises(ThrottlingQuotaExceeded):
        asked.subscribe(wanted.instance_id, 999)
    assert asked.subscribe(wanted.instance_id, 1_000) == wanted


def test_the_newest_push_can_be_read() -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    asked.push(push_of(wanted, gauge("a.b", 1.5)), CLIENT, 1, 77)
    asked.push(push_of(wanted, gauge("a.b", 2.5)), CLIENT, 1_001, 78)
    received = asked.received[wanted.instance_id]
    assert received.wall_ms == 78
    assert [(p.name, p.value, p.time_ms) for p in received.points()] == [
        ("a.b", 2.5, 1_700_000_000_000)
    ]


@pytest.mark.parametrize("codec", list(Codec))
def test_pushes_may_be_compressed(codec: Codec) -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    packed = bytes(compress(codec, gauge("x", 1.0)))
    asked.push(push_of(wanted, packed, compression_type=int(codec)), CLIENT, 1, 0)
    assert [p.name for p in asked.received[wanted.instance_id].points()] == ["x"]


def test_pushes_that_are_refused() -> None:
    asked = telemetry(all=EVERYTHING, bytes_max=100)
    wanted = asked.subscribe(ZERO_UUID, 0)
    assert refusal(asked, push_of(wanted, instance_id=ZERO_UUID)) is InvalidRequest
    assert refusal(asked, push_of(wanted, subscription_id=wanted.subscription_id ^ 1)) is (
        UnknownSubscriptionId
    )
    assert refusal(asked, push_of(wanted), 2) is ThrottlingQuotaExceeded
    assert refusal(asked, push_of(wanted, compression_type=9), 1_001) is UnsupportedCompressionType
    assert refusal(asked, push_of(wanted, b"x" * 101), 2_001) is TelemetryTooLarge
    assert refusal(asked, push_of(wanted, b"\xff\xff"), 3_001) is InvalidRecord


def test_a_push_that_grows_beyond_the_limit_is_refused() -> None:
    asked = telemetry(all=EVERYTHING, bytes_max=1_000)
    wanted = asked.subscribe(ZERO_UUID, 0)
    packed = bytes(compress(Codec.ZSTD, bytes(100_000)))
    assert len(packed) < 1_000
    push = push_of(wanted, packed, compression_type=int(Codec.ZSTD))
    assert refusal(asked, push) is InvalidRecord


def test_changed_subscriptions_are_asked_for_again_at_once() -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    asked.follow(image(all={"metrics": "a"}))
    assert refusal(asked, push_of(wanted)) is UnknownSubscriptionId
    again = asked.subscribe(wanted.instance_id, 2)
    assert again.instance_id == wanted.instance_id
    assert again.metrics == ("a",)


def test_the_last_push_may_come_early_and_nothing_may_follow_it() -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    asked.push(push_of(wanted, gauge("a", 1)), CLIENT, 1, 0)
    asked.push(push_of(wanted, gauge("a", 2), terminating=True), CLIENT, 2, 0)
    assert refusal(asked, push_of(wanted), 5_000) is InvalidRequest


def test_clients_do_not_make_each_other_forgotten() -> None:
    asked = telemetry(all=EVERYTHING)
    ids = [asked.subscribe(ZERO_UUID, number).instance_id for number in range(5)]
    for instance_id in ids:
        with pytest.raises(ThrottlingQuotaExceeded):
            asked.subscribe(instance_id, 900)


def test_clients_long_silent_are_forgotten() -> None:
    asked = telemetry(all=EVERYTHING)
    wanted = asked.subscribe(ZERO_UUID, 0)
    asked.subscribe(ZERO_UUID, 60_001)
    assert asked.subscribe(wanted.instance_id, 60_002) == wanted  # a new one, not throttled


def test_what_is_kept_of_all_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = telemetry(all=EVERYTHING)
    monkeypatch.setattr("millstream.broker.telemetry.client_telemetry.KEPT_BYTES_MAX", 100)
    ids: list[Uuid] = []
    for number in range(4):
        wanted = asked.subscribe(ZERO_UUID, number)
        ids.append(wanted.instance_id)
        asked.push(push_of(wanted, gauge("m" * 10, number)), CLIENT, number, 0)
    assert len(gauge("m" * 10, 0)) == 40
    assert list(asked.received) == ids[2:]
