"""The admin client and the values it takes and gives. Names are loaded when they are used."""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.clients.admin.admin import Admin
    from millstream.clients.admin.cluster.brokers import ClusterDescription
    from millstream.clients.admin.cluster.features import (
        FeatureMetadata,
        FeatureRange,
        FeatureUpdate,
    )
    from millstream.clients.admin.cluster.log_dirs import (
        LogDirDescription,
        LogDirs,
        ReplicaInfo,
        ReplicaLogDirs,
        TopicPartitionReplica,
    )
    from millstream.clients.admin.cluster.quorum import QuorumInfo, QuorumReplica, RaftVoterEndpoint
    from millstream.clients.admin.cluster.replicas import PartitionReassignment
    from millstream.clients.admin.configs.client_quotas import (
        ANY_ENTITY,
        DEFAULT_ENTITY,
        ClientQuotaEntity,
        ClientQuotaFilter,
    )
    from millstream.clients.admin.configs.configs import (
        AlterConfig,
        ConfigEntry,
    )
    from millstream.clients.admin.core.results import Results
    from millstream.clients.admin.groups.descriptions import (
        GroupDescription,
        GroupMemberDescription,
    )
    from millstream.clients.admin.groups.groups import GroupListing, GroupType
    from millstream.clients.admin.groups.members import MemberToRemove
    from millstream.clients.admin.groups.offsets import GroupOffsets
    from millstream.clients.admin.groups.share_offsets import (
        ShareGroupOffsets,
        SharePartitionOffset,
    )
    from millstream.clients.admin.groups.streams_descriptions import (
        StreamsAssignment,
        StreamsGroupDescription,
        StreamsMemberDescription,
        StreamsSubtopology,
        StreamsTask,
        StreamsTopic,
    )
    from millstream.clients.admin.security.acls import AclBinding
    from millstream.clients.admin.security.scram import (
        DeleteScramCredential,
        ScramCredentialInfo,
        UpsertScramCredential,
    )
    from millstream.clients.admin.security.tokens import DelegationToken
    from millstream.clients.admin.topics.descriptions import PartitionDescription, TopicDescription
    from millstream.clients.admin.topics.offsets import HIGH_WATERMARK, OffsetSpec
    from millstream.clients.admin.topics.topics import (
        CreatedTopic,
        NewPartitions,
        NewTopic,
        TopicListing,
    )
    from millstream.clients.admin.transactions.producers import OpenTransaction, ProducerState
    from millstream.clients.admin.transactions.transactions import (
        AbortTransactionSpec,
        FencedProducer,
        TransactionDescription,
        TransactionListing,
    )
    from millstream.clients.consumer.core.offset_reset import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
    from millstream.metadata.config_resource import ConfigResource, ConfigSynonym
    from millstream.protocol.enums import (
        AlterOperation,
        ConfigResourceType,
        ConfigSource,
        ConfigType,
        ElectionType,
        GroupState,
        TransactionState,
        UpgradeType,
    )
    from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
    from millstream.security.acl_filter import AclFilter
    from millstream.security.principal import KafkaPrincipal
    from millstream.security.scram import ScramMechanism
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.clients.admin.security.acls": "AclBinding",
            "millstream.clients.admin.cluster.brokers": "ClusterDescription",
            "millstream.clients.admin.admin": "Admin",
            "millstream.clients.admin.configs.client_quotas": "ANY_ENTITY ClientQuotaEntity ClientQuotaFilter DEFAULT_ENTITY",
            "millstream.clients.admin.configs.configs": "AlterConfig ConfigEntry",
            "millstream.metadata.config_resource": "ConfigResource ConfigSynonym",
            "millstream.clients.admin.cluster.features": "FeatureMetadata FeatureRange FeatureUpdate",
            "millstream.clients.admin.groups.descriptions": "GroupDescription GroupMemberDescription",
            "millstream.clients.admin.groups.members": "MemberToRemove",
            "millstream.clients.admin.groups.offsets": "GroupOffsets",
            "millstream.clients.admin.groups.groups": "GroupListing GroupType",
            "millstream.clients.admin.cluster.log_dirs": "LogDirDescription LogDirs ReplicaInfo ReplicaLogDirs TopicPartitionReplica",
            "millstream.clients.admin.topics.offsets": "HIGH_WATERMARK OffsetSpec",
            "millstream.clients.admin.transactions.producers": "OpenTransaction ProducerState",
            "millstream.clients.admin.cluster.quorum": "QuorumInfo QuorumReplica RaftVoterEndpoint",
            "millstream.protocol.enums": "AlterOperation ConfigResourceType ConfigSource ConfigType ElectionType GroupState TransactionState UpgradeType",
            "millstream.clients.admin.cluster.replicas": "PartitionReassignment",
            "millstream.clients.admin.core.results": "Results",
            "millstream.clients.admin.security.scram": "DeleteScramCredential ScramCredentialInfo UpsertScramCredential",
            "millstream.clients.admin.groups.share_offsets": "ShareGroupOffsets SharePartitionOffset",
            "millstream.clients.admin.groups.streams_descriptions": "StreamsAssignment StreamsGroupDescription StreamsMemberDescription StreamsSubtopology StreamsTask StreamsTopic",
            "millstream.clients.admin.security.tokens": "DelegationToken",
            "millstream.security.principal": "KafkaPrincipal",
            "millstream.clients.admin.topics.descriptions": "PartitionDescription TopicDescription",
            "millstream.clients.admin.topics.topics": "CreatedTopic NewPartitions NewTopic TopicListing",
            "millstream.clients.admin.transactions.transactions": "AbortTransactionSpec FencedProducer TransactionDescription TransactionListing",
            "millstream.clients.consumer.core.offset_reset": "EARLIEST_TIMESTAMP LATEST_TIMESTAMP",
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
