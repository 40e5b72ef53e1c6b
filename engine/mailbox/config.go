package mailbox

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// None as the name of an optional column says that the table has no such column.
const None = "-"

// The ways to read a body.
const (
	BodyAuto  = "auto"
	BodyText  = "text"
	BodyBytes = "bytes"
)

// Inbound names the inbound table and its columns. Names left empty are the
// usual ones. Received, Status and the envelope columns may be None; an envelope column
// that is left empty is used only where the table has it.
type Inbound struct {
	Table     string // may be qualified: database.table
	ID        string
	Body      string
	Received  string
	Processed string
	Status    string
	Envelope  Envelope
}

// Envelope names the columns that repeat the message's envelope. Only Insert fills them.
type Envelope struct {
	Sender, Sequence, SentAt, Subtype, Type string
}

// Outbound names the outbound table and the columns that a request fills.
type Outbound struct {
	Table     string
	ID        string
	Body      string
	Inserted  string
	RoutingID string
}

// Config says where the mailbox is and how to read it.
type Config struct {
	DSN      string // as github.com/go-sql-driver/mysql writes it, with a database
	Inbound  Inbound
	Outbound Outbound
	Body     string // BodyAuto unless given
	// ReadTimeout and WriteTimeout bound every call; 30 s and 10 s unless given.
	ReadTimeout, WriteTimeout time.Duration
	// ProcessedStatus is written beside the mark; empty leaves the status alone.
	ProcessedStatus string
	// Zone is the zone of the mailbox's DATETIME columns.
	Zone *time.Location
}

func (c Config) withDefaults() Config {
	fill := func(name *string, usual string) {
		if *name == "" {
			*name = usual
		}
	}
	in, out := &c.Inbound, &c.Outbound
	fill(&in.Table, "CMINMSGS")
	fill(&in.ID, "CMINMSGS_ID")
	fill(&in.Body, "CMINMSGS_CLOB_MSG")
	fill(&in.Received, "CMINMSGS_DATE_RECEIVED")
	fill(&in.Processed, "CMINMSGS_DATE_PROCESSED")
	fill(&in.Status, "CMINMSGS_STATUS")
	fill(&out.Table, "COUTMSGS")
	fill(&out.ID, "COUTMSGS_ID")
	fill(&out.Body, "COUTMSGS_CLOB_MSG")
	fill(&out.Inserted, "COUTMSGS_DATE_INSERTED")
	fill(&out.RoutingID, "ROUTINGID")
	fill(&c.Body, BodyAuto)
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 30 * time.Second
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 10 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if c.Zone == nil {
		return fmt.Errorf("mailbox: no zone given for its times, expected the airport's")
	}
	if c.Body != BodyAuto && c.Body != BodyText && c.Body != BodyBytes {
		return fmt.Errorf("mailbox: body is %q, expected auto, text or bytes", c.Body)
	}
	if c.ReadTimeout < 0 || c.WriteTimeout < 0 {
		return fmt.Errorf("mailbox: timeouts are %s and %s, expected more than 0s", c.ReadTimeout, c.WriteTimeout)
	}
	if c.Inbound.Status == None && c.ProcessedStatus != "" {
		return fmt.Errorf("mailbox: processed status %q has no column to go to, expected an empty one or the name of the status column", c.ProcessedStatus)
	}
	for _, n := range []struct{ what, name string }{
		{"inbound table", c.Inbound.Table}, {"inbound id", c.Inbound.ID}, {"inbound body", c.Inbound.Body},
		{"inbound received", c.Inbound.Received}, {"inbound processed", c.Inbound.Processed}, {"inbound status", c.Inbound.Status},
		{"inbound sender", c.Inbound.Envelope.Sender}, {"inbound sequence", c.Inbound.Envelope.Sequence}, {"inbound sent-at", c.Inbound.Envelope.SentAt},
		{"inbound subtype", c.Inbound.Envelope.Subtype}, {"inbound type", c.Inbound.Envelope.Type},
		{"outbound table", c.Outbound.Table}, {"outbound id", c.Outbound.ID}, {"outbound body", c.Outbound.Body},
		{"outbound inserted", c.Outbound.Inserted}, {"outbound routing-id", c.Outbound.RoutingID},
	} {
		if err := validName(n.what, n.name); err != nil {
			return err
		}
	}
	return nil
}

// A name goes into statements in backquotes, so what could end them is not accepted.
var identifier = regexp.MustCompile(`^[\p{L}\p{N}_$#-]{1,64}$`)

func validName(what, name string) error {
	if name == "" || name == None {
		return nil
	}
	parts := []string{name}
	if strings.HasSuffix(what, "table") {
		parts = strings.Split(name, ".")
	}
	for _, part := range parts {
		if !identifier.MatchString(part) || len(parts) > 2 {
			return fmt.Errorf("mailbox: the name of the %s is %q, expected 1 to 64 letters, digits, _, $, # or -", what, name)
		}
	}
	return nil
}

// quote makes a validated name an identifier of a statement.
func quote(name string) string {
	return "`" + strings.ReplaceAll(name, ".", "`.`") + "`"
}
