package config

import "msgx/engine/redact"

// Parameter documents one key: the single source of defaults and of the
// parameter table in the README.
type Parameter struct {
	Key     string // below "msgx."
	Default any
	Unit    string
	Min     int64 // smallest value for numbers and durations (in the unit's base), when HasMin
	HasMin  bool
	OneOf   []string
	Secret  bool // hidden where parameters are shown, and can be "file:PATH"
	Whole   bool // nothing of the secret is shown, not even where it leads
	Doc     string
}

func text(key, def, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "text", Doc: doc}
}
func secret(key, doc string) Parameter {
	return Parameter{Key: key, Default: "", Unit: "text", Secret: true, Doc: doc}
}
func password(key, doc string) Parameter {
	return Parameter{Key: key, Default: "", Unit: "text", Secret: true, Whole: true, Doc: doc}
}
func oneOf(key, def, doc string, values ...string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "word", OneOf: values, Doc: doc}
}
func count(key string, def, least int64, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "count", Min: least, HasMin: true, Doc: doc}
}
func duration(key, def, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "duration", HasMin: true, Doc: doc}
}
func ratio(key string, def float64, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "ratio", Doc: doc}
}
func list(key string, def []string, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "list", Doc: doc}
}
func boolean(key string, def bool, doc string) Parameter {
	return Parameter{Key: key, Default: def, Unit: "bool", Doc: doc}
}

// Parameters lists every parameter, in the order of the table.
func Parameters() []Parameter {
	return []Parameter{
		text("instance", "", "name of this instance in lease and log; host name and process id when empty"),
		secret("postgres.url", "our own PostgreSQL"),
		count("postgres.max-conns", 8, 4, "connections to PostgreSQL"),
		secret("mailbox.dsn", "data source of the shared MySQL"),
		oneOf("mailbox.body", "auto", "how a body is read: characters already transcoded by MySQL, raw bytes, or by the column's type", "auto", "text", "bytes"),
		duration("mailbox.read-timeout", "30s", "bound of one read of the mailbox"),
		duration("mailbox.write-timeout", "10s", "bound of one write of the mailbox"),
		text("mailbox.processed-status", "PROCESSED", "what the processed mark writes into the status column; empty leaves it alone"),
		text("mailbox.inbound.table", "CMINMSGS", "inbound table"),
		text("mailbox.inbound.id", "CMINMSGS_ID", "its auto-increment key"),
		text("mailbox.inbound.body", "CMINMSGS_CLOB_MSG", "its message column"),
		text("mailbox.inbound.received", "CMINMSGS_DATE_RECEIVED", "its time of arrival"),
		text("mailbox.inbound.processed", "CMINMSGS_DATE_PROCESSED", "its processed mark"),
		text("mailbox.inbound.status", "CMINMSGS_STATUS", "its status"),
		list("kafka.brokers", nil, "brokers, host:port"),
		text("kafka.msg-topic", "msgx.msg", "topic of every change, in order per flight"),
		text("kafka.schd-topic", "msgx.schd", "compacted topic of the latest state by flight"),
		count("kafka.partitions", 12, 1, "partitions, when topics are created by us"),
		count("kafka.replication", 1, 1, "replication factor, when topics are created by us"),
		duration("kafka.request-timeout", "5s", "how long a broker may wait for its replicas; at most the lease"),
		count("kafka.max-message-bytes", 1000000, 1000, "largest event"),
		duration("kafka.retention", "7d", "least time for which the topic of every change has to keep it"),
		oneOf("kafka.topic-policy", "warn", "what a start does about topics that would lose data: warn, or refuse", "warn", "refuse"),
		boolean("kafka.tls", false, "connections to the brokers are encrypted"),
		text("kafka.ca-file", "", "PEM of the authorities that the brokers' certificates are held to; empty trusts those of the system"),
		text("kafka.cert-file", "", "PEM of our own certificate, where brokers ask for one"),
		text("kafka.key-file", "", "PEM of its key"),
		oneOf("kafka.sasl", "", "how we log in", "", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
		text("kafka.user", "", "as whom"),
		password("kafka.password", "the password"),
		text("airport.zone", "Asia/Shanghai", "time zone of every time in a message"),
		duration("airport.day-cutover", "0s", "time of day at which the operation day begins"),
		duration("pipeline.poll-interval", "1s", "wait between looks at an empty mailbox"),
		count("pipeline.claim-batch", 500, 1, "rows read from the mailbox at once"),
		duration("pipeline.max-commit-delay", "0s", "longest time between an id being given and its row becoming visible; given by the mailbox's owner, no default"),
		count("pipeline.id-stride", 1, 1, "a gap between ids is a hole when it is wider than this"),
		text("pipeline.cutover-watermark", "", "where an empty database begins to read: min, zero, max or an id"),
		duration("pipeline.late-window", "24h", "how long aged holes are looked at again for late rows"),
		boolean("pipeline.autostart", true, "false starts with every stage paused"),
		list("pipeline.ignore", []string{"LDM-*", "REGN-*", "RSTA-*", "EROR-*"}, "messages that are skipped, as TYPE-STYP or TYPE-*"),
		count("pipeline.max-attempts", 5, 1, "failures after which a message is dead"),
		list("pipeline.backoff", []string{"1s", "2s", "4s", "8s"}, "wait after each failure but the last"),
		count("pipeline.backfill-batch", 200, 1, "marks written at once"),
		duration("pipeline.r", "72h", "R: how long transient failures of a mark may last before it is given up"),
		duration("pipeline.r-keep", "7d", "R_keep: how long bodies are kept for replay"),
		boolean("identity.include-day-boundary", false, "append the airport date of DTTM to the business identity"),
		duration("identity.memory", "30d", "how long a business identity is remembered"),
		boolean("replay.keep-raw", true, "keep our own copy of every body"),
		list("replay.classes", []string{"CODEC_ERROR", "UNSUPPORTED", "RULE_ERROR", "INFRA", "EXHAUSTED"}, "error classes whose messages an operator may send through again"),
		oneOf("schd.absent-optional", "keep", "what a schedule does to an optional field that it does not carry", "keep", "clear"),
		duration("schd.flush-period", "3s", "period of the latest-state topic"),
		count("schd.flush-limit", 500, 1, "flights sent to it at once"),
		oneOf("outbox.code-share", "master", "under whose key a code-share child is announced", "master", "own"),
		count("outbox.batch", 500, 1, "events read for delivery at once"),
		count("codec.max-bytes", 16<<20, 1024, "largest body, bytes"),
		count("codec.max-depth", 32, 4, "deepest nesting of elements"),
		count("codec.max-elements", 200000, 100, "most elements in one body"),
		text("codec.site-file", "", "YAML file that overrides lengths, lists and on-bad of the catalogue"),
		text("rules.dir", "", "directory with handlers.lua and rules/; empty uses the rule set in the binary"),
		count("rules.instructions", 200000, 10000, "Lua instructions that a decision may use, and 10,000 more for each record"),
		boolean("rules.watch", true, "take a changed rules.dir live while serving, once it has passed; false waits for SIGHUP or msgx rules activate"),
		duration("rules.watch-interval", "2s", "between looks at rules.dir, rules.shadow, and requests of operators"),
		text("rules.golden", "", "golden directory whose cases a rule set has to pass to go live; empty uses the corpus in the binary"),
		text("rules.shadow", "", "directory of a rule set that decides beside the live one and is only compared; empty for none"),
		count("rules.shadow-instructions", 200000, 10000, "as rules.instructions, for the shadow"),
		duration("rules.shadow-time", "100ms", "how long the shadow may take over one decision"),
		list("golden.redact", redact.Defaults, "what golden record replaces, as PATH=REPLACEMENT: personal data in messages and flights"),
		duration("lease.duration", "10s", "how long an instance that fell silent stays the active one"),
		boolean("consistency-check.on-startup", true, "hold a sample of flights against their history and events when leading begins"),
		ratio("consistency-check.daily-sample-ratio", 0.01, "share of the flights in each day's sample, at most 1000; 0 for none"),
		text("http.listen", "127.0.0.1:8480", "address of metrics and health"),
		oneOf("compat.auth", "off", "who may POST /cminmsgs/send: off (there is no such path), none (anybody), token or allow-list", "off", "none", "token", "allow-list"),
		password("compat.token", "token of compat.auth token, sent as Authorization: Bearer TOKEN; at least 16 characters"),
		list("compat.allow", nil, "addresses or prefixes of compat.auth allow-list, such as 10.1.0.0/16"),
		text("compat.answer", "", "its answer as a Go template over .Result .ID .Kind .Detail .Undecodable; empty answers JSON"),
		text("compat.answer-type", "text/plain; charset=utf-8", "content type of compat.answer"),
		oneOf("log.level", "info", "least severe line that is written", "debug", "info", "warn", "error"),
		oneOf("log.format", "text", "form of a log line", "text", "json"),
	}
}
