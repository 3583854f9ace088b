"""Subscriptions by regular expression, matched here and not by the members (KIP-848).

All expressions of a group are matched together and not too often. The member that brings one is not kept
waiting: the shard gives a notice (`TopicsToMatch`), the edge matches and comes back with what it found
(`take_matches`). One refresh means one rebalance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from millstream.coordinator.group.consumer.group import (
    ConsumerGroup,
    ResolvedRegex,
    topics_read_by,
)
from millstream.coordinator.group.consumer.member import ConsumerGroupMember
from millstream.coordinator.group.consumer.records import (
    epoch_record,
    regex_record,
    regex_tombstone,
)
from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.coordinator.result import NO_TOKEN, Caller, CoordinatorResult
from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import check_pattern

REFRESH_INTERVAL_MIN_MS: Final = 10_000
"""Not configurable in Kafka either."""
_SHOWN_MAX: Final = 1_000
"""Characters of an expression that a refusal repeats."""


@dataclass(frozen=True, slots=True)
class TopicsToMatch:
    """Notice to the edge: which of `topics` do the expressions of the group match? The answer is `TopicsMatched`."""

    group_id: str
    regexes: Mapping[str, str]
    """With the address of a member that brings it."""
    topics: tuple[str, ...]
    version: int
    """Offset of the metadata that the topics are from."""
    asked_by: Caller
    """The member whose heartbeat asked for it: what it may not describe matches nothing."""


@dataclass(frozen=True, slots=True)
class TopicsMatched:
    """The answer to a `TopicsToMatch`. Answered with None."""

    asked: TopicsToMatch
    matches: Mapping[str, frozenset[str]]
    """Topics by expression."""


class RegexChange(Enum):
    NONE = "none"
    UNRESOLVED = "unresolved"
    """The member waits for its expression to be matched."""
    RESOLVED = "resolved"
    """What the member reads from now on is known."""


def change_regex(
    context: GroupContext,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
) -> RegexChange:
    """Returns the member's change of expression, and a refresh when it is time. Raises InvalidRegularExpression."""
    old, new = member.topic_regex, updated.topic_regex
    change, is_new = RegexChange.NONE, False
    if old != new:
        if old and group.regex_subscribers[old] == 1:
            context.result.records.append(regex_tombstone(group.group_id, old))
        is_new = bool(new) and new not in group.regex_subscribers
        if is_new:
            check_regex(new)
        is_known = not new or new in group.regexes
        change = RegexChange.RESOLVED if is_known and not is_new else RegexChange.UNRESOLVED
    if not new and not group.regex_subscribers:
        return change
    wanted = _wanted(group, old, new)
    if wanted and _is_refresh_due(context, group, wanted, at_once=is_new):
        asked_by = replace(context.caller, token=NO_TOKEN)
        timer = GroupTimer(GroupTimerKind.REGEX, group.group_id, asked_by=asked_by)
        context.start_timer(timer, 0)
    return change


def check_regex(regex: str) -> None:
    """Raises InvalidRegularExpression."""
    try:
        check_pattern(regex)
    except InvalidRegularExpression as error:
        raise regex_refusal(regex, error) from None


def regex_refusal(regex: str, reason: InvalidRegularExpression) -> InvalidRegularExpression:
    shown = regex if len(regex) <= _SHOWN_MAX else f"{regex[:_SHOWN_MAX]}..."
    return InvalidRegularExpression(
        f"SubscribedTopicRegex `{shown}` is not a valid regular expression: {reason}."
    )


def refresh(context: GroupContext, group: ConsumerGroup, asked_by: Caller) -> None:
    """Starts to match all expressions of the group matched."""
    if group.regex_subscribers and not group.is_matching:
        group.is_matching = True
        topics = context.image.topics
        members = (each for each in group.members.values() if each.topic_regex)
        regexes = {each.topic_regex: each.client_host for each in members}
        context.result.notices.append(
            TopicsToMatch(
                group.group_id,
                regexes,
                tuple(topics.by_name),
                context.image.offset,
                asked_by,
            )
        )


def take_matches(context: GroupContext, request: TopicsMatched) -> CoordinatorResult:
    group = context.groups.find(request.asked.group_id)
    if isinstance(group, ConsumerGroup):
        _resolve(context, group, request.asked, request.matches)
    return context.reply(None)


def _resolve(
    context: GroupContext,
    group: ConsumerGroup,
    asked: TopicsToMatch,
    matches: Mapping[str, frozenset[str]],
) -> None:
    """Stores the topics, and begins a new epoch if they are others.

    Expressions that no member has any more are left out.
    """
    group.is_matching = False
    resolved = {
        regex: ResolvedRegex(topics, asked.version, context.now.wall_ms)
        for regex, topics in matches.items()
        if regex in group.regex_subscribers
    }
    if not resolved:
        return
    context.result.records += [
        regex_record(group.group_id, regex, each.topics, each.version, each.timestamp_ms)
        for regex, each in resolved.items()
    ]
    has_changed = any(
        (group.regexes[regex].topics if regex in group.regexes else frozenset()) != each.topics
        for regex, each in resolved.items()
    )
    names = topics_read_by(group.members.values(), {**group.regexes, **resolved})
    new_hash = topics_hash(names, context.image)
    if has_changed or new_hash != group.metadata_hash:
        context.result.records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))


def forget_regexes(
    context: GroupContext, group: ConsumerGroup, gone: Collection[ConsumerGroupMember]
) -> Mapping[str, ResolvedRegex]:
    """Removes the expressions that only those had who are `gone`; gives the others."""
    leaving = Counter(member.topic_regex for member in gone if member.topic_regex)
    orphaned = {
        regex for regex, count in leaving.items() if group.regex_subscribers[regex] == count
    }
    context.result.records += [regex_tombstone(group.group_id, regex) for regex in sorted(orphaned)]
    return {regex: each for regex, each in group.regexes.items() if regex not in orphaned}


def _wanted(group: ConsumerGroup, old: str, new: str) -> AbstractSet[str]:
    """The expressions of all members, once one of them has replaced `old` by `new`."""
    wanted = Counter(group.regex_subscribers)
    wanted[old] -= 1
    wanted[new] += 1
    return {regex for regex, count in wanted.items() if regex and count > 0}


def _is_refresh_due(
    context: GroupContext, group: ConsumerGroup, wanted: AbstractSet[str], *, at_once: bool
) -> bool:
    if group.is_matching:
        return False
    last_ms = max((each.timestamp_ms for each in group.regexes.values()), default=None)
    if last_ms is not None and context.now.wall_ms <= last_ms + REFRESH_INTERVAL_MIN_MS:
        return False
    if at_once or last_ms is None or wanted != group.regexes.keys():
        return True
    interval_ms = context.config.consumer.regex_refresh_interval_ms
    matched_with = min(each.version for each in group.regexes.values())
    return matched_with < context.topics_version or context.now.wall_ms > last_ms + interval_ms
