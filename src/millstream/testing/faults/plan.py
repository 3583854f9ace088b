"""The faults between a client and its brokers: rules as data, and the seeded decision which rule holds.

Pure: it sees requests as values and answers with a fault, or None. `proxy` carries faults out. The same seed and the
same requests give the same faults; each rule has chance of its own, so requests that it does not match change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.testing.sim_random import SimRandom

_SEEDS_OF_RULES: Final = 1_000_003
_CORRELATION_ID_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class DropRequest:
    """The request never reaches the broker, nor does what follows on its connection. The client is not told.

    TCP loses nothing in the middle, so a connection that lost something is dead. Without `apis` in its rule this is a
    black hole: new connections are accepted, and nothing ever comes back.
    """


@dataclass(frozen=True, slots=True)
class DropResponse:
    """The broker does what it is asked; its answer, and all later ones of the connection, never come."""


@dataclass(frozen=True, slots=True)
class CloseBefore:
    """The connection is closed instead of forwarding the request."""


@dataclass(frozen=True, slots=True)
class CloseAfter:
    """The broker does what it is asked, then the connection is closed instead of forwarding the answer."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The request or its answer is held back, and with it what follows on the connection."""

    request_ms: int = 0
    response_ms: int = 0


@dataclass(frozen=True, slots=True)
class SendLate:
    """The connection is closed; the request reaches the broker later, on another one, behind what
    the client did since.
    """

    delay_ms: int


@dataclass(frozen=True, slots=True)
class Trickle:
    """The answer comes slowly."""

    bytes_per_second: int


@dataclass(frozen=True, slots=True)
class Corrupt:
    """Bits of the answer are flipped: among its last `tail_bytes`, or anywhere behind its correlation id.

    At the end of a fetch's answer lie records, whose checksum finds it. Much else in Kafka's messages has no checksum,
    so a client cannot find all that a flip elsewhere does to them.
    """

    bits: int = 1
    tail_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerWith:
    """The client reads this error code. `forward`: the broker has done what it was asked all the same.

    With `forward` and a partition in the rule only that partition gets the code; without, the whole request does.
    """

    error_code: int
    forward: bool = False


Fault = (
    DropRequest
    | DropResponse
    | CloseBefore
    | CloseAfter
    | Delay
    | SendLate
    | Trickle
    | Corrupt
    | AnswerWith
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `fault` happens to requests of `apis` (any when empty) that match the other fields.

    Of the requests that match, the first `skip` are let through; then at most `times` are hit, each with `probability`.
    So `times=1` is once, and `skip=4, times=1` the fifth time.
    """

    fault: Fault
    apis: Sequence[ApiKey] = ()
    node_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    skip: int = 0
    times: int | None = None
    probability: float = 1.0

    @property
    def names_partitions(self) -> bool:
        """Whether the rule is about a topic or a partition."""
        return self.topic is not None or self.partition is not None

    def covers(self, partition: TopicPartition) -> bool:
        """Whether the rule is about this partition."""
        return self.topic in (None, partition.topic) and self.partition in (
            None,
            partition.partition,
        )

    def matches(self, request: SeenRequest) -> bool:
        """Whether the rule is about this request."""
        if self.apis and request.key not in self.apis:
            return False
        if self.node_id is not None and self.node_id != request.node_id:
            return False
        return not self.names_partitions or any(map(self.covers, request.partitions))


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the proxy read it. `partitions`: those it names, when a rule asks for partitions."""

    key: ApiKey
    version: int
    correlation_id: int
    client_id: str | None = None
    node_id: int | None = None
    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(slots=True)
class _RuleState:
    """The number of times that a rule matched and hit so far."""

    random: SimRandom
    matched: int = 0
    hit: int = 0


@dataclass(slots=True)
class FaultPlan:
    """The rules in order: the first that matches and hits decides."""

    rules: Sequence[Rule] = ()
    seed: int = 0
    _rule_states: list[_RuleState] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._rule_states = [
            _RuleState(SimRandom(self.seed * _SEEDS_OF_RULES + index))
            for index in range(len(self.rules))
        ]

    @property
    def names_partitions(self) -> bool:
        """Whether requests must be looked into before `decide`."""
        return any(rule.names_partitions for rule in self.rules)

    @property
    def hits(self) -> tuple[int, ...]:
        """The number of hits of each rule."""
        return tuple(state.hit for state in self._rule_states)

    def decide(self, request: SeenRequest) -> Rule | None:
        """Returns the rule whose fault happens to `request`."""
        for rule, state in zip(self.rules, self._rule_states, strict=True):
            if rule.matches(request) and self._hits(rule, state):
                return rule
        return None

    def _hits(self, rule: Rule, state: _RuleState) -> bool:
        state.matched += 1
        if state.matched <= rule.skip or (rule.times is not None and state.hit >= rule.times):
            return False
        if state.random.random() >= rule.probability:
            return False
        state.hit += 1
        return True


def flip_bits(frame: bytes, corrupt: Corrupt, random: SimRandom) -> bytes:
    """Returns a response without its size prefix, with some bits flipped."""
    span = len(frame) - _CORRELATION_ID_BYTES
    if corrupt.tail_bytes is not None:
        span = min(span, corrupt.tail_bytes)
    if span <= 0:
        return frame
    flipped = bytearray(frame)
    for _ in range(corrupt.bits):
        flipped[len(frame) - span + random.randrange(span)] ^= 1 << random.randrange(8)
    return bytes(flipped)
