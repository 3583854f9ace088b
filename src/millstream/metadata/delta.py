"""The changes between two metadata images: records in, the next image out.

Owns which record goes where. Replays in log order, on the node that wrote the records and on every other alike.
Metadata transactions are the loader's business: a delta only ever sees records that count.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.metadata.brokers_delta import BrokersDelta
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.metadata.security_delta import SecurityDelta
from millstream.metadata.topics_delta import TopicsDelta
from millstream.model import LeaderEpoch, Offset, ProducerId
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated import metadata_records as records

MetadataRecord = object
"""Any generated class of `protocol.generated.metadata_records`."""


class MetadataDelta:
    """Replays records on top of `base`; `image()` gives the result, the other members say what differs."""

    def __init__(self, base: MetadataImage) -> None:
        self.base = base
        self.topics = TopicsDelta(base.topics)
        self.brokers = BrokersDelta(base.brokers, base.controllers)
        self.changed_configs: dict[ConfigResource, dict[str, str]] = {}
        """All overrides of each touched resource, as they are now."""
        self.changed_features: dict[str, int] = {}
        self.next_producer_id: ProducerId = base.next_producer_id
        self.security = SecurityDelta(base)

    def replay(self, record: MetadataRecord) -> None:
        """Applies one record. Raises AssertionError when it contradicts the records before it: the log is damaged."""
        if (
            self._replay_topic_record(record)
            or self._replay_broker_record(record)
            or self._replay_security_record(record)
        ):
            return
        match record:
            case records.ConfigRecord():
                self._replay_config(record)
            case records.FeatureLevelRecord():
                self.changed_features[record.name] = record.feature_level
            case records.ProducerIdsRecord():
                self.next_producer_id = ProducerId(record.next_producer_id)
            case records.NoOpRecord() | records.ZkMigrationStateRecord():
                pass  # the latter is of ZooKeeper times and means nothing in KRaft
            case _:
                raise AssertionError(
                    f"{type(record).__name__} is no record that a delta can replay"
                )

    def image(self, offset: Offset, epoch: LeaderEpoch) -> MetadataImage:
        """Returns the base with everything replayed; `offset` and `epoch` are those of the last replayed record."""
        base = self.base
        return MetadataImage(
            cluster_id=base.cluster_id,
            offset=offset,
            epoch=epoch,
            features=self._features(),
            brokers=self.brokers.brokers_image(),
            controllers=self.brokers.controllers_image(),
            topics=self.topics.image(),
            configs=self._configs(),
            next_producer_id=self.next_producer_id,
            acls=self.security.acls.result(),
            scram=self.security.scram.result(),
            delegation_tokens=self.security.tokens.result(),
            client_quotas=self.security.quotas.result(),
        )

    def _replay_topic_record(self, record: MetadataRecord) -> bool:
        match record:
            case records.TopicRecord():
                self.topics.replay_topic(record)
            case records.PartitionRecord():
                self.topics.replay_partition(record)
            case records.PartitionChangeRecord():
                self.topics.replay_partition_change(record)
            case records.RemoveTopicRecord():
                name = self.topics.replay_remove_topic(record)
                self.changed_configs[ConfigResource(ConfigResourceType.TOPIC, name)] = {}
            case records.ClearElrRecord():
                self.topics.replay_clear_elr(record)
            case _:
                return False
        return True

    def _replay_broker_record(self, record: MetadataRecord) -> bool:
        match record:
            case records.RegisterBrokerRecord():
                self.brokers.replay_register(record)
            case records.UnregisterBrokerRecord():
                self.brokers.replay_unregister(record)
            case records.BrokerRegistrationChangeRecord():
                self.brokers.replay_change(record)
            case records.FenceBrokerRecord():
                self.brokers.replay_fenced(record.id, record.epoch, fenced=True)
            case records.UnfenceBrokerRecord():
                self.brokers.replay_fenced(record.id, record.epoch, fenced=False)
            case records.RegisterControllerRecord():
                self.brokers.replay_register_controller(record)
            case _:
                return False
        return True

    def _replay_security_record(self, record: MetadataRecord) -> bool:
        match record:
            case records.AccessControlEntryRecord():
                self.security.replay_acl(record)
            case records.RemoveAccessControlEntryRecord():
                self.security.replay_remove_acl(record)
            case records.UserScramCredentialRecord():
                self.security.replay_scram(record)
            case records.RemoveUserScramCredentialRecord():
                self.security.replay_remove_scram(record)
            case records.DelegationTokenRecord():
                self.security.replay_token(record)
            case records.RemoveDelegationTokenRecord():
                self.security.replay_remove_token(record)
            case records.ClientQuotaRecord():
                self.security.replay_quota(record)
            case _:
                return False
        return True

    def _replay_config(self, record: records.ConfigRecord) -> None:
        resource = ConfigResource(ConfigResourceType(record.resource_type), record.resource_name)
        config = self.changed_configs.get(resource)
        if config is None:
            config = self.changed_configs[resource] = dict(self.base.config(resource))
        if record.value is None:
            config.pop(record.name, None)
        else:
            config[record.name] = record.value

    def _configs(self) -> Mapping[ConfigResource, Mapping[str, str]]:
        if not self.changed_configs:
            return self.base.configs
        configs = dict(self.base.configs)
        for resource, config in self.changed_configs.items():
            if config:
                configs[resource] = frozen_mapping(config)
            else:
                configs.pop(resource, None)
        return frozen_mapping(configs)

    def _features(self) -> Mapping[str, int]:
        if not self.changed_features:
            return self.base.features
        levels = {**self.base.features, **self.changed_features}
        return frozen_mapping({name: level for name, level in levels.items() if level})
