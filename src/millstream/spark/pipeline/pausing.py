"""The pause of an application: by its own `pause()`, or from elsewhere by a topic that stands for it.

`millstream pipeline pause` creates the topic and `resume` deletes it: every tool that can reach the cluster
can do so and see it, no record is to be read, it outlives drivers and brokers, and an application that is
started meanwhile is paused, too.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Final

from millstream.clients.admin import Admin
from millstream.errors import MillstreamError, UnknownTopicOrPartition
from millstream.spark.kafka_settings import KafkaSettings
from millstream.streams.runtime.reset import pause_topic

LOOK_EVERY_S: Final = 1.0
"""`millstream pipeline pause` is heeded so late; a look is one request."""
_LOGGER = logging.getLogger(__name__)


class Pausing:
    """`is_on` is set while the application is paused. Several threads may use it."""

    def __init__(self, application_id: str, kafka: KafkaSettings) -> None:
        self.is_on: Final = threading.Event()
        self._application_id = application_id
        self._kafka = kafka
        self._here = False
        self._elsewhere = False
        self._lock = threading.Lock()

    def pause(self, *, is_paused: bool) -> None:
        """Takes what the application itself says."""
        with self._lock:
            self._here = is_paused
            self._apply()

    def note(self, *, is_paused: bool) -> None:
        """Takes what was seen in the cluster."""
        with self._lock:
            if is_paused != self._elsewhere:
                what = "paused" if is_paused else "resumed"
                _LOGGER.info("application %s was %s", self._application_id, what)
            self._elsewhere = is_paused
            self._apply()

    def look(self) -> bool:
        """Looks at the cluster once, and returns whether it says pause. Raises what the cluster answers."""
        with asyncio.Runner() as runner:
            is_paused = runner.run(self._look_once())
        self.note(is_paused=is_paused)
        return is_paused

    def watch(self, stopping: threading.Event) -> None:
        """Looks every second until the application stops.

        What was seen last counts while the cluster cannot be asked.
        """
        with asyncio.Runner() as runner:
            admin = runner.run(_made(self._kafka))
            try:
                while not stopping.wait(LOOK_EVERY_S):
                    try:
                        self.note(is_paused=runner.run(self._is_marked(admin)))
                    except MillstreamError as error:
                        _LOGGER.info("it is not known whether the application is paused: %s", error)
            finally:
                runner.run(admin.close())

    async def _look_once(self) -> bool:
        async with Admin(**self._kafka.of_client()) as admin:
            return await self._is_marked(admin)

    async def _is_marked(self, admin: Admin) -> bool:
        topic = pause_topic(self._application_id)
        described = await admin.describe_topics([topic])
        if isinstance(described[topic], UnknownTopicOrPartition):
            return False
        described.result(topic)
        return True

    def _apply(self) -> None:
        if self._here or self._elsewhere:
            self.is_on.set()
        else:
            self.is_on.clear()


async def _made(kafka: KafkaSettings) -> Admin:
    """Within the loop on which it lives."""
    return Admin(**kafka.of_client())
