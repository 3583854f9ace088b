"""The topics that the expressions of a group's members match, for a shard that asks for them
(`coordinator.group.consumer.regex`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from millstream.broker.long_work import LongWork
from millstream.broker.patterns.costly_patterns import PatternProcessDied
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.requests.access import Access
from millstream.broker.requests.request_context import RequestContext
from millstream.coordinator.group.consumer.regex import TopicsToMatch
from millstream.coordinator.result import Caller
from millstream.errors import CoordinatorNotAvailable, InvalidRegularExpression
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.headers import RequestHeader
from millstream.runtime import Clock
from millstream.security.acl import Operation, ResourceType

_LOGGER = logging.getLogger(__name__)


class GroupPatterns:
    """Matches expressions, without topics that the member for whom it is asked may not describe: they are not
    there for it, as in Kafka.
    """

    def __init__(
        self, matcher: PatternMatcher, access: Access, clock: Clock, *, long_work: LongWork
    ) -> None:
        self._matcher = matcher
        self._access = access
        self._clock = clock
        self._long_work = long_work

    async def matches(self, asked: TopicsToMatch) -> Mapping[str, frozenset[str]]:
        """Returns the topics by expression. An expression is missing when nothing can be said of it now."""
        matches = {}
        for regex, payer in asked.regexes.items():
            topics = await self._matching(asked, regex, payer)
            if topics is not None:
                matches[regex] = topics
        hidden = await self._access.denied_of_many(
            self._heartbeat_of(asked.asked_by),
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            (topic for topics in matches.values() for topic in topics),
            long_work=self._long_work,
            quiet=True,
        )
        if not hidden:
            return matches
        return {regex: topics - hidden for regex, topics in matches.items()}

    async def _matching(
        self, asked: TopicsToMatch, regex: str, payer: str
    ) -> frozenset[str] | None:
        """None when it cannot be said now: what is known of the expression stays, and a later heartbeat asks again."""
        try:
            return await self._matcher.matching(regex, asked.topics, payer.removeprefix("/"))
        except (PatternProcessDied, CoordinatorNotAvailable) as error:
            _LOGGER.warning("group %s: topics are not matched now: %s", asked.group_id, error)
            return None
        except InvalidRegularExpression as error:
            _LOGGER.warning(
                "group %s: the expression %.100r is taken to mean no topic: %s",
                asked.group_id,
                regex,
                error,
            )
            return frozenset()

    def _heartbeat_of(self, member: Caller) -> RequestContext:
        """The request on whose behalf topics are hidden, as far as an authorizer and the audit log look at it."""
        header = RequestHeader(ApiKey.CONSUMER_GROUP_HEARTBEAT, client_id=member.client_id)
        host = member.client_host.removeprefix("/")
        return RequestContext(
            header, ClientConnection(0, host, 0, "", member.principal), self._clock.now()
        )
