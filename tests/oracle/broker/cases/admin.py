"""What administrates: access control, quotas, credentials, tokens, log directories, the quorum, features, brokers."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = 2, 3, 4, 5, 6, 7
READ, WRITE, ALLOW, DENY = 3, 4, 3, 2


def rule(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    } | fields


def rules(name: str | None, **fields: Any) -> dict[str, Any]:
    """A filter."""
    return {
        "resource_type_filter": ANY,
        "resource_name_filter": name,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    } | fields


@case("CreateAcls", "DescribeAcls", "DeleteAcls")
def access_control_lists(s: Session) -> None:
    for version in versions("CreateAcls"):
        name = s.name(f"v{version}-")
        for note, *creations in (
            ("good", rule(name), rule(name, operation=WRITE, host="1.2.3.4", permission_type=DENY)), ("again", rule(name)), ("prefixed", rule(name, resource_pattern_type=PREFIXED)),
            ("wildcard", rule("*", principal=f"User:{name}")), ("no name", rule("")), ("principal without type", rule(name, principal="alice")), ("no principal", rule(name, principal="")),
            ("pattern any", rule(name, resource_pattern_type=ANY)), ("pattern match", rule(name, resource_pattern_type=MATCH)), ("type any", rule(name, resource_type=ANY)), ("type 0", rule(name, resource_type=0)),
            ("type 99", rule(name, resource_type=99)), ("operation any", rule(name, operation=ANY)), ("operation 0", rule(name, operation=0)), ("permission any", rule(name, permission_type=ANY)),
            ("permission 0", rule(name, permission_type=0)), ("no host", rule(name, host="")), ("cluster", rule("kafka-cluster", resource_type=CLUSTER, principal=f"User:{name}")), ("cluster of another name", rule("other", resource_type=CLUSTER)),
            ("good and bad", rule(name + "x"), rule(name, operation=ANY)), ("nothing",), ("group", rule(name, resource_type=GROUP)), ("user", rule(f"User:{name}", resource_type=USER)),
        ):  # fmt: skip
            s.ask("CreateAcls", version, note, creations=creations)
        for note, filter_ in (
            ("by name", rules(name)), ("literal", rules(name, pattern_type_filter=LITERAL)), ("prefixed", rules(name, pattern_type_filter=PREFIXED)), ("match", rules(name + "more", pattern_type_filter=MATCH, principal_filter="User:alice")),
            ("by principal", rules(None, principal_filter=f"User:{name}")), ("by operation", rules(name, operation=WRITE)), ("by host", rules(name, host_filter="1.2.3.4")), ("by permission", rules(name, permission_type=DENY)),
            ("unknown type", rules(name, resource_type_filter=0)), ("type 99", rules(name, resource_type_filter=99)), ("pattern 0", rules(name, pattern_type_filter=0)), ("operation 0", rules(name, operation=0)),
            ("groups", rules(name, resource_type_filter=GROUP)),
        ):  # fmt: skip
            s.ask("DescribeAcls", version, note, **filter_)
        for note, filter_ in (
            ("one", rules(name, operation=WRITE)), ("again", rules(name, operation=WRITE)), ("unknown type", rules(name, resource_type_filter=0)), ("all of the name", rules(name)), ("the rest", rules(None, principal_filter=f"User:{name}")),
        ):  # fmt: skip
            s.ask("DeleteAcls", version, note, filters=[filter_])
        s.ask("DeleteAcls", version, "two", filters=[rules(name + "x"), rules(s.name("no"))])
        s.ask("DeleteAcls", version, "nothing", filters=[])


@case("AlterClientQuotas", "DescribeClientQuotas")
def client_quotas(s: Session) -> None:
    user, client = s.name("u"), s.name("c")
    for version in versions("AlterClientQuotas"):

        def alter(
            note: str,
            entity: dict[str, str | None],
            *ops: tuple[str, float, bool],
            validate_only: bool = False,
            version: int = version,
        ) -> None:
            s.ask("AlterClientQuotas", version, note, validate_only=validate_only, entries=[{
                "entity": [{"entity_type": t, "entity_name": n} for t, n in entity.items()], "ops": [{"key": k, "value": v, "remove": r} for k, v, r in ops]}])  # fmt: skip

        alter(
            "user",
            {"user": user},
            ("producer_byte_rate", 1000.0, False),
            ("consumer_byte_rate", 2000.5, False),
        )
        alter(
            "user and client",
            {"user": user, "client-id": client},
            ("request_percentage", 50.0, False),
        )
        alter("default client", {"client-id": None}, ("producer_byte_rate", 7.0, False))
        alter("ip", {"ip": "10.0.0.1"}, ("connection_creation_rate", 5.0, False))
        alter("bad ip", {"ip": "no such ip"}, ("connection_creation_rate", 5.0, False))
        alter("ip with a byte rate", {"ip": "10.0.0.1"}, ("producer_byte_rate", 5.0, False))
        alter("ip and user", {"ip": "10.0.0.1", "user": user}, ("producer_byte_rate", 5.0, False))
        alter("unknown entity", {"colour": "red"}, ("producer_byte_rate", 5.0, False))
        alter("no entity", {}, ("producer_byte_rate", 5.0, False))
        alter("empty name", {"user": ""}, ("producer_byte_rate", 5.0, False))
        alter("unknown key", {"user": user}, ("no_such_rate", 5.0, False))
        alter("negative", {"user": user}, ("producer_byte_rate", -5.0, False))
        alter("zero", {"user": user}, ("producer_byte_rate", 0.0, False))
        alter("fraction of a byte", {"user": user}, ("producer_byte_rate", 0.5, False))
        alter("connection rate of a user", {"user": user}, ("connection_creation_rate", 5.0, False))
        alter("mutation rate", {"user": user}, ("controller_mutation_rate", 5.0, False))
        alter("to check", {"user": user}, ("producer_byte_rate", 9.0, False), validate_only=True)

        def describe(
            note: str,
            *components: tuple[str, int, str | None],
            strict: bool = False,
            version: int = version,
        ) -> None:
            s.ask(
                "DescribeClientQuotas",
                version,
                note,
                strict=strict,
                components=[
                    {"entity_type": t, "match_type": m, "match": n} for t, m, n in components
                ],
            )

        describe("exact user", ("user", 0, user))
        describe("exact user, strictly", ("user", 0, user), strict=True)
        describe("user and client", ("user", 0, user), ("client-id", 0, client))
        describe("user and any client", ("user", 0, user), ("client-id", 2, None))
        describe("default client", ("client-id", 1, None), strict=True)
        describe("ip", ("ip", 0, "10.0.0.1"))
        describe("unknown type", ("colour", 0, "red"))
        describe("empty type", ("", 0, "red"))
        describe("unknown match", ("user", 9, user))
        describe("exact without a name", ("user", 0, None))
        describe("type twice", ("user", 0, user), ("user", 1, None))
        describe("ip and user", ("ip", 0, "10.0.0.1"), ("user", 0, user))
        alter(
            "removed",
            {"user": user},
            *(
                (key, 0.0, True)
                for key in ("producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate")
            ),
        )
        alter("removed again", {"user": user}, ("producer_byte_rate", 0.0, True))
        alter(
            "client removed", {"user": user, "client-id": client}, ("request_percentage", 0.0, True)
        )
        alter("default removed", {"client-id": None}, ("producer_byte_rate", 0.0, True))
        describe("exact user, none left", ("user", 0, user))


@case("AlterUserScramCredentials", "DescribeUserScramCredentials")
def scram_credentials(s: Session) -> None:
    user = s.name()

    def upsert(
        note: str, *entries: dict[str, Any], deletions: tuple[dict[str, Any], ...] = ()
    ) -> None:
        given = {
            "name": user,
            "mechanism": 1,
            "iterations": 4096,
            "salt": b"salt",
            "salted_password": b"p" * 32,
        }
        s.ask(
            "AlterUserScramCredentials",
            0,
            note,
            upsertions=[given | entry for entry in entries],
            deletions=list(deletions),
        )

    def describe(note: str, *names: str) -> None:
        s.ask("DescribeUserScramCredentials", 0, note, users=[{"name": n} for n in names])

    upsert("sha 256", {})
    upsert("sha 512", {"mechanism": 2, "iterations": 8192, "salted_password": b"p" * 64})
    for note, entry in (
        ("unknown mechanism", {"mechanism": 9}),
        ("mechanism 0", {"mechanism": 0}),
        ("few iterations", {"iterations": 4095}),
        ("many iterations", {"iterations": 16_385}),
        ("no name", {"name": ""}),
    ):
        upsert(note, entry)
    upsert("twice", {}, {})
    upsert("two of one user", {}, {"mechanism": 2})
    upsert("changed and deleted", {}, deletions=({"name": user, "mechanism": 1},))
    describe("user", user)
    describe("unknown user", s.name("no"))
    describe("twice", user, user)
    describe("no name", "")
    upsert("deleted", deletions=({"name": user, "mechanism": 1},))
    upsert("deleted again", deletions=({"name": user, "mechanism": 1},))
    upsert("unknown deleted", deletions=({"name": s.name("no"), "mechanism": 1},))
    describe("then", user)
    upsert("nothing")


@case(
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
)
def delegation_tokens_need_authentication(s: Session) -> None:
    for version in versions("CreateDelegationToken"):
        s.ask("CreateDelegationToken", version, renewers=[], max_lifetime_ms=-1)
        s.ask(
            "CreateDelegationToken",
            version,
            "bad renewer",
            renewers=[{"principal_type": "Group", "principal_name": "x"}],
            max_lifetime_ms=-1,
        )
        s.ask("DescribeDelegationToken", version, "all", owners=None)
        s.ask("DescribeDelegationToken", version, "nobody's", owners=[])
        s.ask(
            "DescribeDelegationToken",
            version,
            "somebody's",
            owners=[{"principal_type": "User", "principal_name": "x"}],
        )
    for version in versions("RenewDelegationToken"):
        s.ask("RenewDelegationToken", version, hmac=b"x", renew_period_ms=-1)
        s.ask("ExpireDelegationToken", version, hmac=b"x", expiry_time_period_ms=-1)


@case("DescribeLogDirs", "AlterReplicaLogDirs")
def log_directories(s: Session) -> None:
    topic = s.topic(partitions=2)
    s.produce(topic, b"a")
    for version in versions("DescribeLogDirs"):
        s.ask(
            "DescribeLogDirs",
            version,
            "one topic",
            topics=[{"topic": topic.name, "partitions": [0, 1]}],
        )
        s.ask(
            "DescribeLogDirs",
            version,
            "unknown partition",
            topics=[{"topic": topic.name, "partitions": [9]}],
        )
        s.ask(
            "DescribeLogDirs",
            version,
            "unknown topic",
            topics=[{"topic": s.name("no"), "partitions": [0]}],
        )
        s.ask("DescribeLogDirs", version, "nothing", topics=[])
    found = s.quietly("DescribeLogDirs", 4, topics=None).results[0].log_dir
    for version in versions("AlterReplicaLogDirs"):
        for note, path, name, partition in (
            ("where it is", found, topic.name, 0), ("unknown directory", "/no/such", topic.name, 0), ("relative directory", "data", topic.name, 0), ("unknown partition", found, topic.name, 9), ("unknown topic", found, s.name("no"), 0),
        ):  # fmt: skip
            s.ask(
                "AlterReplicaLogDirs",
                version,
                note,
                dirs=[{"path": path, "topics": [{"name": name, "partitions": [partition]}]}],
            )
        s.ask("AlterReplicaLogDirs", version, "nothing", dirs=[])


@case("DescribeQuorum")
def describe_quorum(s: Session) -> None:
    for version in versions("DescribeQuorum"):
        for note, name, partition in (
            ("metadata", "__cluster_metadata", 0),
            ("another topic", "x", 0),
            ("another partition", "__cluster_metadata", 1),
        ):
            answer = s.quietly(
                "DescribeQuorum",
                version,
                topics=[{"topic_name": name, "partitions": [{"partition_index": partition}]}],
            )
            for topic in answer.topics:
                for entry in topic.partitions:
                    entry.high_watermark = min(entry.high_watermark, 1)
                    entry.leader_epoch = min(entry.leader_epoch, 1)
                    for replica in [*entry.current_voters, *entry.observers]:
                        replica.log_end_offset = min(replica.log_end_offset, 1)
            from millstream.protocol.json_form import to_json

            s.note("DescribeQuorum", version, note, to_json(answer, version))
        s.ask("DescribeQuorum", version, "nothing", topics=[])


@case("UpdateFeatures")
def update_features(s: Session) -> None:
    for version in versions("UpdateFeatures"):
        for note, feature, level, kind in (
            ("unknown feature", "no.such.feature", 1, 1), ("as it is", "group.version", 1, 1), ("too high", "group.version", 9, 1), ("downgraded as an upgrade", "metadata.version", 29, 1),
            ("unknown kind", "group.version", 1, 9), ("kind 0", "group.version", 1, 0), ("too low", "metadata.version", 1, 2), ("negative", "group.version", -1, 1), ("as it is, by downgrade", "group.version", 1, 2),
        ):  # fmt: skip
            s.ask("UpdateFeatures", version, note, timeout_ms=3000, validate_only=version > 0, feature_updates=[
                {"feature": feature, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": False}])  # fmt: skip
        s.ask("UpdateFeatures", version, "nothing", timeout_ms=3000, feature_updates=[])


@case("UpdateFeatures")
def update_kraft_version(s: Session) -> None:
    """Both brokers are static quorums. That they become dynamic would change other cases: it is only checked here."""
    for version in (1, 2):
        for level, kind in (
            (1, 1),
            (1, 2),
            (1, 3),
            (1, 9),
            (0, 1),
            (0, 2),
            (0, 3),
            (2, 1),
            (-1, 1),
        ):
            s.ask("UpdateFeatures", version, f"kraft.version {level} by {kind}", timeout_ms=3000, validate_only=True, feature_updates=[
                {"feature": "kraft.version", "max_version_level": level, "upgrade_type": kind}])  # fmt: skip
        for feature, level, kind in (
            ("group.version", 9, 1),
            ("kraft.version", 0, 1),
            ("kraft.version", 9, 1),
            ("group.version", 0, 2),
        ):
            s.ask("UpdateFeatures", version, f"kraft.version 1 and {feature} {level}", timeout_ms=3000, validate_only=True, feature_updates=[
                {"feature": "kraft.version", "max_version_level": 1, "upgrade_type": 1}, {"feature": feature, "max_version_level": level, "upgrade_type": kind}])  # fmt: skip


@case("UnregisterBroker")
def unregister_broker(s: Session) -> None:
    s.ask("UnregisterBroker", 0, "unknown", broker_id=99)
    s.ask("UnregisterBroker", 0, "negative", broker_id=-1)


@case("AddRaftVoter", "RemoveRaftVoter")
def raft_voters(s: Session) -> None:
    for version in versions("AddRaftVoter"):
        s.ask(
            "AddRaftVoter",
            version,
            "another cluster",
            cluster_id="other",
            timeout_ms=2000,
            voter_id=9,
            voter_directory_id=bytes(15) + b"\x05",
            listeners=[],
        )
        s.ask(
            "AddRaftVoter",
            version,
            "static quorum",
            cluster_id=None,
            timeout_ms=2000,
            voter_id=9,
            voter_directory_id=bytes(15) + b"\x05",
            listeners=[{"name": "CONTROLLER", "host": "localhost", "port": 1}],
        )
        for note, voter_id, directory, listener in (
            ("no directory", 9, bytes(16), "CONTROLLER"),
            ("negative id", -1, bytes(15) + b"\x05", "CONTROLLER"),
            ("itself", 1, bytes(16), "CONTROLLER"),
            ("another directory", 1, bytes(15) + b"\x05", "CONTROLLER"),
            ("another listener", 9, bytes(15) + b"\x05", "OTHER"),
        ):
            s.ask("AddRaftVoter", version, note, cluster_id=None, timeout_ms=2000, voter_id=voter_id, voter_directory_id=directory,
                  listeners=[{"name": listener, "host": "localhost", "port": 1}])  # fmt: skip
    s.ask(
        "RemoveRaftVoter",
        0,
        "another cluster",
        cluster_id="other",
        voter_id=9,
        voter_directory_id=bytes(15) + b"\x05",
    )
    s.ask(
        "RemoveRaftVoter",
        0,
        "unknown",
        cluster_id=None,
        voter_id=9,
        voter_directory_id=bytes(15) + b"\x05",
    )
    for note, voter_id, directory in (
        ("no directory", 9, bytes(16)),
        ("negative id", -1, bytes(15) + b"\x05"),
        ("itself", 1, bytes(16)),
        ("another directory", 1, bytes(15) + b"\x05"),
    ):
        s.ask("RemoveRaftVoter", 0, note, cluster_id=None, voter_id=voter_id, voter_directory_id=directory)  # fmt: skip


@case("SaslHandshake")
def sasl_on_a_plaintext_listener(s: Session) -> None:
    for version in versions("SaslHandshake"):
        s.ask("SaslHandshake", version, mechanism="PLAIN")
    for version in versions("SaslAuthenticate"):
        s.ask("SaslAuthenticate", version, auth_bytes=b"\0user\0password")


@case("GetTelemetrySubscriptions", "PushTelemetry")
def telemetry(s: Session) -> None:
    """Kafka serves these only where a metrics reporter receives them."""
    s.ask("GetTelemetrySubscriptions", 0, client_instance_id=bytes(16))
    s.ask(
        "PushTelemetry",
        0,
        client_instance_id=bytes(15) + b"\x05",
        subscription_id=1,
        terminating=False,
        compression_type=0,
        metrics=b"",
    )
