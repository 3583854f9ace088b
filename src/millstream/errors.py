"""Errors. Everything Millstream raises on purpose is a `MillstreamError`.

    MillstreamError
    ├── KafkaError            an error code of the protocol; one class per code, `error_for(code)` finds it
    │   └── RetriableError    the same request may succeed later
    ├── ProtocolError         bytes that are not what the protocol says
    │   ├── MalformedMessage  received: names message, version, field and offset
    │   └── EncodeError       about to be sent: a value that the version cannot carry
    └── ConfigError           a setting that cannot be used; says which and why

Written by `make codegen` from codegen/error_table.py.
"""

from __future__ import annotations

from typing import ClassVar, Final


class MillstreamError(Exception):
    """Root of everything raised on purpose."""


class ConfigError(MillstreamError):
    """A setting that cannot be used. The message names the key and says what to write instead."""


class ProtocolError(MillstreamError):
    """Bytes, or values to be turned into bytes, that break the protocol."""


class MalformedMessage(ProtocolError):
    """Received bytes that cannot be decoded."""

    def __init__(self, reason: str, *, message: str = "?", version: int = -1, field: str = "?", offset: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.field = field
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.message} v{self.version}, field {self.field}, offset {self.offset}: {self.reason}"


class EncodeError(ProtocolError):
    """A value that this version of the message cannot carry."""


DETAIL_CHARACTERS_MAX: Final = 2_000


class KafkaError(MillstreamError):
    """An error of Kafka's protocol. `str()` gives the sentence of the code, or a more exact one."""

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    sentence: ClassVar[str] = ""
    retriable: ClassVar[bool] = False

    def __init__(self, detail: str | None = None, *, bound: str = "") -> None:
        """A detail may quote names that a client chose; it is cut so that it always fits into an answer.

        `bound` names what there is no room for, where Kafka has no such bound: an operator has to hear of it,
        since few answers tell why.
        """
        self.bound = bound
        self.detail = detail[:DETAIL_CHARACTERS_MAX] if detail else detail
        super().__init__(self.detail or self.sentence)


class RetriableError(KafkaError):
    """The same request may succeed later."""

    retriable = True


class UnknownServerError(KafkaError):
    code = -1
    name = "UNKNOWN_SERVER_ERROR"
    sentence = "The server failed in a way it did not expect; its log says how."


class OffsetOutOfRange(KafkaError):
    code = 1
    name = "OFFSET_OUT_OF_RANGE"
    sentence = "The offset is not within the log: it was deleted by retention or not written yet."


class CorruptMessage(RetriableError):
    code = 2
    name = "CORRUPT_MESSAGE"
    sentence = "The batch's checksum or size does not match its contents."


class UnknownTopicOrPartition(RetriableError):
    code = 3
    name = "UNKNOWN_TOPIC_OR_PARTITION"
    sentence = "The server does not host this topic or partition."


class InvalidFetchSize(KafkaError):
    code = 4
    name = "INVALID_FETCH_SIZE"
    sentence = "The requested fetch size is not valid."


class LeaderNotAvailable(RetriableError):
    code = 5
    name = "LEADER_NOT_AVAILABLE"
    sentence = "The partition has no leader at the moment."


class NotLeaderOrFollower(RetriableError):
    code = 6
    name = "NOT_LEADER_OR_FOLLOWER"
    sentence = "This broker is neither leader nor follower of the partition; refresh metadata."


class RequestTimedOut(RetriableError):
    code = 7
    name = "REQUEST_TIMED_OUT"
    sentence = "The request was not completed within its time limit."


class BrokerNotAvailable(KafkaError):
    code = 8
    name = "BROKER_NOT_AVAILABLE"
    sentence = "The broker is not available."


class ReplicaNotAvailable(RetriableError):
    code = 9
    name = "REPLICA_NOT_AVAILABLE"
    sentence = "The replica is not available on this broker."


class MessageTooLarge(KafkaError):
    code = 10
    name = "MESSAGE_TOO_LARGE"
    sentence = "The batch is larger than max.message.bytes of the topic allows."


class StaleControllerEpoch(KafkaError):
    code = 11
    name = "STALE_CONTROLLER_EPOCH"
    sentence = "A newer controller is active."


class OffsetMetadataTooLarge(KafkaError):
    code = 12
    name = "OFFSET_METADATA_TOO_LARGE"
    sentence = "The metadata of a committed offset is longer than offset.metadata.max.bytes."


class NetworkException(RetriableError):
    code = 13
    name = "NETWORK_EXCEPTION"
    sentence = "The connection was lost before the response arrived."


class CoordinatorLoadInProgress(RetriableError):
    code = 14
    name = "COORDINATOR_LOAD_IN_PROGRESS"
    sentence = "The coordinator is still loading its state; try again."


class CoordinatorNotAvailable(RetriableError):
    code = 15
    name = "COORDINATOR_NOT_AVAILABLE"
    sentence = "The coordinator is not available; try again."


class NotCoordinator(RetriableError):
    code = 16
    name = "NOT_COORDINATOR"
    sentence = "This broker is not the coordinator; look it up again."


class InvalidTopic(KafkaError):
    code = 17
    name = "INVALID_TOPIC_EXCEPTION"
    sentence = "The topic name is not legal, or the operation is not allowed on this topic."


class RecordListTooLarge(KafkaError):
    code = 18
    name = "RECORD_LIST_TOO_LARGE"
    sentence = "The batch is larger than the segment size of the server."


class NotEnoughReplicas(RetriableError):
    code = 19
    name = "NOT_ENOUGH_REPLICAS"
    sentence = "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written."


class NotEnoughReplicasAfterAppend(RetriableError):
    code = 20
    name = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    sentence = "The batch was written, but fewer replicas were in sync than required."


class InvalidRequiredAcks(KafkaError):
    code = 21
    name = "INVALID_REQUIRED_ACKS"
    sentence = "acks must be -1 (all), 0 or 1."


class IllegalGeneration(KafkaError):
    code = 22
    name = "ILLEGAL_GENERATION"
    sentence = "The generation of the group has changed; join again."


class InconsistentGroupProtocol(KafkaError):
    code = 23
    name = "INCONSISTENT_GROUP_PROTOCOL"
    sentence = "The member shares no protocol type or assignor with the rest of the group."


class InvalidGroupId(KafkaError):
    code = 24
    name = "INVALID_GROUP_ID"
    sentence = "The group id is not valid."


class UnknownMemberId(KafkaError):
    code = 25
    name = "UNKNOWN_MEMBER_ID"
    sentence = "The coordinator does not know this member; join again."


class InvalidSessionTimeout(KafkaError):
    code = 26
    name = "INVALID_SESSION_TIMEOUT"
    sentence = "The session timeout is outside group.min/max.session.timeout.ms."


class RebalanceInProgress(KafkaError):
    code = 27
    name = "REBALANCE_IN_PROGRESS"
    sentence = "The group is rebalancing; join again."


class InvalidCommitOffsetSize(KafkaError):
    code = 28
    name = "INVALID_COMMIT_OFFSET_SIZE"
    sentence = "The offset commit is too large to be written."


class TopicAuthorizationFailed(KafkaError):
    code = 29
    name = "TOPIC_AUTHORIZATION_FAILED"
    sentence = "Not authorized for this topic: its user needs READ on it to read, WRITE to write, CREATE to create it, DELETE, ALTER or ALTER_CONFIGS to change it, DESCRIBE or DESCRIBE_CONFIGS to look at it."


class GroupAuthorizationFailed(KafkaError):
    code = 30
    name = "GROUP_AUTHORIZATION_FAILED"
    sentence = "Not authorized for this group: its user needs READ on it, or DESCRIBE to look at it, DELETE to delete it."


class ClusterAuthorizationFailed(KafkaError):
    code = 31
    name = "CLUSTER_AUTHORIZATION_FAILED"
    sentence = "Not authorized for this operation on the cluster: its user needs a permission on the resource kafka-cluster."


class InvalidTimestamp(KafkaError):
    code = 32
    name = "INVALID_TIMESTAMP"
    sentence = "A timestamp lies outside the range that the topic accepts."


class UnsupportedSaslMechanism(KafkaError):
    code = 33
    name = "UNSUPPORTED_SASL_MECHANISM"
    sentence = "The server does not offer this SASL mechanism."


class IllegalSaslState(KafkaError):
    code = 34
    name = "ILLEGAL_SASL_STATE"
    sentence = "The request is not legal in the current state of authentication."


class UnsupportedVersion(KafkaError):
    code = 35
    name = "UNSUPPORTED_VERSION"
    sentence = "The server does not support this version of the request."


class TopicAlreadyExists(KafkaError):
    code = 36
    name = "TOPIC_ALREADY_EXISTS"
    sentence = "A topic of this name exists already."


class InvalidPartitions(KafkaError):
    code = 37
    name = "INVALID_PARTITIONS"
    sentence = "The number of partitions is not valid."


class InvalidReplicationFactor(KafkaError):
    code = 38
    name = "INVALID_REPLICATION_FACTOR"
    sentence = "The replication factor is below 1 or above the number of usable brokers."


class InvalidReplicaAssignment(KafkaError):
    code = 39
    name = "INVALID_REPLICA_ASSIGNMENT"
    sentence = "The replica assignment is not valid."


class InvalidConfig(KafkaError):
    code = 40
    name = "INVALID_CONFIG"
    sentence = "A configuration value is not valid."


class NotController(RetriableError):
    code = 41
    name = "NOT_CONTROLLER"
    sentence = "This node is not the active controller."


class InvalidRequest(KafkaError):
    code = 42
    name = "INVALID_REQUEST"
    sentence = "The request contradicts itself or lacks what it needs."


class UnsupportedForMessageFormat(KafkaError):
    code = 43
    name = "UNSUPPORTED_FOR_MESSAGE_FORMAT"
    sentence = "The record format of the server does not support this."


class PolicyViolation(KafkaError):
    code = 44
    name = "POLICY_VIOLATION"
    sentence = "The request violates a policy of the server."


class OutOfOrderSequenceNumber(KafkaError):
    code = 45
    name = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    sentence = "The producer's sequence number does not follow the last one; a batch is missing."


class DuplicateSequenceNumber(KafkaError):
    code = 46
    name = "DUPLICATE_SEQUENCE_NUMBER"
    sentence = "The batch was written before and is no longer among the remembered ones."


class InvalidProducerEpoch(KafkaError):
    code = 47
    name = "INVALID_PRODUCER_EPOCH"
    sentence = "A producer with the same id and a newer epoch exists."


class InvalidTxnState(KafkaError):
    code = 48
    name = "INVALID_TXN_STATE"
    sentence = "The operation is not legal in the current state of the transaction."


class InvalidProducerIdMapping(KafkaError):
    code = 49
    name = "INVALID_PRODUCER_ID_MAPPING"
    sentence = "The producer id does not belong to this transactional id."


class InvalidTransactionTimeout(KafkaError):
    code = 50
    name = "INVALID_TRANSACTION_TIMEOUT"
    sentence = "The transaction timeout is larger than transaction.max.timeout.ms."


class ConcurrentTransactions(RetriableError):
    code = 51
    name = "CONCURRENT_TRANSACTIONS"
    sentence = "An earlier transaction of this producer is still being completed; try again."


class TransactionCoordinatorFenced(KafkaError):
    code = 52
    name = "TRANSACTION_COORDINATOR_FENCED"
    sentence = "A newer transaction coordinator is active."


class TransactionalIdAuthorizationFailed(KafkaError):
    code = 53
    name = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    sentence = "Not authorized for this transactional id: its user needs WRITE on it, or DESCRIBE to look at it."


class SecurityDisabled(KafkaError):
    code = 54
    name = "SECURITY_DISABLED"
    sentence = "Security features are disabled on this server."


class OperationNotAttempted(KafkaError):
    code = 55
    name = "OPERATION_NOT_ATTEMPTED"
    sentence = "The operation was not attempted, because another part of the request failed first."


class KafkaStorageError(RetriableError):
    code = 56
    name = "KAFKA_STORAGE_ERROR"
    sentence = "The disk failed while the server accessed the log."


class LogDirNotFound(KafkaError):
    code = 57
    name = "LOG_DIR_NOT_FOUND"
    sentence = "The log directory is not configured on this broker."


class SaslAuthenticationFailed(KafkaError):
    code = 58
    name = "SASL_AUTHENTICATION_FAILED"
    sentence = "Authentication failed: the credentials were not accepted."


class UnknownProducerId(KafkaError):
    code = 59
    name = "UNKNOWN_PRODUCER_ID"
    sentence = "The server no longer knows the state of this producer."


class ReassignmentInProgress(KafkaError):
    code = 60
    name = "REASSIGNMENT_IN_PROGRESS"
    sentence = "A reassignment of the partition is under way."


class DelegationTokenAuthDisabled(KafkaError):
    code = 61
    name = "DELEGATION_TOKEN_AUTH_DISABLED"
    sentence = "Delegation tokens are not enabled."


class DelegationTokenNotFound(KafkaError):
    code = 62
    name = "DELEGATION_TOKEN_NOT_FOUND"
    sentence = "The delegation token does not exist."


class DelegationTokenOwnerMismatch(KafkaError):
    code = 63
    name = "DELEGATION_TOKEN_OWNER_MISMATCH"
    sentence = "The principal is neither owner nor renewer of the token."


class DelegationTokenRequestNotAllowed(KafkaError):
    code = 64
    name = "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"
    sentence = "Delegation token requests need an authenticated, token-free connection."


class DelegationTokenAuthorizationFailed(KafkaError):
    code = 65
    name = "DELEGATION_TOKEN_AUTHORIZATION_FAILED"
    sentence = "Not authorized for this delegation token."


class DelegationTokenExpired(KafkaError):
    code = 66
    name = "DELEGATION_TOKEN_EXPIRED"
    sentence = "The delegation token has expired."


class InvalidPrincipalType(KafkaError):
    code = 67
    name = "INVALID_PRINCIPAL_TYPE"
    sentence = "The principal type is not supported."


class NonEmptyGroup(KafkaError):
    code = 68
    name = "NON_EMPTY_GROUP"
    sentence = "The group still has members."


class GroupIdNotFound(KafkaError):
    code = 69
    name = "GROUP_ID_NOT_FOUND"
    sentence = "The group does not exist."


class FetchSessionIdNotFound(RetriableError):
    code = 70
    name = "FETCH_SESSION_ID_NOT_FOUND"
    sentence = "The fetch session does not exist any more; start a new one."


class InvalidFetchSessionEpoch(RetriableError):
    code = 71
    name = "INVALID_FETCH_SESSION_EPOCH"
    sentence = "The fetch session epoch is not the expected one."


class ListenerNotFound(RetriableError):
    code = 72
    name = "LISTENER_NOT_FOUND"
    sentence = "The leader has no listener of the name used by this connection."


class TopicDeletionDisabled(KafkaError):
    code = 73
    name = "TOPIC_DELETION_DISABLED"
    sentence = "delete.topic.enable is false."


class FencedLeaderEpoch(RetriableError):
    code = 74
    name = "FENCED_LEADER_EPOCH"
    sentence = "The leader epoch of the request is older than the server's."


class UnknownLeaderEpoch(RetriableError):
    code = 75
    name = "UNKNOWN_LEADER_EPOCH"
    sentence = "The leader epoch of the request is newer than the server's."


class UnsupportedCompressionType(KafkaError):
    code = 76
    name = "UNSUPPORTED_COMPRESSION_TYPE"
    sentence = "The compression type is not supported by this version of the request."


class StaleBrokerEpoch(KafkaError):
    code = 77
    name = "STALE_BROKER_EPOCH"
    sentence = "The broker has registered again since."


class OffsetNotAvailable(RetriableError):
    code = 78
    name = "OFFSET_NOT_AVAILABLE"
    sentence = "The leader's high watermark has not caught up after an election; try again."


class MemberIdRequired(KafkaError):
    code = 79
    name = "MEMBER_ID_REQUIRED"
    sentence = "Join again with the member id given in this response."


class PreferredLeaderNotAvailable(RetriableError):
    code = 80
    name = "PREFERRED_LEADER_NOT_AVAILABLE"
    sentence = "The preferred leader is not available."


class GroupMaxSizeReached(KafkaError):
    code = 81
    name = "GROUP_MAX_SIZE_REACHED"
    sentence = "The group has as many members as it may have."


class FencedInstanceId(KafkaError):
    code = 82
    name = "FENCED_INSTANCE_ID"
    sentence = "Another member has taken this group.instance.id."


class EligibleLeadersNotAvailable(RetriableError):
    code = 83
    name = "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    sentence = "No eligible leader is available."


class ElectionNotNeeded(RetriableError):
    code = 84
    name = "ELECTION_NOT_NEEDED"
    sentence = "The partition has the desired leader already."


class NoReassignmentInProgress(KafkaError):
    code = 85
    name = "NO_REASSIGNMENT_IN_PROGRESS"
    sentence = "No reassignment of the partition is under way."


class GroupSubscribedToTopic(KafkaError):
    code = 86
    name = "GROUP_SUBSCRIBED_TO_TOPIC"
    sentence = "The group is subscribed to the topic, so its offsets cannot be deleted."


class InvalidRecord(KafkaError):
    code = 87
    name = "INVALID_RECORD"
    sentence = "A record of the batch was refused by the broker."


class UnstableOffsetCommit(RetriableError):
    code = 88
    name = "UNSTABLE_OFFSET_COMMIT"
    sentence = "A transaction that commits this offset is still open; try again."


class ThrottlingQuotaExceeded(RetriableError):
    code = 89
    name = "THROTTLING_QUOTA_EXCEEDED"
    sentence = "The quota is used up; try again later."


class ProducerFenced(KafkaError):
    code = 90
    name = "PRODUCER_FENCED"
    sentence = "A newer producer with the same transactional id has taken over."


class ResourceNotFound(KafkaError):
    code = 91
    name = "RESOURCE_NOT_FOUND"
    sentence = "The resource does not exist."


class DuplicateResource(KafkaError):
    code = 92
    name = "DUPLICATE_RESOURCE"
    sentence = "The request names a resource twice."


class UnacceptableCredential(KafkaError):
    code = 93
    name = "UNACCEPTABLE_CREDENTIAL"
    sentence = "The credential does not meet the requirements."


class InconsistentVoterSet(KafkaError):
    code = 94
    name = "INCONSISTENT_VOTER_SET"
    sentence = "The voter sets of sender and receiver differ."


class InvalidUpdateVersion(KafkaError):
    code = 95
    name = "INVALID_UPDATE_VERSION"
    sentence = "The update is based on an outdated version."


class FeatureUpdateFailed(KafkaError):
    code = 96
    name = "FEATURE_UPDATE_FAILED"
    sentence = "The feature level could not be changed."


class PrincipalDeserializationFailure(KafkaError):
    code = 97
    name = "PRINCIPAL_DESERIALIZATION_FAILURE"
    sentence = "The forwarded principal could not be read."


class SnapshotNotFound(KafkaError):
    code = 98
    name = "SNAPSHOT_NOT_FOUND"
    sentence = "The snapshot does not exist."


class PositionOutOfRange(KafkaError):
    code = 99
    name = "POSITION_OUT_OF_RANGE"
    sentence = "The position lies outside the snapshot."


class UnknownTopicId(RetriableError):
    code = 100
    name = "UNKNOWN_TOPIC_ID"
    sentence = "The server does not host a topic of this id."


class DuplicateBrokerRegistration(KafkaError):
    code = 101
    name = "DUPLICATE_BROKER_REGISTRATION"
    sentence = "A broker of this id is registered and alive."


class BrokerIdNotRegistered(KafkaError):
    code = 102
    name = "BROKER_ID_NOT_REGISTERED"
    sentence = "No broker of this id is registered."


class InconsistentTopicId(RetriableError):
    code = 103
    name = "INCONSISTENT_TOPIC_ID"
    sentence = "The topic id does not match the one in the log."


class InconsistentClusterId(KafkaError):
    code = 104
    name = "INCONSISTENT_CLUSTER_ID"
    sentence = "The cluster id of the request is not this cluster's."


class TransactionalIdNotFound(KafkaError):
    code = 105
    name = "TRANSACTIONAL_ID_NOT_FOUND"
    sentence = "The transactional id does not exist."


class FetchSessionTopicIdError(RetriableError):
    code = 106
    name = "FETCH_SESSION_TOPIC_ID_ERROR"
    sentence = "The fetch session mixes topic names and topic ids."


class IneligibleReplica(KafkaError):
    code = 107
    name = "INELIGIBLE_REPLICA"
    sentence = "A replica of the new in-sync set may not join it."


class NewLeaderElected(KafkaError):
    code = 108
    name = "NEW_LEADER_ELECTED"
    sentence = "The update made another broker the leader."


class OffsetMovedToTieredStorage(KafkaError):
    code = 109
    name = "OFFSET_MOVED_TO_TIERED_STORAGE"
    sentence = "The offset lives in tiered storage."


class FencedMemberEpoch(KafkaError):
    code = 110
    name = "FENCED_MEMBER_EPOCH"
    sentence = "The member epoch was fenced; abandon all partitions and join again."


class UnreleasedInstanceId(KafkaError):
    code = 111
    name = "UNRELEASED_INSTANCE_ID"
    sentence = "The group.instance.id is still held by another member."


class UnsupportedAssignor(KafkaError):
    code = 112
    name = "UNSUPPORTED_ASSIGNOR"
    sentence = "The group does not offer this assignor."


class StaleMemberEpoch(KafkaError):
    code = 113
    name = "STALE_MEMBER_EPOCH"
    sentence = "The member epoch is outdated; use the one of the last heartbeat."


class MismatchedEndpointType(KafkaError):
    code = 114
    name = "MISMATCHED_ENDPOINT_TYPE"
    sentence = "The request was sent to an endpoint of the wrong type."


class UnsupportedEndpointType(KafkaError):
    code = 115
    name = "UNSUPPORTED_ENDPOINT_TYPE"
    sentence = "This endpoint type is not supported."


class UnknownControllerId(KafkaError):
    code = 116
    name = "UNKNOWN_CONTROLLER_ID"
    sentence = "The controller id is not known."


class UnknownSubscriptionId(KafkaError):
    code = 117
    name = "UNKNOWN_SUBSCRIPTION_ID"
    sentence = "The telemetry subscription is not the current one."


class TelemetryTooLarge(KafkaError):
    code = 118
    name = "TELEMETRY_TOO_LARGE"
    sentence = "The telemetry is larger than the broker accepts."


class InvalidRegistration(KafkaError):
    code = 119
    name = "INVALID_REGISTRATION"
    sentence = "The controller considers the broker registration invalid."


class TransactionAbortable(KafkaError):
    code = 120
    name = "TRANSACTION_ABORTABLE"
    sentence = "The transaction met an error: abort it, then go on."


class InvalidRecordState(KafkaError):
    code = 121
    name = "INVALID_RECORD_STATE"
    sentence = "The record is not in a state that allows this acknowledgement."


class ShareSessionNotFound(RetriableError):
    code = 122
    name = "SHARE_SESSION_NOT_FOUND"
    sentence = "The share session does not exist."


class InvalidShareSessionEpoch(RetriableError):
    code = 123
    name = "INVALID_SHARE_SESSION_EPOCH"
    sentence = "The share session epoch is not the expected one."


class FencedStateEpoch(KafkaError):
    code = 124
    name = "FENCED_STATE_EPOCH"
    sentence = "The share partition's state epoch is older than the coordinator's."


class InvalidVoterKey(KafkaError):
    code = 125
    name = "INVALID_VOTER_KEY"
    sentence = "The voter key is not this node's."


class DuplicateVoter(KafkaError):
    code = 126
    name = "DUPLICATE_VOTER"
    sentence = "The voter is part of the voter set already."


class VoterNotFound(KafkaError):
    code = 127
    name = "VOTER_NOT_FOUND"
    sentence = "The voter is not part of the voter set."


class InvalidRegularExpression(KafkaError):
    code = 128
    name = "INVALID_REGULAR_EXPRESSION"
    sentence = "The regular expression is not valid."


class RebootstrapRequired(KafkaError):
    code = 129
    name = "REBOOTSTRAP_REQUIRED"
    sentence = "The client's metadata is outdated; bootstrap again."


class StreamsInvalidTopology(KafkaError):
    code = 130
    name = "STREAMS_INVALID_TOPOLOGY"
    sentence = "The streams topology is not valid."


class StreamsInvalidTopologyEpoch(KafkaError):
    code = 131
    name = "STREAMS_INVALID_TOPOLOGY_EPOCH"
    sentence = "The topology epoch is not valid."


class StreamsTopologyFenced(KafkaError):
    code = 132
    name = "STREAMS_TOPOLOGY_FENCED"
    sentence = "The topology epoch is outdated."


class ShareSessionLimitReached(RetriableError):
    code = 133
    name = "SHARE_SESSION_LIMIT_REACHED"
    sentence = "As many share sessions are open as the broker allows."


ERRORS: Final[dict[int, type[KafkaError]]] = {
    -1: UnknownServerError,
    1: OffsetOutOfRange,
    2: CorruptMessage,
    3: UnknownTopicOrPartition,
    4: InvalidFetchSize,
    5: LeaderNotAvailable,
    6: NotLeaderOrFollower,
    7: RequestTimedOut,
    8: BrokerNotAvailable,
    9: ReplicaNotAvailable,
    10: MessageTooLarge,
    11: StaleControllerEpoch,
    12: OffsetMetadataTooLarge,
    13: NetworkException,
    14: CoordinatorLoadInProgress,
    15: CoordinatorNotAvailable,
    16: NotCoordinator,
    17: InvalidTopic,
    18: RecordListTooLarge,
    19: NotEnoughReplicas,
    20: NotEnoughReplicasAfterAppend,
    21: InvalidRequiredAcks,
    22: IllegalGeneration,
    23: InconsistentGroupProtocol,
    24: InvalidGroupId,
    25: UnknownMemberId,
    26: InvalidSessionTimeout,
    27: RebalanceInProgress,
    28: InvalidCommitOffsetSize,
    29: TopicAuthorizationFailed,
    30: GroupAuthorizationFailed,
    31: ClusterAuthorizationFailed,
    32: InvalidTimestamp,
    33: UnsupportedSaslMechanism,
    34: IllegalSaslState,
    35: UnsupportedVersion,
    36: TopicAlreadyExists,
    37: InvalidPartitions,
    38: InvalidReplicationFactor,
    39: InvalidReplicaAssignment,
    40: InvalidConfig,
    41: NotController,
    42: InvalidRequest,
    43: UnsupportedForMessageFormat,
    44: PolicyViolation,
    45: OutOfOrderSequenceNumber,
    46: DuplicateSequenceNumber,
    47: InvalidProducerEpoch,
    48: InvalidTxnState,
    49: InvalidProducerIdMapping,
    50: InvalidTransactionTimeout,
    51: ConcurrentTransactions,
    52: TransactionCoordinatorFenced,
    53: TransactionalIdAuthorizationFailed,
    54: SecurityDisabled,
    55: OperationNotAttempted,
    56: KafkaStorageError,
    57: LogDirNotFound,
    58: SaslAuthenticationFailed,
    59: UnknownProducerId,
    60: ReassignmentInProgress,
    61: DelegationTokenAuthDisabled,
    62: DelegationTokenNotFound,
    63: DelegationTokenOwnerMismatch,
    64: DelegationTokenRequestNotAllowed,
    65: DelegationTokenAuthorizationFailed,
    66: DelegationTokenExpired,
    67: InvalidPrincipalType,
    68: NonEmptyGroup,
    69: GroupIdNotFound,
    70: FetchSessionIdNotFound,
    71: InvalidFetchSessionEpoch,
    72: ListenerNotFound,
    73: TopicDeletionDisabled,
    74: FencedLeaderEpoch,
    75: UnknownLeaderEpoch,
    76: UnsupportedCompressionType,
    77: StaleBrokerEpoch,
    78: OffsetNotAvailable,
    79: MemberIdRequired,
    80: PreferredLeaderNotAvailable,
    81: GroupMaxSizeReached,
    82: FencedInstanceId,
    83: EligibleLeadersNotAvailable,
    84: ElectionNotNeeded,
    85: NoReassignmentInProgress,
    86: GroupSubscribedToTopic,
    87: InvalidRecord,
    88: UnstableOffsetCommit,
    89: ThrottlingQuotaExceeded,
    90: ProducerFenced,
    91: ResourceNotFound,
    92: DuplicateResource,
    93: UnacceptableCredential,
    94: InconsistentVoterSet,
    95: InvalidUpdateVersion,
    96: FeatureUpdateFailed,
    97: PrincipalDeserializationFailure,
    98: SnapshotNotFound,
    99: PositionOutOfRange,
    100: UnknownTopicId,
    101: DuplicateBrokerRegistration,
    102: BrokerIdNotRegistered,
    103: InconsistentTopicId,
    104: InconsistentClusterId,
    105: TransactionalIdNotFound,
    106: FetchSessionTopicIdError,
    107: IneligibleReplica,
    108: NewLeaderElected,
    109: OffsetMovedToTieredStorage,
    110: FencedMemberEpoch,
    111: UnreleasedInstanceId,
    112: UnsupportedAssignor,
    113: StaleMemberEpoch,
    114: MismatchedEndpointType,
    115: UnsupportedEndpointType,
    116: UnknownControllerId,
    117: UnknownSubscriptionId,
    118: TelemetryTooLarge,
    119: InvalidRegistration,
    120: TransactionAbortable,
    121: InvalidRecordState,
    122: ShareSessionNotFound,
    123: InvalidShareSessionEpoch,
    124: FencedStateEpoch,
    125: InvalidVoterKey,
    126: DuplicateVoter,
    127: VoterNotFound,
    128: InvalidRegularExpression,
    129: RebootstrapRequired,
    130: StreamsInvalidTopology,
    131: StreamsInvalidTopologyEpoch,
    132: StreamsTopologyFenced,
    133: ShareSessionLimitReached,
}


def error_for(code: int, detail: str | None = None) -> KafkaError:
    """Returns the exception for an error code of a response.

    Codes this release does not know become UnknownServerError.
    """
    kind = ERRORS.get(code)
    if kind is None:
        return UnknownServerError(detail or f"error code {code}, which is newer than this client")
    return kind(detail)
