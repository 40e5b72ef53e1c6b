// Command feed makes the messages of an airport day and writes them to a
// folder or into a mailbox. Run it with --help.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	_ "github.com/go-sql-driver/mysql" // the mailbox is MySQL
	"github.com/spf13/pflag"

	"msgx/tools/feed"
)

const usage = `Makes the messages of an airport day: the same seed, date and sizes give the same bytes.

  go run ./tools/feed/cmd                                   count a day's messages by expected outcome
  go run ./tools/feed/cmd --out /tmp/day --form bytes       one file per message, with expected.tsv
  go run ./tools/feed/cmd --mailbox 'root@tcp(127.0.0.1:3306)/mailbox' --writers 4 --out-of-order --rolled-back 5

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "feed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o feed.Options
	var in feed.Inserting
	var date, form, folder, dsn string
	flags := pflag.NewFlagSet("feed", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() { fmt.Fprint(out, usage+flags.FlagUsages()) }
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the day")
	flags.StringVar(&date, "date", "2026-03-01", "day of the schedule")
	flags.IntVar(&o.Flights, "flights", 1000, "flights of the morning schedule")
	flags.IntVar(&o.Operations, "operations", 12000, "messages after the morning schedule, bad ones not counted")
	flags.IntVar(&o.BadPerMille, "bad", 4, "bad messages for each thousand operations, -1 for none")
	flags.IntVar(&o.Holding, "holding", 2, "bad messages that hold the head through all retries, -1 for none")
	flags.StringVar(&form, "form", string(feed.Characters), "characters (as a text column holds them) or bytes (in the declared encoding)")
	flags.StringVar(&folder, "out", "", "write to this new or empty folder")
	flags.StringVar(&dsn, "mailbox", "", "insert into the CMINMSGS of this MySQL database (DSN)")
	flags.IntVar(&in.Writers, "writers", 1, "connections that insert")
	flags.BoolVar(&in.OutOfOrder, "out-of-order", false, "commit in another order than that of the ids (with several writers)")
	flags.IntVar(&in.RolledBack, "rolled-back", 0, "ids for each thousand messages that never appear")
	flags.IntVar(&in.PerSecond, "per-second", 0, "messages per second, 0 for as fast as it goes")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("found argument %q, expected flags only; see --help", flags.Arg(0))
	}
	day, err := time.Parse("2006-01-02", date)
	if err != nil {
		return fmt.Errorf("--date %q: expected YYYY-MM-DD", date)
	}
	o.Date, o.Form, in.Seed = day, feed.Form(form), o.Seed
	messages, err := feed.Generate(o)
	if err != nil {
		return err
	}
	if folder != "" {
		if err := feed.Save(folder, messages); err != nil {
			return err
		}
	}
	if dsn != "" {
		if err := insert(ctx, dsn, messages, in, out); err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(out, feed.Summary(messages))
	return err
}

func insert(ctx context.Context, dsn string, messages []feed.Message, in feed.Inserting, out io.Writer) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return fmt.Errorf("--mailbox: %w", err)
	}
	defer db.Close() //nolint:errcheck // every insert has been committed or reported
	done, err := feed.Insert(ctx, db, messages, in)
	if err != nil {
		return fmt.Errorf("after %d messages: %w", len(done.IDs), err)
	}
	fmt.Fprintf(out, "inserted %d messages, %d ids stay empty\n", len(done.IDs), len(done.RolledBack))
	return nil
}
