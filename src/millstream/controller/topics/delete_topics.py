"""DeleteTopics: by name or by id; one result per entry."""

from __future__ import annotations

from collections import Counter
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from millstream.protocol.generated.metadata_records import RemoveTopicRecord


def plan_delete_topics(
    context: ControllerContext, request: DeleteTopicsRequest
) -> ControllerResult[DeleteTopicsResponse]:
    """Plans deletions.

    Names stand in `topic_names` up to version 5, names or ids in `topics` from 6 on; both are served.
    """
    entries = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    counts = Counter(_identity(entry) for entry in entries)
    found: dict[Uuid, list[TopicImage]] = {}
    results: list[DeletableTopicResult] = []
    for entry in {_identity(entry): entry for entry in entries}.values():
        try:
            if not context.settings.delete_topic_enable:
                raise TopicDeletionDisabled
            if counts[_identity(entry)] > 1:
                raise InvalidRequest(
                    f"Duplicate topic {'name' if entry.name is not None else 'id'}."
                )
            topic = _topic(entry, context.image)
        except KafkaError as error:
            results.append(_result(entry.name, entry.topic_id, error))
        else:
            found.setdefault(topic.topic_id, []).append(topic)
    records: list[MetadataRecord] = []
    for topic_id, (topic, *again) in found.items():
        if again:
            twice = "The provided topic name maps to an ID that was already supplied."
            results.append(_result(topic.name, topic_id, InvalidRequest(twice)))
            continue
        try:
            context.charge(len(topic.partitions))
        except KafkaError as error:
            results.append(_result(topic.name, topic_id, error))
        else:
            records.append(RemoveTopicRecord(topic_id=topic_id))
            results.append(DeletableTopicResult(name=topic.name, topic_id=topic_id))
    response = DeleteTopicsResponse(context.throttle_time_ms, results)
    return ControllerResult(tuple(records), response)


DELETE_TOPICS: Final = ControllerApi(ApiKey.DELETE_TOPICS, plan_delete_topics)


def _result(name: str | None, topic_id: Uuid, error: KafkaError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=str(error)
    )


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
