"""Kafka's settings that a node takes, stores and tells, and that change nothing here: as rows of
the broker's table, with the reason.

Types, defaults and what may change while a broker runs are Kafka's, so that what DescribeConfigs tells can be set
again. Values are looked at as far as their type goes, and those that can change while a broker runs as Kafka looks at
them; but classes are not looked up.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from millstream.broker.config.rows import internal, without_effect
from millstream.metadata.config_key import ConfigKey, ConfigValue, UpdateMode, Validator
from millstream.metadata.config_validators import at_least
from millstream.protocol.enums import ConfigType

_LONG_MAX: Final = (1 << 63) - 1
_CLUSTER: Final = UpdateMode.CLUSTER_WIDE
_BROKER: Final = UpdateMode.PER_BROKER
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

_AT_ONCE = _group(
    "records of the metadata log are appended as they come, and those that come while the disk syncs share the next sync: there is nothing to wait for",
    _int("controller.quorum.append.linger.ms", 25),
)  # fmt: skip

_CLASSES = _group(
    "policies and providers are classes of the JVM",
    _class("alter.config.policy.class.name"),
    _list("config.providers", (), _CLUSTER),
    _class("create.topic.policy.class.name"),
    internal(_string("group.share.persister.class.name", "org.apache.kafka.server.share.persister.DefaultStatePersister")),
)  # fmt: skip

_MOVES = _group(
    "moves between directories keep to their rate from one piece to the next: there are no windows over which it is measured, in which more could be copied at first",
    _int("alter.log.dirs.replication.quota.window.num", 11),
    _int("alter.log.dirs.replication.quota.window.size.seconds", 1),
)  # fmt: skip

_QUOTAS = _group(
    "quotas are those that the metadata log holds: a class of the JVM cannot be asked",
    _class("client.quota.callback.class"),
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
    _class("principal.builder.class", "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", _BROKER),
    _int("producer.purgatory.purge.interval.requests", 1000),
    _string("security.providers"),
    _int("share.coordinator.threads", 1),
    _int("share.fetch.purgatory.purge.interval.requests", 1000),
)  # fmt: skip

_SASL = _group(
    "of SASL this version has PLAIN, SCRAM and OAUTHBEARER, without classes of the JVM and without Kerberos",
    _class("sasl.client.callback.handler.class"),
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
    _class("sasl.oauthbearer.jwt.retriever.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    _class("sasl.oauthbearer.jwt.validator.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    _string("sasl.oauthbearer.scope"),
    _string("sasl.oauthbearer.scope.claim.name", "scope"),
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
    *_MOVES, *_SASL, *_QUOTAS, *_REMOTE,
    *_AT_ONCE, *_CLASSES, *_ONE_PROCESS, *_JVM, *_BUFFERS, *_METADATA, *_UNSTABLE,
)  # fmt: skip
