"""The admin client and the values it takes and gives. Names are loaded when they are used."""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.clients.admin.acls import AclBinding
    from millstream.clients.admin.brokers import ClusterDescription
    from millstream.clients.admin.client import Admin
    from millstream.clients.admin.client_quotas import (
        ANY_ENTITY,
        DEFAULT_ENTITY,
        ClientQuotaEntity,
        ClientQuotaFilter,
    )
    from millstream.clients.admin.configs import (
        AlterConfig,
        AlterOperation,
        ConfigEntry,
        ConfigResource,
        ConfigResourceType,
        ConfigSource,
        ConfigSynonym,
        ConfigType,
    )
    from millstream.clients.admin.features import (
        FeatureMetadata,
        FeatureRange,
        FeatureUpdate,
        UpgradeType,
    )
    from millstream.clients.admin.group_descriptions import GroupDescription, GroupMemberDescription
    from millstream.clients.admin.group_members import MemberToRemove
    from millstream.clients.admin.group_offsets import GroupOffsets
    from millstream.clients.admin.groups import GroupListing, GroupState, GroupType
    from millstream.clients.admin.log_dirs import (
        LogDirDescription,
        LogDirs,
        ReplicaInfo,
        ReplicaLogDirs,
        TopicPartitionReplica,
    )
    from millstream.clients.admin.offsets import HIGH_WATERMARK, OffsetSpec
    from millstream.clients.admin.producers import OpenTransaction, ProducerState
    from millstream.clients.admin.quorum import QuorumInfo, QuorumReplica, RaftVoterEndpoint
    from millstream.clients.admin.replicas import ElectionType, PartitionReassignment
    from millstream.clients.admin.results import Results
    from millstream.clients.admin.scram import (
        DeleteScramCredential,
        ScramCredentialInfo,
        UpsertScramCredential,
    )
    from millstream.clients.admin.share_group_offsets import ShareGroupOffsets, SharePartitionOffset
    from millstream.clients.admin.streams_groups import (
        StreamsAssignment,
        StreamsGroupDescription,
        StreamsMemberDescription,
        StreamsSubtopology,
        StreamsTask,
        StreamsTopic,
    )
    from millstream.clients.admin.tokens import DelegationToken, KafkaPrincipal
    from millstream.clients.admin.topic_descriptions import PartitionDescription, TopicDescription
    from millstream.clients.admin.topics import CreatedTopic, NewPartitions, NewTopic, TopicListing
    from millstream.clients.admin.transactions import (
        AbortTransactionSpec,
        FencedProducer,
        TransactionDescription,
        TransactionListing,
        TransactionState,
    )
    from millstream.clients.core.offset_reset import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
    from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
    from millstream.security.acl_filter import AclFilter
    from millstream.security.scram import ScramMechanism
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.clients.admin.acls": "AclBinding",
            "millstream.clients.admin.brokers": "ClusterDescription",
            "millstream.clients.admin.client": "Admin",
            "millstream.clients.admin.client_quotas": "ANY_ENTITY ClientQuotaEntity ClientQuotaFilter DEFAULT_ENTITY",
            "millstream.clients.admin.configs": "AlterConfig AlterOperation ConfigEntry ConfigResource ConfigResourceType ConfigSource ConfigSynonym ConfigType",
            "millstream.clients.admin.features": "FeatureMetadata FeatureRange FeatureUpdate UpgradeType",
            "millstream.clients.admin.group_descriptions": "GroupDescription GroupMemberDescription",
            "millstream.clients.admin.group_members": "MemberToRemove",
            "millstream.clients.admin.group_offsets": "GroupOffsets",
            "millstream.clients.admin.groups": "GroupListing GroupState GroupType",
            "millstream.clients.admin.log_dirs": "LogDirDescription LogDirs ReplicaInfo ReplicaLogDirs TopicPartitionReplica",
            "millstream.clients.admin.offsets": "HIGH_WATERMARK OffsetSpec",
            "millstream.clients.admin.producers": "OpenTransaction ProducerState",
            "millstream.clients.admin.quorum": "QuorumInfo QuorumReplica RaftVoterEndpoint",
            "millstream.clients.admin.replicas": "ElectionType PartitionReassignment",
            "millstream.clients.admin.results": "Results",
            "millstream.clients.admin.scram": "DeleteScramCredential ScramCredentialInfo UpsertScramCredential",
            "millstream.clients.admin.share_group_offsets": "ShareGroupOffsets SharePartitionOffset",
            "millstream.clients.admin.streams_groups": "StreamsAssignment StreamsGroupDescription StreamsMemberDescription StreamsSubtopology StreamsTask StreamsTopic",
            "millstream.clients.admin.tokens": "DelegationToken KafkaPrincipal",
            "millstream.clients.admin.topic_descriptions": "PartitionDescription TopicDescription",
            "millstream.clients.admin.topics": "CreatedTopic NewPartitions NewTopic TopicListing",
            "millstream.clients.admin.transactions": "AbortTransactionSpec FencedProducer TransactionDescription TransactionListing TransactionState",
            "millstream.clients.core.offset_reset": "EARLIEST_TIMESTAMP LATEST_TIMESTAMP",
            "millstream.security.acl": "Operation PatternType PermissionType ResourceType",
            "millstream.security.acl_filter": "AclFilter",
            "millstream.security.scram": "ScramMechanism",
        },
    )

__all__ = [
    "ANY_ENTITY",
    "AbortTransactionSpec",
    "AclBinding",
    "AclFilter",
    "Admin",
    "AlterConfig",
    "AlterOperation",
    "ClientQuotaEntity",
    "ClientQuotaFilter",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "CreatedTopic",
    "DEFAULT_ENTITY",
    "DelegationToken",
    "DeleteScramCredential",
    "EARLIEST_TIMESTAMP",
    "ElectionType",
    "FeatureMetadata",
    "FeatureRange",
    "FeatureUpdate",
    "FencedProducer",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "GroupOffsets",
    "GroupState",
    "GroupType",
    "HIGH_WATERMARK",
    "KafkaPrincipal",
    "LATEST_TIMESTAMP",
    "LogDirDescription",
    "LogDirs",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OpenTransaction",
    "Operation",
    "PartitionDescription",
    "PartitionReassignment",
    "PatternType",
    "PermissionType",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "RaftVoterEndpoint",
    "ReplicaInfo",
    "ReplicaLogDirs",
    "ResourceType",
    "Results",
    "ScramCredentialInfo",
    "ScramMechanism",
    "ShareGroupOffsets",
    "SharePartitionOffset",
    "StreamsAssignment",
    "StreamsGroupDescription",
    "StreamsMemberDescription",
    "StreamsSubtopology",
    "StreamsTask",
    "StreamsTopic",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UpgradeType",
    "UpsertScramCredential",
]
