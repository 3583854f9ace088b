"""
Every error code of Kafka 4.3: code, name, `*` where a client may retry, and one sentence that says what to do.

`make codegen` turns this table into src/millstream/errors.py.
"""

ERRORS = """
-1 UNKNOWN_SERVER_ERROR | The server failed in a way it did not expect; its log says how.
1 OFFSET_OUT_OF_RANGE | The offset is not within the log: it was deleted by retention or not written yet.
2 CORRUPT_MESSAGE* | The batch's checksum or size does not match its contents.
3 UNKNOWN_TOPIC_OR_PARTITION* | The server does not host this topic or partition.
4 INVALID_FETCH_SIZE | The requested fetch size is not valid.
5 LEADER_NOT_AVAILABLE* | The partition has no leader at the moment.
6 NOT_LEADER_OR_FOLLOWER* | This broker is neither leader nor follower of the partition; refresh metadata.
7 REQUEST_TIMED_OUT* | The request was not completed within its time limit.
8 BROKER_NOT_AVAILABLE | The broker is not available.
9 REPLICA_NOT_AVAILABLE* | The replica is not available on this broker.
10 MESSAGE_TOO_LARGE | The batch is larger than max.message.bytes of the topic allows.
11 STALE_CONTROLLER_EPOCH | A newer controller is active.
12 OFFSET_METADATA_TOO_LARGE | The metadata of a committed offset is longer than offset.metadata.max.bytes.
13 NETWORK_EXCEPTION* | The connection was lost before the response arrived.
14 COORDINATOR_LOAD_IN_PROGRESS* | The coordinator is still loading its state; try again.
15 COORDINATOR_NOT_AVAILABLE* | The coordinator is not available; try again.
16 NOT_COORDINATOR* | This broker is not the coordinator; look it up again.
17 INVALID_TOPIC_EXCEPTION | The topic name is not legal, or the operation is not allowed on this topic.
18 RECORD_LIST_TOO_LARGE | The batch is larger than the segment size of the server.
19 NOT_ENOUGH_REPLICAS* | Fewer replicas are in sync than min.insync.replicas asks for; nothing was written.
20 NOT_ENOUGH_REPLICAS_AFTER_APPEND* | The batch was written, but fewer replicas were in sync than required.
21 INVALID_REQUIRED_ACKS | acks must be -1 (all), 0 or 1.
22 ILLEGAL_GENERATION | The generation of the group has changed; join again.
23 INCONSISTENT_GROUP_PROTOCOL | The member shares no protocol type or assignor with the rest of the group.
24 INVALID_GROUP_ID | The group id is not valid.
25 UNKNOWN_MEMBER_ID | The coordinator does not know this member; join again.
26 INVALID_SESSION_TIMEOUT | The session timeout is outside group.min/max.session.timeout.ms.
27 REBALANCE_IN_PROGRESS | The group is rebalancing; join again.
28 INVALID_COMMIT_OFFSET_SIZE | The offset commit is too large to be written.
29 TOPIC_AUTHORIZATION_FAILED | Not authorized for this topic: its user needs READ on it to read, WRITE to write, CREATE to create it, DELETE, ALTER or ALTER_CONFIGS to change it, DESCRIBE or DESCRIBE_CONFIGS to look at it.
30 GROUP_AUTHORIZATION_FAILED | Not authorized for this group: its user needs READ on it, or DESCRIBE to look at it, DELETE to delete it.
31 CLUSTER_AUTHORIZATION_FAILED | Not authorized for this operation on the cluster: its user needs a permission on the resource kafka-cluster.
32 INVALID_TIMESTAMP | A timestamp lies outside the range that the topic accepts.
33 UNSUPPORTED_SASL_MECHANISM | The server does not offer this SASL mechanism.
34 ILLEGAL_SASL_STATE | The request is not legal in the current state of authentication.
35 UNSUPPORTED_VERSION | The server does not support this version of the request.
36 TOPIC_ALREADY_EXISTS | A topic of this name exists already.
37 INVALID_PARTITIONS | The number of partitions is not valid.
38 INVALID_REPLICATION_FACTOR | The replication factor is below 1 or above the number of usable brokers.
39 INVALID_REPLICA_ASSIGNMENT | The replica assignment is not valid.
40 INVALID_CONFIG | A configuration value is not valid.
41 NOT_CONTROLLER* | This node is not the active controller.
42 INVALID_REQUEST | The request contradicts itself or lacks what it needs.
43 UNSUPPORTED_FOR_MESSAGE_FORMAT | The record format of the server does not support this.
44 POLICY_VIOLATION | The request violates a policy of the server.
45 OUT_OF_ORDER_SEQUENCE_NUMBER | The producer's sequence number does not follow the last one; a batch is missing.
46 DUPLICATE_SEQUENCE_NUMBER | The batch was written before and is no longer among the remembered ones.
47 INVALID_PRODUCER_EPOCH | A producer with the same id and a newer epoch exists.
48 INVALID_TXN_STATE | The operation is not legal in the current state of the transaction.
49 INVALID_PRODUCER_ID_MAPPING | The producer id does not belong to this transactional id.
50 INVALID_TRANSACTION_TIMEOUT | The transaction timeout is larger than transaction.max.timeout.ms.
51 CONCURRENT_TRANSACTIONS* | An earlier transaction of this producer is still being completed; try again.
52 TRANSACTION_COORDINATOR_FENCED | A newer transaction coordinator is active.
53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED | Not authorized for this transactional id: its user needs WRITE on it, or DESCRIBE to look at it.
54 SECURITY_DISABLED | Security features are disabled on this server.
55 OPERATION_NOT_ATTEMPTED | The operation was not attempted, because another part of the request failed first.
56 KAFKA_STORAGE_ERROR* | The disk failed while the server accessed the log.
57 LOG_DIR_NOT_FOUND | The log directory is not configured on this broker.
58 SASL_AUTHENTICATION_FAILED | Authentication failed: the credentials were not accepted.
59 UNKNOWN_PRODUCER_ID | The server no longer knows the state of this producer.
60 REASSIGNMENT_IN_PROGRESS | A reassignment of the partition is under way.
61 DELEGATION_TOKEN_AUTH_DISABLED | Delegation tokens are not enabled.
62 DELEGATION_TOKEN_NOT_FOUND | The delegation token does not exist.
63 DELEGATION_TOKEN_OWNER_MISMATCH | The principal is neither owner nor renewer of the token.
64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED | Delegation token requests need an authenticated, token-free connection.
65 DELEGATION_TOKEN_AUTHORIZATION_FAILED | Not authorized for this delegation token.
66 DELEGATION_TOKEN_EXPIRED | The delegation token has expired.
67 INVALID_PRINCIPAL_TYPE | The principal type is not supported.
68 NON_EMPTY_GROUP | The group still has members.
69 GROUP_ID_NOT_FOUND | The group does not exist.
70 FETCH_SESSION_ID_NOT_FOUND* | The fetch session does not exist any more; start a new one.
71 INVALID_FETCH_SESSION_EPOCH* | The fetch session epoch is not the expected one.
72 LISTENER_NOT_FOUND* | The leader has no listener of the name used by this connection.
73 TOPIC_DELETION_DISABLED | delete.topic.enable is false.
74 FENCED_LEADER_EPOCH* | The leader epoch of the request is older than the server's.
75 UNKNOWN_LEADER_EPOCH* | The leader epoch of the request is newer than the server's.
76 UNSUPPORTED_COMPRESSION_TYPE | The compression type is not supported by this version of the request.
77 STALE_BROKER_EPOCH | The broker has registered again since.
78 OFFSET_NOT_AVAILABLE* | The leader's high watermark has not caught up after an election; try again.
79 MEMBER_ID_REQUIRED | Join again with the member id given in this response.
80 PREFERRED_LEADER_NOT_AVAILABLE* | The preferred leader is not available.
81 GROUP_MAX_SIZE_REACHED | The group has as many members as it may have.
82 FENCED_INSTANCE_ID | Another member has taken this group.instance.id.
83 ELIGIBLE_LEADERS_NOT_AVAILABLE* | No eligible leader is available.
84 ELECTION_NOT_NEEDED* | The partition has the desired leader already.
85 NO_REASSIGNMENT_IN_PROGRESS | No reassignment of the partition is under way.
86 GROUP_SUBSCRIBED_TO_TOPIC | The group is subscribed to the topic, so its offsets cannot be deleted.
87 INVALID_RECORD | A record of the batch was refused by the broker.
88 UNSTABLE_OFFSET_COMMIT* | A transaction that commits this offset is still open; try again.
89 THROTTLING_QUOTA_EXCEEDED* | The quota is used up; try again later.
90 PRODUCER_FENCED | A newer producer with the same transactional id has taken over.
91 RESOURCE_NOT_FOUND | The resource does not exist.
92 DUPLICATE_RESOURCE | The request names a resource twice.
93 UNACCEPTABLE_CREDENTIAL | The credential does not meet the requirements.
94 INCONSISTENT_VOTER_SET | The voter sets of sender and receiver differ.
95 INVALID_UPDATE_VERSION | The update is based on an outdated version.
96 FEATURE_UPDATE_FAILED | The feature level could not be changed.
97 PRINCIPAL_DESERIALIZATION_FAILURE | The forwarded principal could not be read.
98 SNAPSHOT_NOT_FOUND | The snapshot does not exist.
99 POSITION_OUT_OF_RANGE | The position lies outside the snapshot.
100 UNKNOWN_TOPIC_ID* | The server does not host a topic of this id.
101 DUPLICATE_BROKER_REGISTRATION | A broker of this id is registered and alive.
102 BROKER_ID_NOT_REGISTERED | No broker of this id is registered.
103 INCONSISTENT_TOPIC_ID* | The topic id does not match the one in the log.
104 INCONSISTENT_CLUSTER_ID | The cluster id of the request is not this cluster's.
105 TRANSACTIONAL_ID_NOT_FOUND | The transactional id does not exist.
106 FETCH_SESSION_TOPIC_ID_ERROR* | The fetch session mixes topic names and topic ids.
107 INELIGIBLE_REPLICA | A replica of the new in-sync set may not join it.
108 NEW_LEADER_ELECTED | The update made another broker the leader.
109 OFFSET_MOVED_TO_TIERED_STORAGE | The offset lives in tiered storage.
110 FENCED_MEMBER_EPOCH | The member epoch was fenced; abandon all partitions and join again.
111 UNRELEASED_INSTANCE_ID | The group.instance.id is still held by another member.
112 UNSUPPORTED_ASSIGNOR | The group does not offer this assignor.
113 STALE_MEMBER_EPOCH | The member epoch is outdated; use the one of the last heartbeat.
114 MISMATCHED_ENDPOINT_TYPE | The request was sent to an endpoint of the wrong type.
115 UNSUPPORTED_ENDPOINT_TYPE | This endpoint type is not supported.
116 UNKNOWN_CONTROLLER_ID | The controller id is not known.
117 UNKNOWN_SUBSCRIPTION_ID | The telemetry subscription is not the current one.
118 TELEMETRY_TOO_LARGE | The telemetry is larger than the broker accepts.
119 INVALID_REGISTRATION | The controller considers the broker registration invalid.
120 TRANSACTION_ABORTABLE | The transaction met an error: abort it, then go on.
121 INVALID_RECORD_STATE | The record is not in a state that allows this acknowledgement.
122 SHARE_SESSION_NOT_FOUND* | The share session does not exist.
123 INVALID_SHARE_SESSION_EPOCH* | The share session epoch is not the expected one.
124 FENCED_STATE_EPOCH | The share partition's state epoch is older than the coordinator's.
125 INVALID_VOTER_KEY | The voter key is not this node's.
126 DUPLICATE_VOTER | The voter is part of the voter set already.
127 VOTER_NOT_FOUND | The voter is not part of the voter set.
128 INVALID_REGULAR_EXPRESSION | The regular expression is not valid.
129 REBOOTSTRAP_REQUIRED | The client's metadata is outdated; bootstrap again.
130 STREAMS_INVALID_TOPOLOGY | The streams topology is not valid.
131 STREAMS_INVALID_TOPOLOGY_EPOCH | The topology epoch is not valid.
132 STREAMS_TOPOLOGY_FENCED | The topology epoch is outdated.
133 SHARE_SESSION_LIMIT_REACHED* | As many share sessions are open as the broker allows.
"""
