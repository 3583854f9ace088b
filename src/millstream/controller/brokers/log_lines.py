"""The lines for the log of a node that say what records do with a broker, and why. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.delta import MetadataRecord
from millstream.model import BrokerId, Uuid, uuid_text
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)


def change_lines(
    broker: BrokerRegistration, records: Iterable[MetadataRecord], why_fenced: str
) -> tuple[str, ...]:
    """Returns a line for each change of a registered broker.

    `why_fenced`: the reason where one of the records fences it.
    """
    return tuple(
        f"broker {broker.broker_id} of epoch {broker.broker_epoch} {what}"
        for record in records
        if isinstance(record, BrokerRegistrationChangeRecord)
        for what in _changes(broker, record, why_fenced)
    )


def _changes(
    broker: BrokerRegistration, record: BrokerRegistrationChangeRecord, why_fenced: str
) -> Iterator[str]:
    if record.fenced > 0:
        yield f"is fenced: {why_fenced}"
    elif record.fenced < 0:
        yield "is unfenced: it has read the metadata up to its registration"
    if record.in_controlled_shutdown:
        yield "is in controlled shutdown: its leaderships go to others"
    if record.log_dirs:
        yield f"has lost log directories, and has left {_named(record.log_dirs)}"
    if record.cordoned_log_dirs or (
        record.cordoned_log_dirs == [] and broker.cordoned_log_directories
    ):
        yield f"has these cordoned log directories now: {_named(record.cordoned_log_dirs)}"


def _named(directories: Iterable[Uuid]) -> str:
    return ", ".join(uuid_text(each) for each in directories) or "none"


def registration_lines(
    record: RegisterBrokerRecord, existing: BrokerRegistration | None
) -> tuple[str, ...]:
    """Returns the line of a registration. `existing`: the broker of that id before it."""
    before = existing.broker_epoch if existing is not None else record.broker_epoch
    instead = "" if before == record.broker_epoch else f", in place of epoch {before}"
    incarnation = uuid_text(record.incarnation_id)
    return (
        f"broker {record.broker_id} is registered with epoch {record.broker_epoch}, incarnation {incarnation}{instead}",
    )


def unregistration_lines(broker_id: BrokerId) -> tuple[str, ...]:
    return (f"broker {broker_id} is no longer registered",)
