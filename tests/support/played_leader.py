"""A leader that followers fetch from, as Kafka answers them: from real logs, with fetch sessions, over messages that are encoded and decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any  # messages of two APIs

from millstream.errors import (
    FencedLeaderEpoch,
    FetchSessionIdNotFound,
    InvalidFetchSessionEpoch,
    KafkaError,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
    UnknownTopicId,
)
from millstream.log import PartitionLog
from millstream.log.file_range import FileRange
from millstream.log.leader_epochs import UNKNOWN_EPOCH, EpochEnd
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

FETCH_VERSION, LIST_OFFSETS_VERSION = 18, 11
LEADER_ID, FOLLOWER_ID = BrokerId(2), BrokerId(1)
_END = -1


@dataclass
class Led:
    """A partition that is led. `high_watermark`: its end, unless it is given."""

    log: PartitionLog
    epoch: int
    high_watermark: int | None = None
    refuses: type[KafkaError] | None = None
    damages: bool = False
    """Whether its records arrive with a wrong bit."""

    def answer(self, asked: FetchPartition) -> PartitionData:
        """Returns what Kafka answers to one partition of a fetch."""
        log = self.log
        data = PartitionData(
            asked.partition,
            high_watermark=log.log_end_offset
            if self.high_watermark is None
            else self.high_watermark,
            log_start_offset=log.log_start_offset,
            records=b"",
        )
        refusal = self._refusal(asked)
        if refusal is not None:
            data.error_code = refusal.code
            data.high_watermark = data.log_start_offset = -1
            return data
        diverging = self._divergence(asked)
        if diverging is not None:
            data.diverging_epoch = EpochEndOffset(diverging.epoch, diverging.end_offset)
            return data
        read = log.read(asked.fetch_offset, asked.partition_max_bytes, log.log_end_offset).records
        records = bytearray(read.read() if isinstance(read, FileRange) else read)
        if self.damages and records:
            records[-1] ^= 1
        data.records = bytes(records)
        return data

    def _refusal(self, asked: FetchPartition) -> type[KafkaError] | None:
        if self.refuses is not None:
            return self.refuses
        if asked.current_leader_epoch != self.epoch:
            is_older = asked.current_leader_epoch < self.epoch
            return FencedLeaderEpoch if is_older else UnknownLeaderEpoch
        if not self.log.log_start_offset <= asked.fetch_offset <= self.log.log_end_offset:
            return OffsetOutOfRange if self._divergence(asked) is None else None
        return None

    def _divergence(self, asked: FetchPartition) -> EpochEnd | None:
        if asked.last_fetched_epoch < 0 or asked.fetch_offset < self.log.log_start_offset:
            return None
        known, end_offset = self.log.leader_epochs, self.log.log_end_offset
        end = known.end_offset(asked.last_fetched_epoch, end_offset)
        if (
            end == UNKNOWN_EPOCH
        ):  # the leader's own epoch begins where its log ends, until it writes
            wrote_nothing = asked.last_fetched_epoch == self.epoch or known.latest_epoch < 0
            epoch = asked.last_fetched_epoch if wrote_nothing else known.latest_epoch
            end = EpochEnd(epoch, end_offset)
        if end.epoch < asked.last_fetched_epoch or end.end_offset < asked.fetch_offset:
            return end
        return None


@dataclass
class _Session:
    epoch: int = 0
    asked: dict[tuple[Uuid, int], FetchPartition] = field(default_factory=dict)


@dataclass
class PlayedLeader:
    """Stands for a `BrokerChannel` to broker `leader_id`."""

    leader_id: BrokerId = LEADER_ID
    broker_id: BrokerId = FOLLOWER_ID
    led: dict[tuple[Uuid, int], Led] = field(default_factory=dict)
    names: dict[str, Uuid] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    """Raised by the next requests, one each."""
    before_answer: Callable[[], None] = lambda: None
    has_sessions: bool = True
    session_error: int = 0
    _session_id: int = 0
    _sessions: dict[int, _Session] = field(default_factory=dict)

    def lead(self, name: TopicPartition, topic_id: Uuid, led: Led) -> None:
        self.names[name.topic] = topic_id
        self.led[topic_id, name.partition] = led

    @property
    def fetches(self) -> list[FetchRequest]:
        return [each for each in self.requests if isinstance(each, FetchRequest)]

    async def ask(self, broker_id: BrokerId, key: ApiKey, request: Any, expected: type[Any]) -> Any:
        assert broker_id == self.leader_id
        asked = over_the_wire(request, FETCH_VERSION if key is ApiKey.FETCH else LIST_OFFSETS_VERSION)  # fmt: skip
        self.requests.append(asked)
        await asyncio.sleep(0.001)  # the way there
        if self.failures:
            raise self.failures.pop(0)
        if key is ApiKey.LIST_OFFSETS:
            answer: Any = over_the_wire(self._offsets(asked), LIST_OFFSETS_VERSION)
        else:
            answer = over_the_wire(await self._fetched(asked), FETCH_VERSION)
        self.before_answer()
        assert isinstance(answer, expected)
        return answer

    def forget_session(self) -> None:
        self._sessions.clear()

    async def _fetched(self, request: FetchRequest) -> FetchResponse:
        session_id = request.session_id
        if request.session_epoch == 0:
            self._sessions.pop(session_id, None)
            self._session_id += 1
            session_id = self._session_id
            self._sessions[session_id] = _Session()
        elif self.session_error or session_id not in self._sessions:
            code = self.session_error or FetchSessionIdNotFound.code
            self.session_error = 0
            return FetchResponse(error_code=code)
        elif request.session_epoch != self._sessions[session_id].epoch:
            return FetchResponse(error_code=InvalidFetchSessionEpoch.code)
        session = self._sessions[session_id]
        for topic in request.topics:
            for partition in topic.partitions:
                session.asked[topic.topic_id, partition.partition] = partition
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                del session.asked[forgotten.topic_id, number]
        answers = self._answers(session, request)
        if not answers:
            await asyncio.sleep(request.max_wait_ms / 1000)
            answers = self._answers(session, request)
        session.epoch += 1
        return FetchResponse(
            session_id=session_id if self.has_sessions else 0,
            responses=[
                FetchableTopicResponse(topic_id=topic_id, partitions=[data])
                for (topic_id, _), data in answers.items()
            ],
        )

    def _answers(
        self, session: _Session, request: FetchRequest
    ) -> dict[tuple[Uuid, int], PartitionData]:
        left = request.max_bytes
        answers: dict[tuple[Uuid, int], PartitionData] = {}
        for key, asked in session.asked.items():
            led = self.led.get(key)
            if led is None:
                data = PartitionData(key[1], error_code=UnknownTopicId.code, records=b"")
            else:
                data = led.answer(asked)
                size = len(data.records or b"")
                if answers and size > left:
                    data.records = b""
                else:
                    left -= size
            is_news = bool(data.records or data.error_code or data.diverging_epoch.epoch >= 0)
            if is_news or request.session_epoch == 0:
                answers[key] = data
        return answers

    def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        assert request.replica_id == self.broker_id
        topics = []
        for topic in request.topics:
            told = []
            for asked in topic.partitions:
                led = self.led[self.names[topic.name], asked.partition_index]
                log = led.log
                offset = log.log_end_offset if asked.timestamp == _END else log.log_start_offset
                told.append(ListOffsetsPartitionResponse(asked.partition_index, offset=offset))
            topics.append(ListOffsetsTopicResponse(topic.name, told))
        return ListOffsetsResponse(topics=topics)


def over_the_wire(message: Any, version: int) -> Any:
    """Returns the message as it arrives."""
    out = bytearray()
    message.encode(out, version)
    arrived, _ = type(message).decode(memoryview(bytes(out)), 0, version)
    return arrived
