"""The broker's part of a node: its parts in the order in which they need each other, and how they start and stop.

image -> partitions -> coordinators -> requests
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.config.rules import ALL_DIRECTORIES
from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.internal_topic_creation import InternalTopics
from millstream.broker.coordination.internal_topics import SHARE_GROUP_STATE
from millstream.broker.coordination.streams_internal_topics import StreamsInternalTopics
from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.forwarding.end_offsets import EndOffsets
from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.metrics.node_view import BrokerView
from millstream.broker.node.shared_parts import SharedParts
from millstream.broker.node_state import BrokerLife, BrokerState
from millstream.broker.patterns.group_patterns import GroupPatterns
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.broker.replication.fetchers_on_demand import FetchersOnDemand
from millstream.broker.replication.isr_changes import IsrChanges
from millstream.broker.replication.partition_alterations import PartitionAlterations
from millstream.broker.requests.handler_services import HandlerServices
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.broker.storage.background import BackgroundWork
from millstream.broker.storage.clean_shutdown import check_closed_directories, close_directories
from millstream.broker.storage.directory_assignments import DirectoryAssignments
from millstream.broker.storage.directory_failures import DirectoryFailures
from millstream.broker.storage.durability import Durability
from millstream.broker.storage.hosted_partitions import HostedEvents, HostedPartitions
from millstream.broker.storage.log_cleaner import CleanerSettings, LogCleaner
from millstream.broker.storage.log_flusher import GroupCommitFlusher
from millstream.broker.storage.log_scrubber import LogScrubber
from millstream.broker.storage.new_logs import NewLogs
from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.broker.telemetry.client_telemetry import ClientTelemetry
from millstream.broker.transactions.completion import TransactionCompletion
from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.broker.transactions.marker_channel import TransactionMarkerChannel
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.transaction.context import TransactionCoordinatorConfig
from millstream.log.directory.log_directory import LogDirectory
from millstream.metadata.features import (
    METADATA_VERSION,
    METADATA_VERSIONS,
    Capability,
    can,
    metadata_version_of_image,
)
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import PublishedImage
from millstream.protocol.enums import ConfigResourceType
from millstream.quota.rate import QuotaWindows
from millstream.records.compression import Codec
from millstream.replication.partition import Partition
from millstream.replication.throttle import ReplicationThrottles

if TYPE_CHECKING:
    from millstream.broker.replication.replica_fetchers import ReplicaFetchers
    from millstream.broker.storage.log_cutter import LogCutter

_LOGGER = logging.getLogger(__name__)


class BrokerPart:
    """The parts of a broker, which it owns; handlers get `services`, metrics and health pages `view`."""

    def __init__(self, shared: SharedParts, *, patterns: PatternMatcher, life: BrokerLife) -> None:
        self._shared = shared
        self._config = shared.config
        self._directories = shared.directories
        self._cordon(self._config)
        self._environment = shared.environment
        self._clock = shared.clock
        self._tasks = shared.tasks
        self._pool = shared.pool
        self._identity = shared.identity
        self._controller = shared.controller_client
        self._metadata = shared.controller
        self._metrics = shared.metrics
        self._failure_log = shared.failures
        self._long_work = shared.long_work
        self.dynamic_config = shared.dynamic_config
        self._patterns = patterns
        self._life = life
        self._session = BrokerSession(
            self._controller, self._metadata, self._identity, self._config, self._directories
        )
        self._brokers = shared.new_broker_channel()
        self._purgatory = Purgatory(self._clock)
        self.new_logs = NewLogs(self._long_work)
        self._assignments = DirectoryAssignments(
            self._controller, self._session, self._identity.node_id
        )
        self._alterations = PartitionAlterations(
            self._controller, self._session, self._identity.node_id
        )
        self._isr_changes = IsrChanges(
            self._alterations,
            self._clock,
            self._config.replica_lag_time_max_ms,
            self._metrics.replication,
        )
        self._throttles = self._new_throttles()
        self._flusher = GroupCommitFlusher(self._pool, self._tasks, self._clock, self._metrics)
        self._fetchers = FetchersOnDemand(
            self._new_fetchers, count=self._config.num_replica_fetchers
        )
        self._partitions = self._new_partitions()
        self._failures = DirectoryFailures(
            self._directories, self._partitions, self._session, self._tasks
        )
        self._moves = self._new_moves()
        self._background = self._new_background()
        self._cleaner = self._new_cleaner()
        self._scrubber = self._new_scrubber()
        self.dynamic_config.subscribe(self._use)
        self._durability = Durability(self._flusher, self._purgatory, self._flush_on_ack)
        self._internal_topics = InternalTopics(
            self._metadata, self._controller, self.dynamic_config
        )
        self.services = self._new_handler_services()
        self.view = self._new_view()

    async def start(self, advertised: Sequence[Listener]) -> None:
        """Starts the broker; returns when it leads its partitions and requests may be answered."""
        self._failures.watch()
        self._tasks.start(self._purgatory.run(), "purgatory")
        await check_closed_directories(self._directories, self._pool)
        await self._session.register(
            advertised,
            self._directories.previous_broker_epoch,
            [directory.meta.directory_id for directory in self._directories],
        )
        self.services.producer_ids.set_broker_epoch(self._session.broker_epoch)
        self._tasks.start(self._session.keep_alive(), "broker heartbeats")
        self._tasks.start(self._session.tell_directories(), "directories of the broker")
        self._life.enter(BrokerState.RECOVERY)
        self.services.client_telemetry.follow(self._metadata.image)
        self._follow_level(self._metadata.image)
        self._partitions.load(self._metadata.image)
        self._tasks.start(self._alterations.run(), "changes of led partitions")
        self._tasks.start(self._isr_changes.run(self._long_work), "changes of the ISR")
        self._tasks.start(
            self._isr_changes.look(self._partitions, self._long_work), "looks for lagging followers"
        )
        self._shared.controller.subscribe(self._apply)
        await self._session.unfence()
        self._tasks.start(self._assignments.run(), "directories of replicas")
        self._tasks.start(self._partitions.run(self._long_work), "new partitions")
        self._tasks.start(self.new_logs.run(), "new logs")
        self._moves.resume(self._partitions)
        self._background.start(self._config, self._tasks)
        self._tasks.start(self._scrubber.run(), "log scrubber")
        self._tasks.start(self._scrubber.look(), "looks for stuck followers")
        self.services.share_groups.start()
        if self._config.log_cleaner_enable:
            self._tasks.start(self._cleaner.run(), "log cleaner")

    async def leave(self, timeout_s: float) -> bool:
        """Gives leaderships away before the shutdown. False when it took too long."""
        return await self._session.leave(timeout_s)

    def release_waiting(self) -> None:
        """Ends waiting requests, so that their clients look for another node."""
        self.services.group_coordinator.shards.close()
        self.services.transaction_coordinator.shards.close()
        self.services.share_groups.close()
        self._purgatory.close()

    async def close(self) -> None:
        """Closes logs, writes checkpoints and marks the directories as cleanly shut down, after all
        tasks have ended.
        """
        await close_directories(
            self._directories,
            self._background.high_watermarks(),
            self._session.broker_epoch,
            self._pool,
            self._clock.now(),
        )

    def _tell_moved(self, moved: Partition, target: LogDirectory) -> None:
        topic = self._metadata.image.topic_by_id(moved.topic_id)
        if topic is not None:
            number = moved.topic_partition.partition
            self._assignments.on_assignment(topic, number, target.meta.directory_id)

    def _follow_level(self, image: MetadataImage) -> None:
        self._session.follow(image)
        self._assignments.follow(image)
        if len(self._directories) > 1 and not can(image, Capability.DIRECTORY_ASSIGNMENT):
            # Kafka's broker says the same and goes on, too (`MetadataVersionConfigValidator`).
            _LOGGER.error(
                "Multiple log directories (aka JBOD) are not supported in the current MetadataVersion %s. Need %s or higher",
                METADATA_VERSIONS[metadata_version_of_image(image)],
                METADATA_VERSIONS[Capability.DIRECTORY_ASSIGNMENT],
            )

    def _moved_bytes_per_second_max(self) -> float:
        limit = self.dynamic_config.current.replica_alter_log_dirs_io_max_bytes_per_second
        return math.inf if limit is None else limit

    def _cleaner_settings(self) -> CleanerSettings:
        return self.dynamic_config.current.read(CleanerSettings)

    def _apply(self, published: PublishedImage) -> None:
        """The order matters: a coordinator looks for partitions that must have followed the image before it."""
        if any(
            r.type is ConfigResourceType.CLIENT_METRICS for r in published.delta.changed_configs
        ):
            self.services.client_telemetry.follow(published.image)
        if METADATA_VERSION in published.delta.changed_features:
            self._follow_level(published.image)
        self._partitions.apply(published)
        if published.delta.topics.deleted():
            self._metrics.topics.forget_others(published.image.topics.by_name)
        self.services.group_coordinator.apply(published.image)
        self.services.transaction_coordinator.apply(published.image)
        self.services.share_groups.apply(published.image)

    def _use(self, config: BrokerConfig) -> None:
        """Takes over settings that were changed while the node runs."""
        self._cordon(config)
        self._directories.set_producer_id_expiration(config.producer_id_expiration_ms)
        self._throttles.use(
            config.leader_replication_throttled_rate, config.follower_replication_throttled_rate
        )
        self._fetchers.resize(config.num_replica_fetchers)
        self.services.group_coordinator.change_config(config.read(GroupCoordinatorConfig))

    def _cordon(self, config: BrokerConfig) -> None:
        of_all = ALL_DIRECTORIES in config.cordoned_log_dirs
        self._directories.cordoned = frozenset(
            self._directories.paths if of_all else config.cordoned_log_dirs
        )

    def _new_fetchers(self, count: int) -> ReplicaFetchers:
        """They end with the tasks of the node: before the logs are closed."""
        # Here, not above: a node by itself starts without them.
        from millstream.broker.replication.remote_leader import ReplicaFetchSettings
        from millstream.broker.replication.replica_fetcher import FetcherServices
        from millstream.broker.replication.replica_fetchers import ReplicaFetchers

        return ReplicaFetchers(
            self._shared.new_fetch_channel,
            self._config.read(ReplicaFetchSettings),
            lambda: self._session.broker_epoch,
            FetcherServices(
                tasks=self._tasks,
                cutter=self._new_cutter(),
                syncs_first=lambda: self._flush_on_ack() == "always",
                clock=self._clock,
                flusher=self._flusher,
                long_work=self._long_work,
                metrics=self._metrics.replication,
                throttle=self._throttles.follower,
                catch_up_bytes_per_second=lambda: (
                    self.dynamic_config.current.millstream_replica_catch_up_bytes_per_second
                ),
            ),
            count=count,
        )

    def _new_cutter(self) -> LogCutter:
        # Here, for the same reason.
        from millstream.broker.storage.log_cutter import LogCutter

        return LogCutter(self._pool, self._tasks, self._clock)

    def _new_throttles(self) -> ReplicationThrottles:
        windows = QuotaWindows(
            self._config.replication_quota_window_num,
            self._config.replication_quota_window_size_seconds * 1000,
        )
        throttles = ReplicationThrottles.of(self._identity.node_id, windows)
        throttles.use(
            self._config.leader_replication_throttled_rate,
            self._config.follower_replication_throttled_rate,
        )
        return throttles

    def _new_partitions(self) -> HostedPartitions:
        partitions = HostedPartitions(
            self._directories,
            self._config,
            self._clock,
            told=HostedEvents(
                on_progress=self._purgatory.wake,
                on_growth=self._purgatory.note_growth,
                on_alteration_due=self._isr_changes.note_due,
                on_placed=self._assignments.on_assignment,
            ),
            new_logs=self.new_logs,
            fetchers=self._fetchers,
            start_cut=lambda *cut: self._new_cutter().start(*cut),
        )
        damaged = partitions.damaged
        self._metrics.replication.damage_found = lambda: damaged.found
        self._metrics.replication.damage_mended = lambda: damaged.mended
        return partitions

    def _flush_on_ack(self) -> str:
        return self.dynamic_config.current.millstream_flush_on_ack

    def _new_background(self) -> BackgroundWork:
        return BackgroundWork(
            self._directories,
            self._partitions,
            self._flusher,
            self._pool,
            self._clock,
            long_work=self._long_work,
            failures=self._failure_log,
        )

    def _new_cleaner(self) -> LogCleaner:
        return LogCleaner(
            self._partitions,
            self._directories.of,
            self._pool,
            self._clock,
            self._cleaner_settings,
            long_work=self._long_work,
        )

    def _new_scrubber(self) -> LogScrubber:
        return LogScrubber(
            self._partitions,
            self._pool,
            lambda: self.dynamic_config.current.millstream_log_scrub_bytes_per_second,
            interval_ms=lambda: self.dynamic_config.current.millstream_log_scrub_interval_ms,
            long_work=self._long_work,
        )

    def _new_moves(self) -> ReplicaMoves:
        return ReplicaMoves(
            self._directories,
            self._pool,
            self._tasks,
            self._clock,
            on_moved=self._tell_moved,
            copies_at_once=self._config.num_replica_alter_log_dirs_threads
            or len(self._directories.paths),
            bytes_per_second_max=self._moved_bytes_per_second_max,
        )

    def _new_handler_services(self) -> HandlerServices:
        config, services = self._config, self._new_services()
        groups = self._new_groups(services)
        share_groups = self._new_share_groups(services)
        producer_ids = ProducerIds(self._controller, self._identity.node_id)
        markers = TransactionMarkers(self._partitions, groups, services, failures=self._failure_log)
        transactions = self._new_transaction_coordination(producer_ids, markers, services)
        return HandlerServices(
            apis=tuple(handler.api for handler in BROKER_HANDLERS.values()),
            access=self._shared.access,
            auto_topic_creation=self._new_auto_topic_creation(),
            client_telemetry=ClientTelemetry(self._environment.random, config.telemetry_max_bytes),
            clock=self._clock,
            config=self.dynamic_config,
            controller=self._controller,
            disk_pool=self._pool,
            durability=self._durability,
            end_offsets=EndOffsets(self._partitions, self._metadata, self._brokers),
            failures=self._failure_log,
            fetch_sessions=FetchSessions(
                self._environment.random,
                self._purgatory,
                config.max_incremental_fetch_session_cache_slots,
            ),
            file_system=self._environment.file_system,
            group_coordinator=groups,
            identity=self._identity,
            log_directories=self._directories,
            log_flusher=self._flusher,
            long_work=self._long_work,
            metadata=self._metadata,
            metrics=self._metrics,
            ordered_appends=OrderedAppends(self._tasks),
            partitions=self._partitions,
            patterns=self._patterns,
            producer_ids=producer_ids,
            purgatory=self._purgatory,
            quotas=self._shared.quotas,
            replica_moves=self._moves,
            share_group_state=ShareGroupPersistence(groups, share_groups, self._long_work),
            share_groups=share_groups,
            store_checks=self._shared.store_checks,
            streams_internal_topics=StreamsInternalTopics(
                self._controller,
                self._tasks,
                self._clock,
                config.request_timeout_ms,
                long_work=self._long_work,
            ),
            throttles=self._throttles,
            transaction_coordinator=transactions,
            transaction_coordinator_channel=TransactionCoordinatorChannel(
                transactions, self._metadata, self._brokers, self._tasks
            ),
            transaction_markers=markers,
        )

    def _new_view(self) -> BrokerView:
        return BrokerView(
            partitions=self._partitions,
            group_coordinator=self.services.group_coordinator,
            purgatory=self._purgatory,
            fetch_sessions=self.services.fetch_sessions,
        )

    def _new_services(self) -> CoordinatorServices:
        config = self._config
        return CoordinatorServices(
            clock=self._clock,
            wake=self._purgatory.wake,
            durability=self._durability,
            commit_timeout_ms=config.offsets_commit_timeout_ms,
            pool=self._pool,
            long_work=self._long_work,
            codec=Codec(config.offsets_topic_compression_codec),
            on_refused=self._failure_log.log_bound,
        )

    def _new_groups(self, services: CoordinatorServices) -> GroupCoordination:
        return GroupCoordination(
            self._config.read(GroupCoordinatorConfig),
            self._identity.node_id,
            self._environment.random,
            partitions=self._partitions,
            tasks=self._tasks,
            services=replace(services, on_written=self._metrics.groups.count_written),
            patterns=GroupPatterns(
                self._patterns, self._shared.access, self._clock, long_work=self._long_work
            ),
        )

    def _new_share_groups(self, services: CoordinatorServices) -> ShareGroups:
        config = self._config
        return ShareGroups(
            self._metadata,
            config,
            lambda: self._internal_topics.ensure(SHARE_GROUP_STATE),
            self._brokers,
            partitions=self._partitions,
            tasks=self._tasks,
            services=replace(
                services,
                commit_timeout_ms=config.share_coordinator_write_timeout_ms,
                codec=Codec(config.share_coordinator_state_topic_compression_codec),
            ),
        )

    def _new_auto_topic_creation(self) -> AutoTopicCreation:
        return AutoTopicCreation(
            self._controller,
            self.dynamic_config,
            self._tasks,
            metadata=self._metadata,
            long_work=self._long_work,
        )

    def _new_transaction_coordination(
        self, producer_ids: ProducerIds, markers: TransactionMarkers, services: CoordinatorServices
    ) -> TransactionCoordination:
        return TransactionCoordination(
            self._config.read(TransactionCoordinatorConfig),
            self._identity.node_id,
            producer_ids,
            TransactionCompletion(
                TransactionMarkerChannel(
                    markers, self._metadata, self._brokers, self._long_work, self._tasks
                ),
                self._metadata,
                self._long_work,
            ),
            partitions=self._partitions,
            tasks=self._tasks,
            services=replace(services, codec=Codec.NONE),
        )
