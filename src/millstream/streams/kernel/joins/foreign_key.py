"""Foreign-key joins of tables (KIP-213): five operators in two sub-topologies, joined by two topics.

    left row ─▶ Subscribe ═▶ ReceiveSubscription ─▶ AnswerSubscription ═▶ ResolveResponse ─▶ result
                             right row ─▶ AnswerSubscribers ═▶

The right side keeps who wants to know which of its rows. Answers carry the hash of the left row they were asked for:
the left side throws away those that come too late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.joins.murmur3 import hash128
from millstream.streams.kernel.joins.table_reader import Lookup
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.foreign_key import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
    combined_key,
    combined_prefix,
)
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.storage.byte_store import end_of_prefix
from millstream.streams.topology import operators as ops

_NO_ROW: Final = (None, -1)
"""Value and timestamp where the right side has no row."""


@dataclass(frozen=True, slots=True)
class JoinSerdes:
    """Of both tables, resolved: keys are compared and rows hashed as bytes."""

    left_key: Serde[Any]  # Any: tables of any type
    left_value: Serde[Any]  # Any: the same
    right_key: Serde[Any]  # Any: the same


class Subscribe(Operator):
    """SubscriptionSend: tells the right side which of its rows a left row wants, and which no longer."""

    def __init__(
        self, context: NodeContext, spec: ops.ForeignKeySubscribe, serdes: JoinSerdes
    ) -> None:
        super().__init__(context)
        self._extract = spec.extractor
        self._with_key = spec.with_key
        self._is_left = spec.is_left
        self._serdes = serdes

    def process(self, batch: Batch) -> Batch:
        batch = self.context.only_newest(batch)
        assert batch.old_values is not None, "the left table was asked for old values"
        rows: list[int] = []
        foreign_keys: list[object] = []
        subscriptions: list[object] = []
        instruct = self._left_instructions if self._is_left else self._inner_instructions
        for row, (key, new, old) in enumerate(
            zip(batch.keys, batch.values, batch.old_values, strict=True)
        ):
            wanted = instruct((batch.ordinals[row], batch.timestamps[row]), key, new, old)
            row_hash = None
            if wanted and new is not None:
                row_hash = hash128(self._serdes.left_value.encode(new))
            for foreign_key, instruction in wanted:
                rows.append(row)
                foreign_keys.append(foreign_key)
                subscriptions.append(
                    SubscriptionWrapper(row_hash, instruction, key, self.current.partition)
                )
        return batch.take(rows).with_keys(foreign_keys).with_values(subscriptions)

    def _left_instructions(
        self, _row: tuple[int, int], key: object, new: object, old: object
    ) -> list[tuple[object, Instruction]]:
        """Every left row gets an answer, also one without a foreign key."""
        if new is None and old is None:
            return []
        before, after = self._foreign_key(key, old), self._foreign_key(key, new)
        instructions: list[tuple[object, Instruction]] = []
        if before is not None and self._differs(after, before):
            instructions.append((before, Instruction.DELETE))
        instructions.append((after, Instruction.ANSWER_ALWAYS))
        return instructions

    def _inner_instructions(
        self, row: tuple[int, int], key: object, new: object, old: object
    ) -> list[tuple[object, Instruction]]:
        before, after = self._foreign_key(key, old), self._foreign_key(key, new)
        if after is None:
            if new is not None:
                self.context.drop(DropReason.NULL_FOREIGN_KEY, row)
            return [] if before is None else [(before, Instruction.DELETE_AND_ANSWER)]
        if before is not None and self._differs(after, before):
            # There may be a result of the old foreign key: the answer must come whether the new one is found or not.
            return [(before, Instruction.DELETE), (after, Instruction.ANSWER_ALWAYS)]
        return [(after, Instruction.ANSWER_IF_FOUND)]

    def _foreign_key(self, key: object, value: object) -> object:
        if value is None:
            return None
        found: object = self._extract(key, value) if self._with_key else self._extract(value)
        return found

    def _differs(self, after: object, before: object) -> bool:
        encode = self._serdes.right_key.encode
        return after is None or encode(after) != encode(before)


class ReceiveSubscription(Operator):
    """SubscriptionReceive: keeps the subscription, or forgets it, and passes it on."""

    def __init__(
        self, context: NodeContext, store: TimestampedKeyValueStore, serdes: JoinSerdes
    ) -> None:
        super().__init__(context)
        self._store = store
        self._serdes = serdes

    def process(self, batch: Batch) -> Batch:
        kept: list[bool] = []
        rows = zip(batch.keys, batch.values, batch.timestamps, batch.headers, strict=True)
        for key, value, timestamp, headers in rows:
            self.current.record.headers = headers
            assert isinstance(value, SubscriptionWrapper), "the topic holds subscriptions"
            instruction = value.instruction
            kept.append(key is not None or instruction is Instruction.ANSWER_ALWAYS)
            if key is not None:
                is_over = instruction in (Instruction.DELETE, Instruction.DELETE_AND_ANSWER)
                self._store.put(self._key(key, value), None if is_over else value, timestamp)
        if all(kept):
            return batch
        return self.context.without(DropReason.NULL_FOREIGN_KEY, batch, kept)

    def _key(self, foreign_key: object, subscription: SubscriptionWrapper) -> bytes:
        serdes = self._serdes
        return combined_key(
            serdes.right_key.encode(foreign_key), serdes.left_key.encode(subscription.key)
        )


class AnswerSubscription(Operator):
    """SubscriptionJoin: the right row, as it is now, for a left row that asks."""

    def __init__(self, context: NodeContext, lookup: Lookup) -> None:
        super().__init__(context)
        self._lookup = lookup

    def process(self, batch: Batch) -> Batch:
        rows: list[int] = []
        keys: list[object] = []
        answers: list[object] = []
        timestamps: list[int] = []
        for row, (foreign_key, asked) in enumerate(zip(batch.keys, batch.values, strict=True)):
            assert isinstance(asked, SubscriptionWrapper), "the topic holds subscriptions"
            found = None if foreign_key is None else self._lookup(foreign_key)
            value, found_at = found or _NO_ROW
            if not self._is_answered(asked.instruction, is_found=found is not None):
                continue
            rows.append(row)
            keys.append(asked.key)
            is_over = asked.instruction is Instruction.DELETE_AND_ANSWER
            answers.append(
                SubscriptionResponseWrapper(
                    asked.row_hash, None if is_over else value, asked.partition
                )
            )
            timestamps.append(max(batch.timestamps[row], found_at))
        result = batch.take(rows).with_keys(keys).with_values(answers)
        result.timestamps = timestamps
        return result

    def _is_answered(self, instruction: Instruction, *, is_found: bool) -> bool:
        match instruction:
            case Instruction.DELETE:
                return False
            case Instruction.ANSWER_IF_FOUND:
                return is_found
            case Instruction.DELETE_AND_ANSWER | Instruction.ANSWER_ALWAYS:
                return True


class AnswerSubscribers(Operator):
    """ForeignTableJoin: a right row has changed; all left rows that subscribe to it are answered."""

    def __init__(
        self, context: NodeContext, store: TimestampedKeyValueStore, serdes: JoinSerdes
    ) -> None:
        super().__init__(context)
        self._store = store
        self._serdes = serdes

    def process(self, batch: Batch) -> Batch:
        batch = self.context.only_newest(batch)
        rows: list[int] = []
        keys: list[object] = []
        answers: list[object] = []
        for row, (foreign_key, value) in enumerate(zip(batch.keys, batch.values, strict=True)):
            if foreign_key is None:
                row_at = batch.ordinals[row], batch.timestamps[row]
                self.context.drop(DropReason.NULL_KEY, row_at)
                continue
            for asked in self._subscribers(foreign_key):
                rows.append(row)
                keys.append(asked.key)
                answers.append(SubscriptionResponseWrapper(asked.row_hash, value, asked.partition))
        return batch.take(rows).with_keys(keys).with_values(answers)

    def _subscribers(self, foreign_key: object) -> list[SubscriptionWrapper]:
        prefix = combined_prefix(self._serdes.right_key.encode(foreign_key))
        found = self._store.scan_bytes(prefix, end_of_prefix(prefix))
        return [value for value, _ in found if isinstance(value, SubscriptionWrapper)]


class ResolveResponse(Operator):
    """ResponseJoin: joins an answer with the left row, if that is still the row that asked."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.ForeignKeyResolve,
        lookup: Lookup,
        left_value: Serde[Any],  # Any: tables of any type
    ) -> None:
        super().__init__(context)
        self._lookup = lookup
        self._joiner = spec.joiner
        self._is_left = spec.is_left
        self._encode = left_value.encode

    def process(self, batch: Batch) -> Batch:
        kept: list[bool] = []
        joined: list[object] = []
        for key, answer in zip(batch.keys, batch.values, strict=True):
            assert isinstance(answer, SubscriptionResponseWrapper), "the topic holds responses"
            row = self._lookup(key)
            left = None if row is None else row[0]
            row_hash = None if row is None else hash128(self._encode(left))
            kept.append(row_hash == answer.row_hash)
            if kept[-1]:
                has_result = answer.value is not None or (self._is_left and row is not None)
                joined.append(self._joiner(left, answer.value) if has_result else None)
        if not all(kept):
            batch = self.context.without(DropReason.STALE_ANSWER, batch, kept)
        return batch.with_values(joined)
