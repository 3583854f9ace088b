"""AlterClientQuotas: limits of users, client ids and addresses; one result for each entity (KIP-546)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.settings import RECORDS_PER_REQUEST_MAX
from millstream.errors import InvalidRequest, KafkaError, PolicyViolation
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.stored_security import QuotaEntity, quota_entity
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigType
from millstream.protocol.generated import metadata_records
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
    OpData,
)

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

_CLIENT_KEYS: Final[Mapping[str, ConfigType]] = {
    "producer_byte_rate": ConfigType.LONG,
    "consumer_byte_rate": ConfigType.LONG,
    "request_percentage": ConfigType.DOUBLE,
    "controller_mutation_rate": ConfigType.DOUBLE,
}
_IP_KEYS: Final[Mapping[str, ConfigType]] = {"connection_creation_rate": ConfigType.INT}
_LARGEST: Final = {ConfigType.INT: float((1 << 31) - 1), ConfigType.LONG: float((1 << 63) - 1)}
_WHOLE_WITHIN: Final = 1e-6
_PARTS_MAX: Final = 100
"""What is refused part by part, so that the answer repeats no more than that."""


def plan_alter_client_quotas(
    context: ControllerContext, request: AlterClientQuotasRequest
) -> ControllerResult[AlterClientQuotasResponse]:
    """The first mention of an entity counts; its result is an error when it comes again.

    No records with `validate_only`.

    Raises PolicyViolation for too many changes at once, InvalidRequest for an entity of very many parts.
    """
    if sum(len(entry.ops) for entry in request.entries) > RECORDS_PER_REQUEST_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")
    if any(len(entry.entity) > _PARTS_MAX for entry in request.entries):
        raise InvalidRequest(f"An entity has one part of each type: {', '.join(ENTITY_TYPES)}")
    records: list[MetadataRecord] = []
    results: dict[QuotaEntity, AlterClientQuotasResponseEntryData] = {}
    for entry in request.entries:
        parts = {part.entity_type: part.entity_name for part in entry.entity}
        entity = quota_entity(parts.items())
        repeated = entity in results
        result = results.setdefault(entity, _result(parts))
        try:
            keys = [op.key for op in entry.ops]
            if repeated or len(set(keys)) != len(keys):
                raise InvalidRequest(f"Ignoring duplicate entity {_text(entity)}")
            records += _changes(entity, entry.ops, context.image.client_quotas.get(entity, {}))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, str(error)
    response = AlterClientQuotasResponse(entries=list(results.values()))
    return ControllerResult(() if request.validate_only else tuple(records), response)


ALTER_CLIENT_QUOTAS: Final = ControllerApi(ApiKey.ALTER_CLIENT_QUOTAS, plan_alter_client_quotas)


def _result(parts: Mapping[str, str | None]) -> AlterClientQuotasResponseEntryData:
    return AlterClientQuotasResponseEntryData(
        error_message=None,
        entity=[EntityData(entity_type=name, entity_name=value) for name, value in parts.items()],
    )


def _changes(
    entity: QuotaEntity, operations: Sequence[OpData], before: Mapping[str, float]
) -> list[metadata_records.ClientQuotaRecord]:
    """Returns the records of what differs from `before`. Raises InvalidRequest when any operation cannot be done."""
    _check_entity(entity)
    allowed = _IP_KEYS if entity[0].type == IP else _CLIENT_KEYS
    changes = []
    for operation in operations:
        if operation.remove:
            if operation.key in before:
                changes.append(_record(entity, operation.key, 0.0, remove=True))
        else:
            _check_value(operation, allowed)
            if before.get(operation.key) != operation.value:
                changes.append(_record(entity, operation.key, operation.value, remove=False))
    return changes


def _check_entity(entity: QuotaEntity) -> None:
    if not entity:
        raise InvalidRequest("Invalid empty client quota entity")
    for part in entity:
        if part.type not in ENTITY_TYPES:
            raise InvalidRequest(f"Unhandled client quota entity type: {part.type}")
        if part.name is not None and not part.name:
            raise InvalidRequest(f"Empty {part.type} not supported")
    types = {part.type for part in entity}
    if IP in types and len(types) > 1:
        raise InvalidRequest(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    if IP in types and entity[0].name is not None and not _is_address(entity[0].name):
        raise InvalidRequest(f"{entity[0].name} is not a valid IP or resolvable host.")


def _is_address(text: str) -> bool:
    """Whether `text` is an IP address. Host names are not looked up: a controller never waits for DNS."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(operation: OpData, allowed: Mapping[str, ConfigType]) -> None:
    key, value = operation.key, operation.value
    config_type = allowed.get(key)
    if config_type is None:
        raise InvalidRequest(f"Invalid configuration key {key}")
    if not value > 0:  # also what is no number
        raise InvalidRequest(f"Quota {key} must be greater than 0")
    largest = _LARGEST.get(config_type)
    if largest is None:
        return
    if value > largest:
        article = "an" if config_type is ConfigType.INT else "a"
        raise InvalidRequest(
            f"Proposed value for {key} is too large for {article} {config_type.name}."
        )
    if abs(value - int(value)) > _WHOLE_WITHIN:
        raise InvalidRequest(f"{key} cannot be a fractional value.")


def _record(
    entity: QuotaEntity, key: str, value: float, *, remove: bool
) -> metadata_records.ClientQuotaRecord:
    return metadata_records.ClientQuotaRecord(
        entity=[
            metadata_records.EntityData(entity_type=part.type, entity_name=part.name)
            for part in entity
        ],
        key=key,
        value=value,
        remove=remove,
    )


def _text(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{part.type}={part.name}" for part in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"
