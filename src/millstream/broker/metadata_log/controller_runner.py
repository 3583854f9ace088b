"""Runs the controller where the metadata quorum is led, and publishes what is committed.

    submit -> plan -> records -> driver.propose -> replay -> (committed, published) -> response

What is long is planned, encoded and replayed in a thread, on images that do not change, and takes effect on
the loop; other requests wait for it. A response leaves only when its records are committed and applied on
this node, and so does one without records: it may rest on what an earlier request wrote. Owns the wait for
commits; decides nothing about metadata.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar, cast

from millstream.broker.metadata_log.driver import MetadataDriver, QuorumDescription
from millstream.broker.metadata_log.snapshots import image_of
from millstream.broker.metrics.quorum_metrics import ControllerMetrics
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.disk_pool import DiskPool
from millstream.controller.bootstrap import plan_activation
from millstream.controller.controller import Controller
from millstream.controller.operation import (
    ControllerApi,
    ControllerContext,
    ControllerResult,
    Operation,
    every_partition,
)
from millstream.controller.settings import ControllerSettings
from millstream.errors import (
    EncodeError,
    InvalidRequest,
    NotController,
    NotLeaderOrFollower,
    RequestTimedOut,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import metadata_version_of_image
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch, MetadataLoader, PublishedImage
from millstream.metadata.record_versions import record_version
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated import metadata_records
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.record_frames import encode_metadata_record
from millstream.raft.election_state import NOBODY
from millstream.raft.messages import VoterChangeRequest, VoterChangeResponse
from millstream.raft.ready import LeaderAndEpoch
from millstream.raft.snapshot import Snapshot
from millstream.runtime import Clock, Random
from millstream.security.principal import ANONYMOUS

_LOGGER = logging.getLogger(__name__)
RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
_PLANNED_AT_ONCE: Final = 500
"""Records, in some milliseconds."""
_US_IN_MS: Final = 1_000


class ControllerRunner:
    """Runs the controller.

    Implements `services.ControllerClient`, `services.Metadata` and `driver.MetadataListener`.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        image: MetadataImage,
        clock: Clock,
        random: Random,
        timeout_ms: int,
        *,
        pool: DiskPool,
        quotas: NodeQuotas,
    ) -> None:
        """`image`: what a snapshot holds, or nothing.

        `timeout_ms`: how long a request may wait for its records' commit.
        """
        self._settings = settings
        self._loader = MetadataLoader(image)
        self._image = image
        self._clock = clock
        self._random = random
        self._timeout_ms = timeout_ms
        self._pool = pool
        self._quotas = quotas
        self._planning = asyncio.Lock()
        """Held between the plan of a request and its records in the log, so that no other
        request is planned in between."""
        self._driver: MetadataDriver | None = None
        self._controller: Controller | None = None
        self._leads_epoch: LeaderEpoch | None = None
        self._committed_offset = image.offset + 1
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._subscribers: list[Callable[[PublishedImage], None]] = []
        self.metrics = ControllerMetrics()
        self._known_leader = NOBODY

    @property
    def image(self) -> MetadataImage:
        """The metadata image of everything that is committed and applied."""
        return self._image

    def silences_ms(self) -> dict[BrokerId, int]:
        """Returns how long ago each broker sent its last heartbeat to the controller of this node;
        nothing where it is not active.
        """
        if self._controller is None:
            return {}
        return self._controller.silences_ms(self._clock.now().monotonic_ms)

    def attach(self, driver: MetadataDriver) -> None:
        self._driver = driver

    def subscribe(self, apply: Callable[[PublishedImage], None]) -> None:
        """Calls `apply` with every image from now on, before any answer that rests on it leaves."""
        self._subscribers.append(apply)

    def leads(self) -> bool:
        """Whether the active controller runs in this node."""
        return self._controller is not None

    def is_elsewhere(self) -> bool:
        """False: a controller passes nothing on."""
        return False

    async def ask(
        self,
        api: ControllerApi[RequestT, ResponseT],
        request: RequestT,
        caller: RequestContext | None = None,
    ) -> ResponseT:
        """Implements `node.ControllerClient`.

        Raises NotController, RequestTimedOut, InvalidRequest, and errors of the controller.
        """
        if isinstance(request, BrokerHeartbeatRequest) and self._controller is not None:
            # Noted before the request waits: a plan that takes long would otherwise end the sessions of all brokers.
            self._controller.note_contact(request, self._clock.now().monotonic_ms)
        return await self.submit(api.plan, request, caller, api.partitions)

    async def forward(self, key: ApiKey, request: Message, caller: RequestContext) -> Message:
        """Raises NotLeaderOrFollower: a controller passes nothing on. Whoever asked finds the one that leads."""
        del request, caller
        raise NotLeaderOrFollower(f"{key.name} is answered by the leader of the quorum alone")

    async def change_voters(self, change: VoterChangeRequest) -> None:
        """Adds, removes or updates a voter. Raises the error of the quorum."""
        assert self._driver is not None, "the quorum is asked for before it was made"
        answer = await self._driver.answer(change)
        assert isinstance(answer, VoterChangeResponse), "each request has its own kind of answer"
        if answer.error is not None:
            raise answer.error(answer.message or None)

    async def submit(
        self,
        plan: Operation[RequestT, ResponseT],
        request: RequestT,
        caller: RequestContext | None = None,
        partitions: Callable[[RequestT, MetadataImage], int] = every_partition,
    ) -> ResponseT:
        """Has the controller of this node plan and write what no API asks for, too. `partitions`: how many it is about.

        Raises as `ask`.
        """
        asked_ms = self._clock.now().monotonic_ms
        async with self._planning:
            begun_ms = self._clock.now().monotonic_ms
            controller = self._controller
            if controller is None:
                raise NotController("the controller of this cluster is starting; retry")
            self.metrics.queue_time.observe((begun_ms - asked_ms) * _US_IN_MS)
            self.metrics.operations_started += 1
            try:
                result = await self._written(controller, plan, request, caller, partitions)
            except EncodeError as error:
                raise InvalidRequest(f"it asks for what no record can hold: {error}") from error
            finally:
                taken_ms = self._clock.now().monotonic_ms - begun_ms
                self.metrics.processing_time.observe(taken_ms * _US_IN_MS)
            end_offset = self._end_offset
        # Nothing is waited for between the append and the place among those who wait (to leave a lock is no wait): a
        # controller that moves fails all who wait, and must find this request there.
        self._tell(result)
        await self._wait_until_committed(end_offset)
        return result.response

    def _tell(self, result: ControllerResult[ResponseT]) -> None:
        for line in result.log_lines:
            _LOGGER.info("%s", line)
        self.metrics.timed_out_heartbeats += result.timed_out_brokers

    async def _written(
        self,
        controller: Controller,
        plan: Operation[RequestT, ResponseT],
        request: RequestT,
        caller: RequestContext | None,
        partitions: Callable[[RequestT, MetadataImage], int],
    ) -> ControllerResult[ResponseT]:
        """Plans and writes.

        Plans again where the quorum has written records of its own meanwhile: offsets stand in some plans.
        """
        while True:
            context = self._context(controller, caller)
            result = await self._planned(
                controller,
                partial(plan, context, request),
                partitions(request, context.image),
            )
            if self._end_offset != context.next_offset:
                continue
            if result.upgrades_kraft_version:
                self._upgrade_kraft_version()
            if len(result.records) <= _PLANNED_AT_ONCE:
                self._append(controller, result.records)
            elif not await self._append_many(controller, result.records):
                continue
            if caller is not None and context.mutations is not None:
                self._quotas.settle_mutations(caller, context.mutations)
            return result

    async def _planned(
        self,
        controller: Controller,
        plan: Callable[[], ControllerResult[ResponseT]],
        partitions: int,
    ) -> ControllerResult[ResponseT]:
        if partitions <= _PLANNED_AT_ONCE:
            return plan()
        # Meanwhile heartbeats are noted on the loop: each moves the time of one session, which the plan may see or
        # not. Cancelled here, as when the client hangs up, nothing is written.
        result = await self._pool.run(plan)
        if self._controller is not controller:
            raise NotController("the controller has moved; retry")
        return result

    def quorum(self) -> QuorumDescription:
        assert self._driver is not None, "the quorum is asked for before it was made"
        return self._driver.describe()

    def session_deadline_ms(self) -> int | None:
        """Returns the monotonic time at which a broker has to be fenced unless it is heard of."""
        if self._controller is None:
            return None
        return self._controller.session_deadline_ms(self._clock.now().monotonic_ms)

    # What the driver tells

    def handle_leader_change(self, leadership: LeaderAndEpoch) -> None:
        leads = leadership.leader_id == self._settings.node_id
        if leadership.leader_id not in (NOBODY, self._known_leader):
            self._known_leader = leadership.leader_id
            self.metrics.new_active_controllers += 1
        self._leads_epoch = leadership.epoch if leads else None
        # Also where this node leads again: another one may have led in between, and what was not committed is gone.
        self._controller = None
        self._fail_waiters(NotController("the controller has moved; retry"))

    def handle_commit(self, batch: MetadataBatch) -> None:
        self.publish(batch, self.replay(batch))

    def replay(self, batch: MetadataBatch) -> list[PublishedImage]:
        """Replays committed batches, one after the other. May run in a thread."""
        return self._loader.replay(batch)

    def handle_load_snapshot(self, snapshot: Snapshot) -> None:
        published = self._loader.install(image_of(snapshot, self._settings.cluster_id))
        self._committed_offset = int(snapshot.id.end_offset)
        self._image = published.image
        for apply in self._subscribers:
            apply(published)

    def publish(self, batch: MetadataBatch, images: Sequence[PublishedImage]) -> None:
        self._committed_offset = batch.last_offset + 1
        for published in images:
            self._image = published.image
            self.metrics.note_elections(published.delta.topics.changes())
            for apply in self._subscribers:
                apply(published)
        if self._controller is None and batch.epoch == self._leads_epoch:
            self._activate(batch.epoch)
        while self._waiters and self._waiters[0][0] <= self._committed_offset:
            future = self._waiters.popleft()[1]
            if not future.done():
                future.set_result(None)

    def _activate(self, epoch: LeaderEpoch) -> None:
        """The first commit of an epoch covers everything before it: what a new controller must know is in the image."""
        controller = self._controller = Controller(self._image, self._settings, epoch)
        result = plan_activation(self._context(controller), self._loader.transaction_open)
        try:
            self._append(controller, result.records)
        except NotController:
            # While much was applied the quorum has learned of another leader. It says so once that is on the disk.
            self._controller = None

    def _context(
        self, controller: Controller, caller: RequestContext | None = None
    ) -> ControllerContext:
        return ControllerContext(
            controller.image,
            controller.settings,
            controller.sessions,
            self._clock.now(),
            self._random,
            Offset(self._end_offset),
            ANONYMOUS if caller is None else caller.principal,
            self.quorum().kraft_version,
            self._quotas.begin_mutations(caller),
            controller.token_ids,
        )

    def _append(self, controller: Controller, records: Sequence[MetadataRecord]) -> None:
        if not records:
            return
        first_offset = self._propose(_encoded(records, controller.image))
        for offset, record in enumerate(records, first_offset):
            controller.replay(Offset(offset), record)

    @property
    def _end_offset(self) -> int:
        """The end of the log, committed or not: the quorum writes records of its own, too."""
        assert self._driver is not None, "the controller runs only with a driver"
        return self._driver.end_offset

    async def _append_many(self, controller: Controller, records: Sequence[MetadataRecord]) -> bool:
        """Returns whether they were written: not where the quorum has written records of its own meanwhile.

        All that takes long comes before, so that nothing can come between that and what follows from it.
        """
        base, first_offset = controller.image, self._end_offset
        last_offset = Offset(first_offset + len(records) - 1)
        values, image = await self._pool.run(
            lambda: (_encoded(records, base), controller.image_after(base, last_offset, records))
        )
        if self._controller is not controller:
            raise NotController("the controller has moved; retry")
        assert controller.image is base, "only one request at a time changes the metadata"
        if self._end_offset != first_offset:
            return False
        self._propose(values)
        controller.adopt(image)
        return True

    def _propose(self, values: Sequence[bytes]) -> Offset:
        assert self._driver is not None, "the controller runs only with a driver"
        assert self._leads_epoch is not None, "a controller runs only where the quorum is led"
        return self._driver.propose(values, self._leads_epoch)

    def _upgrade_kraft_version(self) -> None:
        assert self._driver is not None, "the controller runs only with a driver"
        assert self._leads_epoch is not None, "a controller runs only where the quorum is led"
        self._driver.upgrade_kraft_version(self._leads_epoch)

    async def _wait_until_committed(self, offset: int) -> None:
        if self._committed_offset >= offset:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((offset, future))
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                await future
        except TimeoutError:
            self.metrics.operations_timed_out += 1
            raise RequestTimedOut("the metadata log did not commit the change in time") from None

    def _fail_waiters(self, error: NotController) -> None:
        waiters, self._waiters = self._waiters, deque()
        for _, future in waiters:
            if not future.done():
                future.set_exception(error)


def _encoded(records: Sequence[MetadataRecord], image: MetadataImage) -> list[bytes]:
    known = cast("Sequence[metadata_records.MetadataRecord]", records)
    level = metadata_version_of_image(image)
    return [encode_metadata_record(record, record_version(record, level)) for record in known]
