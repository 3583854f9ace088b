"""UnregisterBroker: a broker that will not come back is forgotten."""

from __future__ import annotations

from millstream.controller.partitions.leadership import plan_broker_gone
from millstream.controller.result import ControllerResult
from millstream.errors import BrokerIdNotRegistered, InvalidRequest
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.generated.metadata_records import UnregisterBrokerRecord
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def plan_unregister_broker(
    request: UnregisterBrokerRequest, image: MetadataImage
) -> ControllerResult[UnregisterBrokerResponse]:
    """Removes a broker's registration.

    Raises BrokerIdNotRegistered, and InvalidRequest for a broker that is alive, which Kafka would cut off.
    """
    broker = image.brokers.get(BrokerId(request.broker_id))
    if broker is None:
        raise BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
    if not broker.fenced:
        raise InvalidRequest(f"Broker {request.broker_id} is alive: stop it before it is forgotten")
    record = UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
    changes = plan_broker_gone(image, broker.broker_id)
    return ControllerResult((*changes, record), UnregisterBrokerResponse(error_message=None))
