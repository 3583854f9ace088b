"""Rules created and deleted through the controller, against a plain list that is searched naively."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from millstream.controller.controller import Controller
from millstream.controller.operation import ControllerContext
from millstream.controller.security.acls import plan_create_acls, plan_delete_acls
from millstream.controller.settings import ControllerSettings
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.create_acls import AclCreation, CreateAclsRequest
from millstream.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from millstream.runtime import Instant

Rule = tuple[int, str, int, str, str, int, int]
"""Resource type, name, pattern type, principal, host, operation, permission."""
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
NAMES = st.sampled_from(["t", "te", "test", "*"])

rules = st.tuples(
    st.sampled_from([2, 3]), NAMES, st.sampled_from([LITERAL, PREFIXED]), st.sampled_from(["User:a", "User:b"]),
    st.sampled_from(["*", "h"]), st.sampled_from([3, 4]), st.sampled_from([2, 3]),
)  # fmt: skip
filters = st.tuples(
    st.sampled_from([ANY, 2, 3]), st.none() | NAMES, st.sampled_from([ANY, MATCH, LITERAL, PREFIXED]),
    st.none() | st.sampled_from(["User:a", "User:b"]), st.none() | st.sampled_from(["*", "h"]),
    st.sampled_from([ANY, 3, 4]), st.sampled_from([ANY, 2, 3]),
)  # fmt: skip


def naively_found(
    asked: tuple[int, str | None, int, str | None, str | None, int, int], rule: Rule
) -> bool:
    """Kafka's words: MATCH finds what speaks of the name, every other pattern type the name itself."""
    kind, name, pattern, principal, host, operation, permission = asked
    by_type = (
        kind in (ANY, rule[0]) and operation in (ANY, rule[5]) and permission in (ANY, rule[6])
    )
    by_who = principal in (None, rule[3]) and host in (None, rule[4])
    by_pattern = pattern in (ANY, MATCH, rule[2])
    if name is None:
        by_name = True
    elif pattern == MATCH and rule[2] == PREFIXED:
        by_name = name.startswith(rule[1])
    elif pattern == MATCH:
        by_name = rule[1] in (name, "*")
    else:
        by_name = rule[1] == name
    return by_type and by_who and by_pattern and by_name


class World:
    def __init__(self) -> None:
        settings = ControllerSettings(cluster_id="c", node_id=1)
        self.controller = Controller(MetadataImage(), settings, epoch=1)
        self._random = random.Random(1)
        self._offset = 0

    def submit(self, plan: object, request: object) -> object:
        controller = self.controller
        context = ControllerContext(
            controller.image,
            controller.settings,
            controller.sessions,
            Instant(0, 0),
            self._random,
            self._offset,
        )
        result = plan(context, request)
        for record in result.records:
            self.controller.replay(self._offset, record)
            self._offset += 1
        return result.response

    def stored(self) -> list[Rule]:
        return sorted(
            (e.resource_type, e.resource_name, e.pattern_type, e.principal, e.host, e.operation, e.permission_type)
            for e in self.controller.image.acls.values()
        )  # fmt: skip


@given(st.lists(st.lists(rules, min_size=1, max_size=4) | filters, max_size=12))
def test_what_is_stored_is_what_a_plain_list_would_hold(steps: list[object]) -> None:
    world, model = World(), []
    for step in steps:
        if isinstance(step, list):
            request = CreateAclsRequest(creations=[AclCreation(*rule) for rule in step])
            response = world.submit(plan_create_acls, request)
            assert all(result.error_code == 0 for result in response.results)
            model += [rule for rule in dict.fromkeys(step) if rule not in model]
        else:
            request = DeleteAclsRequest(filters=[DeleteAclsFilter(*step)])
            (result,) = world.submit(plan_delete_acls, request).filter_results
            gone = [rule for rule in model if naively_found(step, rule)]
            assert len(result.matching_acls) == len(gone)
            model = [rule for rule in model if rule not in gone]
        assert world.stored() == sorted(model)
