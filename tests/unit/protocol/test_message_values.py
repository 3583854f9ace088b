"""What can be asked of any message, and its text as it may stand in a log."""

from __future__ import annotations

from millstream.protocol.generated.alter_user_scram_credentials import ScramCredentialUpsertion
from millstream.protocol.generated.incremental_alter_configs import AlterableConfig
from millstream.protocol.generated.metadata_records import ConfigRecord
from millstream.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.protocol.message_values import error_codes


def test_what_one_could_log_in_with_is_hidden() -> None:
    shown = repr(SaslAuthenticateRequest(b"\0alice\0wonder"))
    assert shown == "SaslAuthenticateRequest(auth_bytes=[hidden], unknown_tagged_fields=())"
    upsertion = ScramCredentialUpsertion("alice", 1, 4096, b"salt", b"wonder")
    assert "wonder" not in repr(upsertion)
    assert "'alice'" in repr(upsertion)


def test_everything_else_is_shown() -> None:
    assert "'PLAIN'" in repr(SaslHandshakeRequest("PLAIN"))


def test_the_error_codes_of_a_message_are_those_of_all_its_parts() -> None:
    partitions = [
        PartitionProduceResponse(index=n, error_code=code) for n, code in enumerate((0, 6))
    ]
    response = ProduceResponse(responses=[TopicProduceResponse(partition_responses=partitions)])
    assert error_codes(response) == [0, 6]
    assert error_codes(PartitionProduceResponse(error_code=3)) == [3]


def test_the_value_of_a_setting_is_hidden_and_its_name_is_not() -> None:
    """It may be a key, a password or a JAAS text, and nobody who prints a message knows which."""
    for asked in (
        AlterableConfig("ssl.key.password", 0, "wonder"),
        ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="wonder"),
    ):
        assert "wonder" not in repr(asked)
        assert "'ssl.key.password'" in repr(asked)
