"""DeleteTopics: by name or by id; one result per entry."""

from __future__ import annotations

from collections import Counter

from millstream.controller.result import ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import ZERO_UUID
from millstream.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from millstream.protocol.generated.metadata_records import RemoveTopicRecord


def plan_delete_topics(
    request: DeleteTopicsRequest, image: MetadataImage, settings: ControllerSettings
) -> ControllerResult[DeleteTopicsResponse]:
    """Names stand in `topic_names` up to version 5, names or ids in `topics` from 6 on; both are served."""
    entries = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    counts = Counter(_identity(entry) for entry in entries)
    records: list[MetadataRecord] = []
    results: list[DeletableTopicResult] = []
    for entry in {_identity(entry): entry for entry in entries}.values():
        try:
            if not settings.delete_topic_enable:
                raise TopicDeletionDisabled
            if counts[_identity(entry)] > 1:
                raise InvalidRequest(
                    f"Duplicate topic {'name' if entry.name is not None else 'id'}."
                )
            topic = _topic(entry, image)
            if any(
                isinstance(r, RemoveTopicRecord) and r.topic_id == topic.topic_id for r in records
            ):
                raise InvalidRequest("The topic is named twice, by its name and by its id.")
        except KafkaError as error:
            results.append(
                DeletableTopicResult(
                    name=entry.name,
                    topic_id=entry.topic_id,
                    error_code=error.code,
                    error_message=str(error),
                )
            )
        else:
            records.append(RemoveTopicRecord(topic_id=topic.topic_id))
            results.append(DeletableTopicResult(name=topic.name, topic_id=topic.topic_id))
    return ControllerResult(tuple(records), DeleteTopicsResponse(responses=results))


def _identity(entry: DeleteTopicState) -> tuple[str | None, bytes]:
    """Entries with a name are told apart by it, the others by their id; both given is an error of its own."""
    return entry.name, entry.topic_id


def _topic(entry: DeleteTopicState, image: MetadataImage) -> TopicImage:
    if entry.name is not None and entry.topic_id != ZERO_UUID:
        raise InvalidRequest("You may not specify both topic name and topic id.")
    if entry.name is not None:
        found = image.topic(entry.name)
        if found is None:
            raise UnknownTopicOrPartition
        return found
    if entry.topic_id == ZERO_UUID:
        raise InvalidRequest("Neither topic name nor id were specified.")
    found = image.topic_by_id(entry.topic_id)
    if found is None:
        raise UnknownTopicId
    return found
