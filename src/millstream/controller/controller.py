"""The controller of a cluster: requests in, records and answers out; replayed records are all that changes it.

Owns the newest metadata: the image of every record it has written, committed or not. The rules are in the modules
beside it. Only the leader of the metadata quorum runs one; a new leader builds its own from the committed records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_lifecycle import (
    BrokerSessions,
    plan_fence_expired,
    plan_heartbeat,
)
from millstream.controller.brokers.features import plan_update_features
from millstream.controller.brokers.registration import plan_registration
from millstream.controller.brokers.unregistration import plan_unregister_broker
from millstream.controller.configs.alter_configs import (
    plan_alter_configs,
    plan_incremental_alter_configs,
)
from millstream.controller.configs.client_quotas import plan_alter_client_quotas
from millstream.controller.controller_registration import plan_controller_registration
from millstream.controller.partitions.alter_partition import plan_alter_partition
from millstream.controller.partitions.balancing import plan_balance, plan_unclean_elections
from millstream.controller.partitions.elect_leaders import plan_elect_leaders
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.partitions.replica_directories import plan_replica_directories
from millstream.controller.producer_ids import plan_producer_ids
from millstream.controller.result import ControllerContext, ControllerResult
from millstream.controller.security.acls import plan_create_acls, plan_delete_acls
from millstream.controller.security.delegation_tokens import (
    plan_create_token,
    plan_expire_token,
    plan_renew_token,
    plan_sweep_tokens,
)
from millstream.controller.security.scram_credentials import plan_alter_scram_credentials
from millstream.controller.settings import ControllerSettings
from millstream.controller.topics.create_partitions import plan_create_partitions
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.controller.topics.delete_topics import plan_delete_topics
from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.protocol.generated.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from millstream.protocol.generated.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from millstream.protocol.generated.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from millstream.protocol.generated.create_acls import (
    CreateAclsRequest,
    CreateAclsResponse,
)
from millstream.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from millstream.protocol.generated.create_topics import CreateTopicsRequest, CreateTopicsResponse
from millstream.protocol.generated.delete_acls import (
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from millstream.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from millstream.protocol.generated.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from millstream.protocol.generated.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from millstream.protocol.generated.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from millstream.protocol.generated.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_TRANSACTION_RECORDS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
"""A controller's transactions are whole batches, and one that it aborts was never replayed there."""


class Controller:
    """Every `handle_*` leaves the controller as it is; the caller appends the records and replays them, in this order:
    append, `replay` each record, answer once they are committed.
    """

    def __init__(
        self, image: MetadataImage, settings: ControllerSettings, epoch: LeaderEpoch
    ) -> None:
        """`image` holds every committed record; `epoch` is that of this controller's leadership."""
        self._image = image
        self._settings = settings
        self._epoch = epoch
        self._offset = image.offset
        self._delta: MetadataDelta | None = None
        self._sessions = BrokerSessions(settings.broker_session_timeout_ms)

    @property
    def image(self) -> MetadataImage:
        """Everything replayed so far."""
        if self._delta is not None:
            self._image = self._delta.image(self._offset, self._epoch)
            self._delta = None
        return self._image

    def image_after(
        self, image: MetadataImage, last_offset: Offset, records: Iterable[MetadataRecord]
    ) -> MetadataImage:
        """Returns `image` with `records` on top of it.

        Changes nothing, so a thread may do it; `adopt` then takes the place of `replay`.
        """
        delta = MetadataDelta(image)
        for record in records:
            if not isinstance(record, _TRANSACTION_RECORDS):
                delta.replay(record)
        return delta.image(last_offset, self._epoch)

    def adopt(self, image: MetadataImage) -> None:
        """Takes over the image that `image_after` made from the newest image."""
        assert image.offset > self._offset, f"image {image.offset} is adopted after {self._offset}"
        self._image, self._offset, self._delta = image, image.offset, None

    def replay(self, offset: Offset, record: MetadataRecord) -> None:
        """Changes the newest image, as `adopt` does and nothing else. Records come in the order of the log."""
        assert offset > self._offset, f"record {offset} is replayed after {self._offset}"
        self._offset = offset
        if isinstance(record, _TRANSACTION_RECORDS):
            return
        if self._delta is None:
            self._delta = MetadataDelta(self._image)
        self._delta.replay(record)

    def _changes(self) -> PartitionChanges:
        return PartitionChanges(self.image, self._settings)

    def handle_activation(
        self, transaction_open: bool, context: ControllerContext
    ) -> ControllerResult[None]:
        """First call on a new leader; `transaction_open` says that the log ends inside a metadata transaction."""
        self._sessions.start_all(self.image, context.now.monotonic_ms)
        return plan_activation(self.image, self._settings, transaction_open=transaction_open)

    def handle_controller_registration(
        self, request: ControllerRegistrationRequest, context: ControllerContext
    ) -> ControllerResult[ControllerRegistrationResponse]:
        del context
        return plan_controller_registration(request, self.image)

    def handle_broker_registration(
        self, request: BrokerRegistrationRequest, context: ControllerContext
    ) -> ControllerResult[BrokerRegistrationResponse]:
        return plan_registration(request, self._changes(), self._settings, self._sessions, context)

    def handle_broker_heartbeat(
        self, request: BrokerHeartbeatRequest, context: ControllerContext
    ) -> ControllerResult[BrokerHeartbeatResponse]:
        return plan_heartbeat(request, self._changes(), self._sessions, context)

    def note_contact(self, request: BrokerHeartbeatRequest, now_ms: int) -> None:
        """Takes note that a registered broker lives, before its heartbeat is handled."""
        broker = self.image.brokers.get(BrokerId(request.broker_id))
        if broker is not None and broker.broker_epoch == request.broker_epoch:
            self._sessions.note_contact(broker, now_ms)

    def handle_assign_replicas_to_directories(
        self, request: AssignReplicasToDirsRequest, context: ControllerContext
    ) -> ControllerResult[AssignReplicasToDirsResponse]:
        del context
        return plan_replica_directories(request, self._changes())

    def handle_alter_partition(
        self, request: AlterPartitionRequest, context: ControllerContext
    ) -> ControllerResult[AlterPartitionResponse]:
        del context
        return plan_alter_partition(request, self._changes())

    def handle_imbalance(self, request: None, context: ControllerContext) -> ControllerResult[bool]:
        """Gives leaderships back to preferred replicas, so many at once.

        To be called now and then, and again while it answers True.
        """
        del request, context
        return plan_balance(self._changes())

    def handle_partitions_without_leader(
        self, request: None, context: ControllerContext
    ) -> ControllerResult[bool]:
        """Elects leaders uncleanly where topics allow it, so many at once. To be called as `handle_imbalance`."""
        del request, context
        return plan_unclean_elections(self._changes())

    def handle_expired_sessions(
        self, request: None, context: ControllerContext
    ) -> ControllerResult[None]:
        """Fences a broker whose session has run out.

        To be called at `session_deadline_ms`, until it gives no records.
        """
        del request
        return plan_fence_expired(self._changes(), self._sessions, context)

    def session_deadline_ms(self, now_ms: int) -> int | None:
        """Returns the monotonic time at which a broker has to be fenced unless it is heard
        of; None when none is unfenced.
        """
        return self._sessions.next_deadline_ms(self.image, now_ms)

    def silences_ms(self, now_ms: int) -> dict[BrokerId, int]:
        """Returns how long ago each registered broker was last heard of; since when it is
        waited for where it never was.
        """
        return self._sessions.silences_ms(self.image, now_ms)

    def handle_create_topics(
        self, request: CreateTopicsRequest, context: ControllerContext
    ) -> ControllerResult[CreateTopicsResponse]:
        return plan_create_topics(request, self.image, self._settings, context)

    def handle_delete_topics(
        self, request: DeleteTopicsRequest, context: ControllerContext
    ) -> ControllerResult[DeleteTopicsResponse]:
        return plan_delete_topics(request, self.image, self._settings, context)

    def handle_create_partitions(
        self, request: CreatePartitionsRequest, context: ControllerContext
    ) -> ControllerResult[CreatePartitionsResponse]:
        return plan_create_partitions(request, self.image, self._settings, context)

    def handle_incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest, context: ControllerContext
    ) -> ControllerResult[IncrementalAlterConfigsResponse]:
        del context
        return plan_incremental_alter_configs(request, self.image, self._settings)

    def handle_alter_configs(
        self, request: AlterConfigsRequest, context: ControllerContext
    ) -> ControllerResult[AlterConfigsResponse]:
        del context
        return plan_alter_configs(request, self.image, self._settings)

    def handle_allocate_producer_ids(
        self, request: AllocateProducerIdsRequest, context: ControllerContext
    ) -> ControllerResult[AllocateProducerIdsResponse]:
        del context
        return plan_producer_ids(request, self.image)

    def handle_create_acls(
        self, request: CreateAclsRequest, context: ControllerContext
    ) -> ControllerResult[CreateAclsResponse]:
        return plan_create_acls(request, self.image, context)

    def handle_delete_acls(
        self, request: DeleteAclsRequest, context: ControllerContext
    ) -> ControllerResult[DeleteAclsResponse]:
        del context
        return plan_delete_acls(request, self.image)

    def handle_alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest, context: ControllerContext
    ) -> ControllerResult[AlterUserScramCredentialsResponse]:
        del context
        return plan_alter_scram_credentials(request, self.image)

    def handle_alter_client_quotas(
        self, request: AlterClientQuotasRequest, context: ControllerContext
    ) -> ControllerResult[AlterClientQuotasResponse]:
        del context
        return plan_alter_client_quotas(request, self.image)

    def handle_update_features(
        self, request: UpdateFeaturesRequest, context: ControllerContext
    ) -> ControllerResult[UpdateFeaturesResponse]:
        return plan_update_features(
            request, self.image, self._settings, kraft_version=context.kraft_version
        )

    def handle_elect_leaders(
        self, request: ElectLeadersRequest, context: ControllerContext
    ) -> ControllerResult[ElectLeadersResponse]:
        del context
        return plan_elect_leaders(request, self._changes())

    def handle_alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest, context: ControllerContext
    ) -> ControllerResult[AlterPartitionReassignmentsResponse]:
        del context
        return plan_alter_reassignments(request, self._changes())

    def handle_unregister_broker(
        self, request: UnregisterBrokerRequest, context: ControllerContext
    ) -> ControllerResult[UnregisterBrokerResponse]:
        del context
        return plan_unregister_broker(request, self._changes())

    def handle_create_delegation_token(
        self, request: CreateDelegationTokenRequest, context: ControllerContext
    ) -> ControllerResult[CreateDelegationTokenResponse]:
        return plan_create_token(request, self.image, self._settings.delegation_tokens, context)

    def handle_renew_delegation_token(
        self, request: RenewDelegationTokenRequest, context: ControllerContext
    ) -> ControllerResult[RenewDelegationTokenResponse]:
        return plan_renew_token(request, self.image, self._settings.delegation_tokens, context)

    def handle_expire_delegation_token(
        self, request: ExpireDelegationTokenRequest, context: ControllerContext
    ) -> ControllerResult[ExpireDelegationTokenResponse]:
        return plan_expire_token(request, self.image, self._settings.delegation_tokens, context)

    def handle_expired_delegation_tokens(
        self, request: None, context: ControllerContext
    ) -> ControllerResult[None]:
        """Removes tokens that have expired and cannot be used any more. To be called now and then."""
        del request
        return plan_sweep_tokens(self.image, context)
