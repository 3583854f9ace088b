"""The changes of registered brokers and controllers between two images.

Owns the replay of RegisterBroker, UnregisterBroker, BrokerRegistrationChange, FenceBroker, UnfenceBroker and
RegisterController records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.metadata.broker_registration import (
    BrokerRegistration,
    ControllerRegistration,
    Endpoint,
    SecurityProtocol,
    SupportedVersionRange,
)
from millstream.metadata.image import frozen_mapping
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)


class BrokersDelta:
    """Replays registration records on top of the brokers and controllers of an image."""

    def __init__(
        self,
        brokers: Mapping[BrokerId, BrokerRegistration],
        controllers: Mapping[BrokerId, ControllerRegistration],
    ) -> None:
        self._brokers = brokers
        self._controllers = controllers
        self.changed: dict[BrokerId, BrokerRegistration | None] = {}
        """Brokers by id as they are now; None for one that is gone."""
        self.changed_controllers: dict[BrokerId, ControllerRegistration] = {}

    def replay_register(self, record: RegisterBrokerRecord) -> None:
        registration = broker_registration(record)
        self.changed[registration.broker_id] = registration

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        self._current(record.broker_id, record.broker_epoch)
        self.changed[BrokerId(record.broker_id)] = None

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        before = self._current(record.broker_id, record.broker_epoch)
        after = before
        if record.fenced:
            after = replace(after, fenced=record.fenced > 0)
        if record.in_controlled_shutdown:
            after = replace(after, in_controlled_shutdown=record.in_controlled_shutdown > 0)
        if record.log_dirs:
            after = replace(after, log_directories=tuple(map(Uuid, record.log_dirs)))
        if record.cordoned_log_dirs is not None:
            after = replace(
                after, cordoned_log_directories=tuple(map(Uuid, record.cordoned_log_dirs))
            )
        self.changed[before.broker_id] = after

    def replay_fenced(self, broker_id: int, broker_epoch: int, *, fenced: bool) -> None:
        before = self._current(broker_id, broker_epoch)
        self.changed[before.broker_id] = replace(before, fenced=fenced)

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        controller_id = BrokerId(record.controller_id)
        self.changed_controllers[controller_id] = ControllerRegistration(
            controller_id=controller_id,
            incarnation_id=Uuid(record.incarnation_id),
            endpoints=tuple(
                Endpoint(e.name, e.host, e.port, SecurityProtocol(e.security_protocol))
                for e in record.end_points
            ),
            features={
                f.name: SupportedVersionRange(f.min_supported_version, f.max_supported_version)
                for f in record.features
            },
        )

    def brokers_image(self) -> Mapping[BrokerId, BrokerRegistration]:
        if not self.changed:
            return self._brokers
        brokers = dict(self._brokers)
        for broker_id, registration in self.changed.items():
            if registration is None:
                brokers.pop(broker_id, None)
            else:
                brokers[broker_id] = registration
        return frozen_mapping(brokers)

    def controllers_image(self) -> Mapping[BrokerId, ControllerRegistration]:
        if not self.changed_controllers:
            return self._controllers
        return frozen_mapping({**self._controllers, **self.changed_controllers})

    def _current(self, broker_id: int, broker_epoch: int) -> BrokerRegistration:
        found = self.changed.get(BrokerId(broker_id), self._brokers.get(BrokerId(broker_id)))
        assert found is not None, f"broker {broker_id} is changed but not registered"
        assert found.broker_epoch == broker_epoch, (
            f"broker {broker_id} has epoch {found.broker_epoch}, a record names {broker_epoch}"
        )
        return found


def broker_registration(record: RegisterBrokerRecord) -> BrokerRegistration:
    cordoned = record.cordoned_log_dirs
    return BrokerRegistration(
        broker_id=BrokerId(record.broker_id),
        broker_epoch=record.broker_epoch,
        incarnation_id=Uuid(record.incarnation_id),
        endpoints=tuple(
            Endpoint(e.name, e.host, e.port, SecurityProtocol(e.security_protocol))
            for e in record.end_points
        ),
        features={
            f.name: SupportedVersionRange(f.min_supported_version, f.max_supported_version)
            for f in record.features
        },
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_directories=tuple(map(Uuid, record.log_dirs)),
        cordoned_log_directories=None if cordoned is None else tuple(map(Uuid, cordoned)),
    )
