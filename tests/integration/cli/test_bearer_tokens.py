"""A login by a bearer token in a file, which is read at each login: by the command line, with a file of Kafka's tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from tests.support.sasl_node import SaslNode, sasl_node


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    with sasl_node(tmp_path_factory.mktemp("node")) as running:
        yield running


def test_a_token_in_a_file_logs_in_and_what_is_wrong_with_it_is_said(
    node: SaslNode, tmp_path: Path
) -> None:
    token, file = tmp_path / "token", tmp_path / "client.properties"
    file.write_text(
        f"""
bootstrap.servers={node.bootstrap}
security.protocol=SASL_PLAINTEXT
sasl.mechanism=OAUTHBEARER
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.oauthbearer.jwt.retriever.class=org.apache.kafka.common.security.oauthbearer.FileJwtRetriever
sasl.oauthbearer.token.endpoint.url={token.as_uri()}
sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
"""
    )

    def topics() -> Result:
        return CliRunner().invoke(main, ["topics", "list", "--config", str(file)])

    missing = topics()
    assert (missing.exit_code, missing.stderr) == (
        4, f"error: no token can be read from {token}: No such file or directory\n"
    )  # fmt: skip
    token.write_text(node.issuer.token(lifetime_s=-60))
    expired = topics()
    assert expired.exit_code == 4
    assert expired.stderr.startswith(
        f"error: {node.bootstrap} refused the login of the bearer of the token in {token} (OAUTHBEARER): "
    )
    token.write_text(f"{node.issuer.token()}\n")
    good = topics()
    assert good.exit_code == 0, good.stderr
    assert "error" not in good.stderr
