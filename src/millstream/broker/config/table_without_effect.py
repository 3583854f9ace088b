"""Kafka's settings that a node takes, stores and tells, and that change nothing here: as rows of the broker's table, with the reason.

Types, defaults and what may change while a broker runs are Kafka's, so that what DescribeConfigs tells can be set again.
Values are looked at as far as their type goes, and those that can change while a broker runs as Kafka looks at them; but classes
are not looked up.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from millstream.broker.config.rows import internal, without_effect
from millstream.metadata.config_key import ConfigKey, ConfigValue, UpdateMode, Validator
from millstream.metadata.config_validators import OneOf, at_least
from millstream.protocol.enums import ConfigType

_LONG_MAX: Final = (1 << 63) - 1
_CLUSTER: Final = UpdateMode.CLUSTER_WIDE
_BROKER: Final = UpdateMode.PER_BROKER
_LISTENER: Final = UpdateMode.PER_LISTENER
_POSITIVE: Final = at_least(1)


def _key(
    kind: ConfigType,
    name: str,
    default: ConfigValue = None,
    dynamic: UpdateMode = UpdateMode.READ_ONLY,
    validator: Validator | None = None,
) -> ConfigKey:
    sensitive = kind is ConfigType.PASSWORD
    return ConfigKey(name, kind, default, validator, dynamic=dynamic, sensitive=sensitive)


_boolean = partial(_key, ConfigType.BOOLEAN)
_string = partial(_key, ConfigType.STRING)
_int = partial(_key, ConfigType.INT)
_short = partial(_key, ConfigType.SHORT)
_long = partial(_key, ConfigType.LONG)
_double = partial(_key, ConfigType.DOUBLE)
_list = partial(_key, ConfigType.LIST)
_class = partial(_key, ConfigType.CLASS)
_password = partial(_key, ConfigType.PASSWORD)


def _group(reason: str, *keys: ConfigKey) -> tuple[ConfigKey, ...]:
    return tuple(without_effect(reason, key) for key in keys)


_ONE_PROCESS = _group(
    "the controller is in the same process and hears of a failed directory at once",
    _long("log.dir.failure.timeout.ms", 30_000),
)  # fmt: skip

_CLASSES = _group(
    "policies and providers are classes of the JVM",
    _class("alter.config.policy.class.name"),
    _list("config.providers", (), _CLUSTER),
    _class("create.topic.policy.class.name"),
    internal(_string("group.share.persister.class.name", "org.apache.kafka.server.share.persister.DefaultStatePersister")),
)  # fmt: skip

_QUOTAS = _group(
    "quotas are enforced by a later version",
    _int("alter.log.dirs.replication.quota.window.num", 11),
    _int("alter.log.dirs.replication.quota.window.size.seconds", 1),
    _class("client.quota.callback.class"),
    _int("controller.quota.window.num", 11),
    _int("controller.quota.window.size.seconds", 1),
    _int("quota.window.num", 11),
    _int("quota.window.size.seconds", 1),
    _int("replication.quota.window.num", 11),
    _int("replication.quota.window.size.seconds", 1),
)  # fmt: skip

_REPLICATION = _group(
    "replication comes with a later version",
    _boolean("auto.leader.rebalance.enable", True),
    _int("controller.quorum.append.linger.ms", 25),
    _int("controller.quorum.election.backoff.max.ms", 1000),
    _int("controller.socket.timeout.ms", 30_000),
    _long("leader.imbalance.check.interval.seconds", 300),
    _int("replica.fetch.backoff.ms", 1000),
    _int("replica.fetch.max.bytes", 1_048_576),
    _int("replica.fetch.min.bytes", 1),
    _int("replica.fetch.response.max.bytes", 10_485_760),
    _int("replica.fetch.wait.max.ms", 500),
    _long("replica.lag.time.max.ms", 30_000),
    _string("replica.selector.class"),
    _int("replica.socket.receive.buffer.bytes", 65_536),
    _int("replica.socket.timeout.ms", 30_000),
    _long("socket.connection.setup.timeout.max.ms", 30_000),
    _long("socket.connection.setup.timeout.ms", 10_000),
    internal(_long("unclean.leader.election.interval.ms", 300_000)),
)  # fmt: skip

_JVM = _group(
    "threads, queues, class names and metrics reporters of the JVM: one event loop does their work",
    _int("background.threads", 10, _CLUSTER),
    internal(_long("controller.performance.always.log.threshold.ms", 2000)),
    internal(_long("controller.performance.sample.period.ms", 60_000)),
    _int("delete.records.purgatory.purge.interval.requests", 1),
    _list("early.start.listeners"),
    _int("fetch.purgatory.purge.interval.requests", 1000),
    _int("group.coordinator.background.threads", 2),
    _int("group.coordinator.threads", 4),
    _int("kafka.metrics.polling.interval.secs", 10),
    _list("kafka.metrics.reporters", ()),
    _list("metric.reporters", ("org.apache.kafka.common.metrics.JmxReporter",), _CLUSTER),
    _int("metrics.num.samples", 2),
    _string("metrics.recording.level", "INFO"),
    _long("metrics.sample.window.ms", 30_000),
    _int("num.io.threads", 8, _CLUSTER),
    _int("num.network.threads", 3, _CLUSTER),
    _int("num.recovery.threads.per.data.dir", 2, _CLUSTER),
    _int("num.replica.alter.log.dirs.threads"),
    _int("num.replica.fetchers", 1, _CLUSTER),
    _class("principal.builder.class", "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", _BROKER),
    _int("producer.purgatory.purge.interval.requests", 1000),
    _string("security.providers"),
    _int("share.coordinator.threads", 1),
    _int("share.fetch.purgatory.purge.interval.requests", 1000),
)  # fmt: skip

_TLS_AND_SASL = _group(
    "TLS and SASL come with a later version",
    _int("connection.failed.authentication.delay.ms", 100),
    _long("connections.max.reauth.ms", 0),
    _class("sasl.client.callback.handler.class"),
    _list("sasl.enabled.mechanisms", ("GSSAPI",), _BROKER),
    _password("sasl.jaas.config", None, _BROKER),
    _string("sasl.kerberos.kinit.cmd", "/usr/bin/kinit", _BROKER),
    _long("sasl.kerberos.min.time.before.relogin", 60_000, _BROKER),
    _list("sasl.kerberos.principal.to.local.rules", ("DEFAULT",), _BROKER),
    _string("sasl.kerberos.service.name", None, _BROKER),
    _double("sasl.kerberos.ticket.renew.jitter", 0.05, _BROKER),
    _double("sasl.kerberos.ticket.renew.window.factor", 0.8, _BROKER),
    _class("sasl.login.callback.handler.class"),
    _class("sasl.login.class"),
    _int("sasl.login.connect.timeout.ms"),
    _int("sasl.login.read.timeout.ms"),
    _short("sasl.login.refresh.buffer.seconds", 300, _BROKER),
    _short("sasl.login.refresh.min.period.seconds", 60, _BROKER),
    _double("sasl.login.refresh.window.factor", 0.8, _BROKER),
    _double("sasl.login.refresh.window.jitter", 0.05, _BROKER),
    _long("sasl.login.retry.backoff.max.ms", 10_000),
    _long("sasl.login.retry.backoff.ms", 100),
    _string("sasl.mechanism.controller.protocol", "GSSAPI"),
    _string("sasl.mechanism.inter.broker.protocol", "GSSAPI", _BROKER),
    _string("sasl.oauthbearer.assertion.algorithm", "RS256"),
    _string("sasl.oauthbearer.assertion.claim.aud"),
    _int("sasl.oauthbearer.assertion.claim.exp.seconds", 300),
    _string("sasl.oauthbearer.assertion.claim.iss"),
    _boolean("sasl.oauthbearer.assertion.claim.jti.include", False),
    _int("sasl.oauthbearer.assertion.claim.nbf.seconds", 60),
    _string("sasl.oauthbearer.assertion.claim.sub"),
    _string("sasl.oauthbearer.assertion.file"),
    _string("sasl.oauthbearer.assertion.private.key.file"),
    _password("sasl.oauthbearer.assertion.private.key.passphrase"),
    _string("sasl.oauthbearer.assertion.template.file"),
    _string("sasl.oauthbearer.client.credentials.client.id"),
    _password("sasl.oauthbearer.client.credentials.client.secret"),
    _int("sasl.oauthbearer.clock.skew.seconds", 30),
    _list("sasl.oauthbearer.expected.audience", ()),
    _string("sasl.oauthbearer.expected.issuer"),
    _long("sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000),
    _long("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000),
    _long("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100),
    _string("sasl.oauthbearer.jwks.endpoint.url"),
    _class("sasl.oauthbearer.jwt.retriever.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    _class("sasl.oauthbearer.jwt.validator.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    _string("sasl.oauthbearer.scope"),
    _string("sasl.oauthbearer.scope.claim.name", "scope"),
    _string("sasl.oauthbearer.sub.claim.name", "sub"),
    _string("sasl.oauthbearer.token.endpoint.url"),
    _class("sasl.server.callback.handler.class"),
    _int("sasl.server.max.receive.size", 524_288),
    _string("security.inter.broker.protocol", "PLAINTEXT"),
    _boolean("ssl.allow.dn.changes", False),
    _boolean("ssl.allow.san.changes", False),
    _list("ssl.cipher.suites", (), _BROKER),
    _string("ssl.client.auth", "none", _BROKER, OneOf(("required", "requested", "none"))),
    _list("ssl.enabled.protocols", ("TLSv1.2", "TLSv1.3"), _BROKER),
    _string("ssl.endpoint.identification.algorithm", "https", _BROKER),
    _class("ssl.engine.factory.class", None, _BROKER),
    _password("ssl.key.password", None, _LISTENER),
    _string("ssl.keymanager.algorithm", "SunX509", _BROKER),
    _password("ssl.keystore.certificate.chain", None, _LISTENER),
    _password("ssl.keystore.key", None, _LISTENER),
    _string("ssl.keystore.location", None, _LISTENER),
    _password("ssl.keystore.password", None, _LISTENER),
    _string("ssl.keystore.type", "JKS", _LISTENER),
    _string("ssl.principal.mapping.rules", "DEFAULT"),
    _string("ssl.protocol", "TLSv1.3", _BROKER),
    _string("ssl.provider", None, _BROKER),
    _string("ssl.secure.random.implementation", None, _BROKER),
    _string("ssl.trustmanager.algorithm", "PKIX", _BROKER),
    _password("ssl.truststore.certificates", None, _LISTENER),
    _string("ssl.truststore.location", None, _LISTENER),
    _password("ssl.truststore.password", None, _LISTENER),
    _string("ssl.truststore.type", "JKS", _LISTENER),
)  # fmt: skip

_CORDONED = _group(
    "directories are not cordoned: a new partition goes to the one with the fewest",
    _list("cordoned.log.dirs", (), _BROKER),
)  # fmt: skip

_REMOTE = _group(
    "segments are kept on local disks only",
    _boolean("follower.fetch.last.tiered.offset.enable", False, _CLUSTER),
    _int("remote.fetch.max.wait.ms", 500, _CLUSTER, _POSITIVE),
    _long("remote.list.offsets.request.timeout.ms", 30_000, _CLUSTER, _POSITIVE),
    _long("remote.log.index.file.cache.total.size.bytes", 1_073_741_824, _CLUSTER, _POSITIVE),
    internal(_long("remote.log.index.file.cache.ttl.ms", 900_000)),
    _int("remote.log.manager.copier.thread.pool.size", 10, _CLUSTER, _POSITIVE),
    _long("remote.log.manager.copy.max.bytes.per.second", _LONG_MAX, _CLUSTER, _POSITIVE),
    _int("remote.log.manager.copy.quota.window.num", 11),
    _int("remote.log.manager.copy.quota.window.size.seconds", 1),
    _int("remote.log.manager.expiration.thread.pool.size", 10, _CLUSTER, _POSITIVE),
    _long("remote.log.manager.fetch.max.bytes.per.second", _LONG_MAX, _CLUSTER, _POSITIVE),
    _int("remote.log.manager.fetch.quota.window.num", 11),
    _int("remote.log.manager.fetch.quota.window.size.seconds", 1),
    _int("remote.log.manager.follower.thread.pool.size", 2, _CLUSTER, _POSITIVE),
    _long("remote.log.manager.task.interval.ms", 30_000),
    internal(_long("remote.log.manager.task.retry.backoff.max.ms", 30_000)),
    internal(_long("remote.log.manager.task.retry.backoff.ms", 500)),
    internal(_double("remote.log.manager.task.retry.jitter", 0.2)),
    _int("remote.log.manager.thread.pool.size", 2),
    _int("remote.log.metadata.custom.metadata.max.bytes", 128),
    _string("remote.log.metadata.manager.class.name", "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
    _string("remote.log.metadata.manager.class.path"),
    _string("remote.log.metadata.manager.impl.prefix", "rlmm.config."),
    _string("remote.log.metadata.manager.listener.name"),
    _int("remote.log.reader.max.pending.tasks", 100),
    _int("remote.log.reader.threads", 10, _CLUSTER, _POSITIVE),
    _string("remote.log.storage.manager.class.name"),
    _string("remote.log.storage.manager.class.path"),
    _string("remote.log.storage.manager.impl.prefix", "rsm.config."),
    _boolean("remote.log.storage.system.enable", False),
)  # fmt: skip

_BUFFERS = _group(
    "buffers and pauses of this part are not tunable here",
    _int("group.coordinator.append.linger.ms", -1),
    _int("group.coordinator.cached.buffer.max.bytes", 1_048_588, _CLUSTER, at_least(524_288)),
    _int("offsets.load.buffer.size", 5_242_880),
    _int("share.coordinator.append.linger.ms", -1),
    _int("share.coordinator.cached.buffer.max.bytes", 1_048_588, _CLUSTER, at_least(524_288)),
    _int("share.coordinator.load.buffer.size", 5_242_880),
    _int("transaction.state.log.load.buffer.size", 5_242_880),
)  # fmt: skip

_METADATA = _group(
    "the metadata log is written when something changes, and has no other knobs",
    internal(_long("internal.metadata.delete.delay.millis", 60_000)),
    internal(_int("internal.metadata.log.segment.bytes")),
    internal(_int("internal.metadata.max.batch.size.in.bytes", 8_388_608)),
    _int("metadata.max.idle.interval.ms", 500),
)  # fmt: skip

_UNSTABLE = _group(
    "released features only",
    internal(_boolean("unstable.api.versions.enable", False)),
    internal(_boolean("unstable.feature.versions.enable", False)),
)  # fmt: skip

ROWS_WITHOUT_EFFECT: Final = (
    *_REPLICATION, *_TLS_AND_SASL, *_QUOTAS, *_REMOTE, *_CORDONED,
    *_CLASSES, *_ONE_PROCESS, *_JVM, *_BUFFERS, *_METADATA, *_UNSTABLE,
)  # fmt: skip
