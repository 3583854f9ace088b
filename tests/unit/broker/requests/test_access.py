"""What handlers are told, and what the audit log says of it, at Kafka's levels."""

from __future__ import annotations

import asyncio
import logging

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import OPEN, Access, withhold_groups
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import (
    ClusterAuthorizationFailed,
    DelegationTokenAuthorizationFailed,
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.headers import RequestHeader
from millstream.runtime import Instant
from millstream.security.acl import Operation, ResourceType
from tests.support.access_rules import ScriptedAuthorizer, access, client, rule

TOPIC = ResourceType.TOPIC
READ = Operation.READ
TRACE = 5


def asking(key: ApiKey = ApiKey.FETCH) -> RequestContext:
    return RequestContext(RequestHeader(key, client_id="c"), client(), Instant(0, 0))


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    told = [(record.levelno, record.message) for record in caplog.records]
    caplog.clear()
    return told


@pytest.fixture
def audit(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(TRACE, "kafka.authorizer.logger")
    return caplog


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ResourceType.TOPIC, TopicAuthorizationFailed),
        (ResourceType.GROUP, GroupAuthorizationFailed),
        (ResourceType.CLUSTER, ClusterAuthorizationFailed),
        (ResourceType.TRANSACTIONAL_ID, TransactionalIdAuthorizationFailed),
        (ResourceType.DELEGATION_TOKEN, DelegationTokenAuthorizationFailed),
        (ResourceType.USER, DelegationTokenAuthorizationFailed),
    ],
)
def test_each_type_of_resource_has_its_error(kind: ResourceType, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        access().check(asking(), READ, kind, "name")
    OPEN.check(asking(), READ, kind, "name")


def test_levels_are_kafkas(audit: pytest.LogCaptureFixture) -> None:
    """Denied INFO, allowed DEBUG; TRACE for denials that refuse nothing, and for what is told."""
    asked = access(rule(READ, TOPIC, "mine"))
    assert asked.allows(asking(), READ, TOPIC, "mine")
    assert not asked.allows(asking(), READ, TOPIC, "theirs")
    assert asked.allows(asking(), READ, TOPIC, "mine", quiet=True)
    assert not asked.allows(asking(), READ, TOPIC, "theirs", quiet=True)
    told = logged(audit)
    assert [level for level, _ in told] == [logging.DEBUG, logging.INFO, logging.DEBUG, TRACE]
    assert told[1][1] == (
        "Principal = User:alice is Denied operation = READ from host = 10.0.0.9 on resource = Topic:LITERAL:theirs "
        "for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny"
    )
    assert asked.operations(asking(), TOPIC, "mine") == 1 << READ | 1 << Operation.DESCRIBE
    assert {level for level, _ in logged(audit)} == {TRACE}


def test_a_name_is_asked_for_once_with_the_number_of_its_mentions(
    audit: pytest.LogCaptureFixture,
) -> None:
    asked = access(rule(READ, TOPIC, "mine"))
    names = ["mine", "theirs", "theirs", "mine", "theirs"]
    assert asked.denied(asking(), READ, TOPIC, names) == {"theirs"}
    told = [
        (level, message.partition("resourceRefCount = ")[2]) for level, message in logged(audit)
    ]
    mine = "2 based on rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=mine, patternType=LITERAL, "
    assert told[0][1].startswith(mine)
    assert told[1] == (logging.INFO, "3 based on rule DefaultDeny")
    in_turns = asked.denied_of_many(
        asking(), READ, TOPIC, names, long_work=LongWork(lambda: 0.0), quiet=True
    )
    assert asyncio.run(in_turns) == {"theirs"}
    assert [level for level, _ in logged(audit)] == [logging.DEBUG, TRACE]
    asked.denied(asking(), READ, TOPIC, {"mine": 7, "theirs": None})  # keys, not counts
    assert [message.count("resourceRefCount = 1 ") for _, message in logged(audit)] == [1, 1]


def test_the_parts_of_a_request_share_one_decision(audit: pytest.LogCaptureFixture) -> None:
    """Also when rules change between them: half a request is not allowed."""
    scripted = ScriptedAuthorizer(frozenset({(READ, TOPIC)}))
    asked, context = Access(scripted), asking()
    context.decided = {}
    assert asked.denied(context, READ, TOPIC, ["t"]) == {"t"}
    scripted.refused = frozenset()
    assert asked.denied(context, READ, TOPIC, ["t", "u"]) == {"t"}
    assert [name for _, _, name in scripted.asked] == ["t", "u"]
    assert len(logged(audit)) == 2


def test_any_resource_is_told_of_where_all_are_allowed(audit: pytest.LogCaptureFixture) -> None:
    """Kafka finds out with an invented name, and logs nothing of what rules leave."""
    context = asking(ApiKey.INIT_PRODUCER_ID)
    assert access(rule(READ, TOPIC, "*")).allows_any(context, READ, TOPIC)
    ((level, line),) = logged(audit)
    assert level == logging.DEBUG
    assert "Topic:LITERAL:hardcode for request = InitProducerId with resourceRefCount = 0" in line
    assert access(rule(READ, TOPIC, "a")).allows_any(context, READ, TOPIC)
    assert not access().allows_any(context, READ, TOPIC)
    assert OPEN.allows_any(context, READ, TOPIC)
    assert logged(audit) == []


def test_without_an_authorizer_no_name_is_looked_at() -> None:
    def names() -> object:
        raise AssertionError("looked at")
        yield

    assert OPEN.denied(asking(), READ, TOPIC, names()) == frozenset()
    assert OPEN.operations(asking(), TOPIC, "t") == 3576
    assert OPEN.cluster_operations(asking()) == 8096
    assert access().cluster_operations(asking()) == 0


def test_groups_with_a_hidden_topic_are_withheld_and_each_topic_is_asked_for_once(
    audit: pytest.LogCaptureFixture,
) -> None:
    groups = [["mine"], ["mine", "theirs", "theirs"], [], ["theirs"]]
    told = asyncio.run(
        withhold_groups(
            access(rule(READ, TOPIC, "mine")),
            asking(ApiKey.CONSUMER_GROUP_DESCRIBE),
            groups,
            lambda group: group,
            lambda _group: ["withheld"],
            long_work=LongWork(lambda: 0.0),
        )
    )
    assert told == [["mine"], ["withheld"], [], ["withheld"]]
    assert sorted(level for level, _ in logged(audit)) == [logging.DEBUG, logging.INFO]
