package evidence

import "time"

// Header is a row of the mailbox without its body.
type Header struct {
	ID         int64
	ReceivedAt time.Time // zero when the row does not say
	Marked     bool
}

// Table is a table of the mailbox's owner, as far as a purge has to know it. Without columns there is none.
type Table struct {
	Name     string // may be qualified: database.table
	Columns  []string
	ID       string // names of columns; those of the inbound table
	Received string
	Marked   string
	Status   string // "" when there is none
	// Instants tells that times are kept as TIMESTAMP: then they are shown in the zone of a session.
	Instants    bool
	PartitionBy string // the expression; "" when the table has no partitions
	Method      string // such as RANGE or RANGE COLUMNS
	Partitions  []Partition
}

// Partition is a part of a table.
type Partition struct {
	Name  string
	Bound string // as the server writes it: a number, a quoted time, or MAXVALUE
}
