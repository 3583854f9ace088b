"""The background half of a producer: sends what `core.produce_planner` says, and tells what became of it.

Owns the sender's task, connections being opened and the callers that wait for batches to settle.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.core.named_errors import named_error
from millstream.clients.producer.buffer_memory import BufferMemory
from millstream.clients.producer.core.accumulator import RecordAccumulator
from millstream.clients.producer.core.produce_planner import ProducePlanner
from millstream.clients.producer.core.produce_request import PlannedProduce
from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.clients.producer.delivery import Settlements
from millstream.errors import KafkaError, MillstreamError, RequestTimedOut
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.produce import ProduceResponse
from millstream.quoting import counted

_LOGGER = logging.getLogger(__name__)

_NO_TRANSACTION_TIMEOUT_MS = 2**31 - 1
_IDENTITY = "the id of an idempotent producer, for which WRITE on any topic is enough"


class Alarm:
    """Wakes one task: when it rings, or after a time.

    Less than an `asyncio.Event` within a `timeout`: it is waited for at each request.
    """

    def __init__(self) -> None:
        self._rings = False
        self._sleeper: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wakes the task now, or when it waits next."""
        self._rings = True
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def clear(self) -> None:
        self._rings = False

    async def wait(self, limit_s: float | None) -> None:
        """Returns when it rings, has rung since it was cleared, or after `limit_s`."""
        if self._rings:
            return
        loop = asyncio.get_running_loop()
        self._sleeper = loop.create_future()
        timer = None if limit_s is None else loop.call_later(limit_s, self.ring)
        try:
            await self._sleeper
        finally:
            self._sleeper = None
            if timer is not None:
                timer.cancel()


class Sender:
    def __init__(
        self,
        cluster: Cluster,
        scope: TaskScope,
        planner: ProducePlanner,
        accumulator: RecordAccumulator,
    ) -> None:
        self.cluster = cluster
        self.scope = scope
        self._planner = planner
        self.accumulator = accumulator
        self.lock = threading.Lock()
        """Held while batches are touched on the loop, and by threads that append to them."""
        self.memory = BufferMemory(accumulator, cluster.now_ms)
        self.settlements = Settlements()
        self.after_drain: Callable[[], None] = lambda: None
        """Called when batches were taken: some may wait to be admitted to the transaction."""
        self._failed: list[ProducerBatch] = []
        self._alarm = Alarm()
        self._delayed = 0
        """Requests that a task sends, because a connection did not take them at once. Later
        ones must not overtake them."""
        self._settled = asyncio.Event()
        self._hurrying = 0
        self._connecting: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Wakes the sender: there may be something to send."""
        if self._task is None or self._task.done():
            self.scope.check()
            self._task = self.scope.start(self._run(), "sender")
        self._alarm.ring()

    def avoided_nodes(self) -> set[int]:
        return self._planner.avoided_nodes(self.cluster.now_ms())

    def observe_metadata(self) -> None:
        self._alarm.ring()

    async def settle_all(self, deadline_ms: int | None) -> None:
        """Wait, without linger, until all that was queued so far is acknowledged or has failed.

        Raises RequestTimedOut at the deadline.
        """
        limit = self.accumulator.next_order
        if not self.accumulator.has_unsettled_before(limit):
            return
        left_s = None if deadline_ms is None else (deadline_ms - self.cluster.now_ms()) / 1000
        self._hurrying += 1
        self.wake()
        try:
            async with asyncio.timeout(left_s):
                while self.accumulator.has_unsettled_before(limit):
                    self._settled.clear()  # others who wait were woken by what set it, and look for themselves
                    await self._settled.wait()
                    self.scope.check()
        except TimeoutError as error:
            count = self.accumulator.unsettled_count
            raise RequestTimedOut(
                f"neither acknowledged nor failed within the time limit: {counted(count, 'batch')}"
            ) from error
        finally:
            self._hurrying -= 1

    def abandon(self, error: MillstreamError) -> None:
        """Fail everything that is not settled."""
        with self.lock:
            settled = self._planner.abandon(error)
        self._announce(settled)

    def end(self, error: MillstreamError) -> None:
        """Fails everything that is not settled, and tells all who wait that nothing will be sent any more."""
        # Threads append beside this: what gets in before no more is taken is failed below, and nothing gets in later.
        self.memory.close()
        self.abandon(error)
        self._settled.set()

    def forget_failures(self) -> None:
        """Forgets failures that were told in another way."""
        self._failed.clear()

    def raise_unseen_failures(self) -> None:
        """Raises the first error that no caller was told of, with a note how many more there are."""
        failed, self._failed = self._failed, []
        errors = [
            batch.outcome.error
            for batch in failed
            if not batch.error_seen
            and batch.outcome is not None
            and batch.outcome.error is not None
        ]
        if not errors:
            return
        if len(errors) > 1:
            errors[0].add_note(f"{len(errors) - 1} more batches failed since the last flush")
        raise errors[0]

    async def _run(self) -> None:
        while True:
            self._alarm.clear()  # before it looks: what comes from here on has it look again
            if self._planner.producer_id_wanted:
                await self._fetch_producer_id()
            now_ms = self.cluster.now_ms()
            hurry = self._hurrying > 0 or self.memory.is_awaited
            with self.lock:
                expired = self._planner.expire(now_ms)
                requests = self._planner.drain(
                    self.cluster.snapshot, now_ms, hurry=hurry, is_ready=self._is_ready
                )
            self._announce(expired)
            for planned in requests:
                connection = self.cluster.open_connection(planned.node_id)
                assert connection is not None, "nodes are drained that have a connection"
                for batch in planned.batches.values():
                    if batch.attempts <= 1:
                        self.cluster.traffic.record_queue.add(now_ms - batch.created_ms)
                self._send(planned, connection)
            self.after_drain()
            if self._planner.metadata_wanted:
                self._planner.metadata_wanted = False
                self.cluster.use_topics(*self._waiting_topics())
                self.cluster.request_metadata()
            await self._wait_for_work(now_ms)

    async def _wait_for_work(self, drained_ms: int) -> None:
        """By the clock of the drain: a batch whose linger ended since must not look as if it had been left over."""
        with self.lock:
            wait_ms = self._planner.next_wake_ms(drained_ms)
        await self._alarm.wait(None if wait_ms is None else max(1, wait_ms) / 1000)

    def _is_ready(self, node_id: int) -> bool:
        """An open connection is there; if not, one is on its way."""
        if self.cluster.open_connection(node_id) is not None:
            return True
        if node_id not in self._connecting:
            self._connecting.add(node_id)
            self.scope.start(self._connect(node_id), f"connect to {node_id}")
        return False

    async def _connect(self, node_id: int) -> None:
        try:
            await self.cluster.connection(node_id)
        except KafkaError as error:
            with self.lock:
                self._planner.handle_unreachable(node_id, self.cluster.snapshot, error)
        finally:
            self._connecting.discard(node_id)
            self._alarm.ring()

    def _send(self, planned: PlannedProduce, connection: Connection) -> None:
        """Sends a request at once where the connection takes it, else in a task, and those behind it likewise: the
        broker gets them in the order of the plan.
        """
        try:
            is_sent = (
                planned.acks != 0
                and not self._delayed
                and connection.request_at_once(
                    ApiKey.PRODUCE,
                    planned.request(),
                    partial(self._on_response, planned),
                    timeout_ms=planned.timeout_ms,
                    version_max=planned.version_max,
                )
            )
        except KafkaError as error:
            self._on_response(planned, None, error)
            return
        if not is_sent:
            self._delayed += 1
            self.scope.start(
                self._send_in_turn(planned, connection), f"produce to {planned.node_id}"
            )

    async def _send_in_turn(self, planned: PlannedProduce, connection: Connection) -> None:
        try:
            response = await self._exchange(planned, connection)
        except KafkaError as error:
            self._take_in(planned, None, error)
        else:
            self._take_in(planned, response, None)
        finally:
            self._delayed -= 1

    async def _exchange(
        self, planned: PlannedProduce, connection: Connection
    ) -> ProduceResponse | None:
        """Writes the request before it awaits anything: tasks start in the order of the plan, so
        the broker gets the requests in it.
        """
        if planned.acks == 0:
            await connection.send_without_response(
                ApiKey.PRODUCE, planned.request(), version_max=planned.version_max
            )
            return None
        return await connection.request(
            ApiKey.PRODUCE,
            planned.request(),
            ProduceResponse,
            timeout_ms=planned.timeout_ms,
            version_max=planned.version_max,
        )

    def _on_response(
        self, planned: PlannedProduce, response: Message | None, failure: Exception | None
    ) -> None:
        """Called by the connection, whose end an exception would be: it is the end of the client."""
        try:
            self._take_in(planned, cast("ProduceResponse | None", response), failure)
        except Exception as error:  # noqa: BLE001 - whatever it is, as in a task of the scope
            self.scope.fail(error)

    def _take_in(
        self,
        planned: PlannedProduce,
        response: ProduceResponse | None,
        failure: Exception | None,
    ) -> None:
        """Tells what became of the batches of a request, and wakes the sender where there may be more to send."""
        now_ms = self.cluster.now_ms()
        with self.lock:
            if failure is None:
                settled = self._planner.handle_response(planned, response, now_ms)
            elif isinstance(failure, KafkaError):
                settled = self._planner.handle_failure(planned, failure, now_ms)
            else:
                raise failure
        news = None if response is None else planned.news(response)
        if news is not None:
            self.cluster.learn(news)
        self._announce(settled)
        if self.accumulator.is_busy or self._planner.metadata_wanted:
            self._alarm.ring()

    async def _fetch_producer_id(self) -> None:
        """Retried until the oldest batch's delivery time is over; the expiry then tells its senders."""
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=_NO_TRANSACTION_TIMEOUT_MS
        )
        try:
            response = await self.cluster.request_any(
                ApiKey.INIT_PRODUCER_ID, request, InitProducerIdResponse
            )
            if response.error_code:
                raise named_error(response.error_code, _IDENTITY)
        except KafkaError as error:
            if not error.retriable:
                self.abandon(error)
        else:
            self._planner.set_producer_id(response.producer_id, response.producer_epoch)
            return
        await asyncio.sleep(self.cluster.backoff.delay_ms(1, self.cluster.random) / 1000)
        self._alarm.ring()  # ask again, whatever else there is to do

    def _announce(self, settled: Sequence[ProducerBatch]) -> None:
        if not settled:
            return
        self._failed += [
            b for b in settled if b.outcome is not None and b.outcome.error is not None
        ]
        for batch in settled:
            if batch.callbacks:
                _call_back(batch)
        self.settlements.announce(settled)
        self.memory.let_in()
        self._settled.set()

    def _waiting_topics(self) -> set[str]:
        with self.lock:
            return {queue.topic_partition.topic for queue in self.accumulator.busy_queues}


def _call_back(batch: ProducerBatch) -> None:
    """In the order of the records. What a callback raises is logged, and the others are called all the same."""
    callbacks, batch.callbacks = batch.callbacks or [], None
    assert batch.outcome is not None, "callbacks of a split batch are with its halves"
    for index, callback in callbacks:
        try:
            callback(batch.known_of(index), batch.outcome.error)
        except Exception:  # whatever it is, it is the callback's
            _LOGGER.exception(
                "a delivery callback failed for a record of %s", batch.topic_partition
            )
