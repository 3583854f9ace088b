"""UnregisterBroker: a broker that will not come back is forgotten."""

from __future__ import annotations

from millstream.controller.brokers.log_lines import unregistration_lines
from millstream.controller.partitions.leadership import plan_broker_forgotten
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.result import ControllerResult
from millstream.errors import BrokerIdNotRegistered, InvalidRequest
from millstream.model import BrokerId
from millstream.protocol.generated.metadata_records import UnregisterBrokerRecord
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def plan_unregister_broker(
    request: UnregisterBrokerRequest, changes: PartitionChanges
) -> ControllerResult[UnregisterBrokerResponse]:
    """Removes a broker's registration.

    Raises BrokerIdNotRegistered, and InvalidRequest for a broker that is alive, which Kafka would cut off.
    """
    broker = changes.image.brokers.get(BrokerId(request.broker_id))
    if broker is None:
        raise BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
    if not broker.fenced:
        raise InvalidRequest(f"Broker {request.broker_id} is alive: stop it before it is forgotten")
    record = UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
    partitions = plan_broker_forgotten(changes, broker.broker_id)
    return ControllerResult(
        (*partitions, record),
        UnregisterBrokerResponse(error_message=None),
        log_lines=unregistration_lines(broker.broker_id),
    )
