"""What a task host keeps of applications."""

from __future__ import annotations

from millstream.runtime.system import SystemClock
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.host import TaskHost
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import string


def pickled(application_id: str, suffix: str = "") -> bytes:
    builder = StreamsBuilder()
    values = builder.stream("in", key=string(), value=string())
    values.map_values(lambda value: value + suffix).to("out")
    kafka = for_both({"bootstrap.servers": "b:1"})
    config = StreamsConfig(application_id)
    return HostedApplication(builder.build(), config, kafka, "/state").pickled()


def test_the_same_application_has_the_same_digest_and_another_one_has_not() -> None:
    assert digest_of(pickled("app", "!")) == digest_of(pickled("app", "!"))
    assert digest_of(pickled("app", "!")) != digest_of(pickled("app", "?"))


async def test_an_application_is_known_until_its_tasks_are_closed() -> None:
    host = TaskHost(SystemClock())
    for application_id in ("one", "two"):
        data = pickled(application_id)
        host.take(digest_of(data), data)
    await host.close_tasks("one")
    assert not host.knows(digest_of(pickled("one")))
    assert host.knows(digest_of(pickled("two")))
    await host.close()
