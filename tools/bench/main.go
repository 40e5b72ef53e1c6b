// Command bench measures the main job on real servers: how many messages a
// second go from mailbox to terminal state, against a floor of the same SQL statements
// issued by plain pgx, and how much memory the daemon needs for a long drain. README.md
// says how and what was seen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the flags.
type options struct {
	postgres, mariadb, kafka string
	messages, rounds, drain  int
	events                   int
	minRatio, minDelivery    float64
	maxRSS                   int // MB
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveArgument {
		os.Exit(report(serve()))
	}
	o := options{
		postgres: os.Getenv("MSGX_STACK_POSTGRES"), mariadb: os.Getenv("MSGX_STACK_MARIADB"), kafka: os.Getenv("MSGX_STACK_KAFKA"),
	}
	flag.IntVar(&o.messages, "messages", 3000, "messages of a measured round; 0 leaves the measurement out")
	flag.IntVar(&o.rounds, "rounds", 4, "rounds; the median counts")
	flag.IntVar(&o.drain, "drain", 100000, "messages of the drain whose memory is measured; 0 leaves it out")
	flag.IntVar(&o.events, "events", 20000, "events of a round of delivery; 0 leaves it out")
	flag.Float64Var(&o.minDelivery, "min-delivery", 0.15, "fail below this ratio of delivery to sending without an outbox")
	flag.Float64Var(&o.minRatio, "min-ratio", 0.6, "fail below this ratio to the floor")
	flag.IntVar(&o.maxRSS, "max-rss", 200, "fail above this many MB resident")
	flag.Parse()
	if o.messages < 0 || o.rounds <= 0 || o.drain < 0 || o.events < 0 {
		os.Exit(report(fmt.Errorf("found --messages %d --rounds %d --drain %d --events %d, expected at least 0, 1, 0 and 0", o.messages, o.rounds, o.drain, o.events)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := report(run(ctx, o))
	stop()
	os.Exit(code)
}

func report(err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o options) error {
	if o.postgres == "" || o.mariadb == "" || o.kafka == "" {
		return errors.New("no servers: run `make bench`")
	}
	var faults []error
	if o.events > 0 {
		ratio, err := deliver(ctx, o)
		if err != nil {
			return err
		}
		if ratio < o.minDelivery {
			faults = append(faults, fmt.Errorf("the ratio of delivery to its floor is %.2f, expected at least %.2f", ratio, o.minDelivery))
		}
	}
	if o.messages > 0 {
		ratio, err := throughput(ctx, o)
		if err != nil {
			return err
		}
		if ratio < o.minRatio {
			faults = append(faults, fmt.Errorf("the ratio to the floor is %.2f, expected at least %.2f", ratio, o.minRatio))
		}
	}
	if o.drain > 0 {
		peak, err := drain(ctx, o)
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		if peak > o.maxRSS {
			faults = append(faults, fmt.Errorf("the daemon needed %d MB, expected at most %d MB", peak, o.maxRSS))
		}
	}
	return errors.Join(faults...)
}
