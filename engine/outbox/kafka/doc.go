// Package kafka publishes records to one topic of an Apache Kafka cluster, reads
// a topic whole, and checks and creates topics.
//
// A record's partition follows from its key by the murmur2 hash of the Java
// client, so that readers and writers in any language agree on it. All replicas
// have to acknowledge. Topics are never created by sending. One Publish makes at
// most one request per partition, and each request is bounded: the broker waits
// RequestTimeout for its replicas, the client twice that for the answer.
//
// The number of partitions is read once and kept until a send fails: while it
// grows, keys stay where they were. Growing a topic moves keys to other partitions
// and breaks their order whatever a producer does; it is done on a drained outbox.
//
//	answer                                                  | fate
//	--------------------------------------------------------|------------------------------------------
//	acknowledged                                            | LANDED
//	larger than MaxMessageBytes; too large (alone)          | REFUSED_FOR_GOOD
//	invalid record (alone or named by the broker)           | REFUSED_FOR_GOOD
//	corrupt, invalid timestamp, unsupported format          | REFUSED
//	any of these for a batch, culprit not named             | SUSPECT
//	not leader, no leader, too few replicas before storing, | NOT_STORED
//	  unknown topic, no right, throttled, cannot connect    |
//	timed out, too few replicas after storing, storage      | UNKNOWN
//	  error, connection lost, anything else                 |
//
// After anything but a plain answer the connections are closed and the cluster's
// layout is read afresh.
//
// A Reader reads a topic from its beginning to where it ends at the moment, for an audit. It belongs to no
// group and leaves nothing behind.
package kafka
