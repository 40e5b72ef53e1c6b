package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// Ctrl-C ends every command that can last, a read that nothing comes to as well.
func TestASignalEndsWhatLasts(t *testing.T) {
	for _, line := range []string{
		"rules bench --time 1h",
		"rules diff shipped shipped --over day --operations 50000",
		"rules mutate", "rules test", "golden coverage",
		"try -", "rules explain -",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			nothing, end := io.Pipe()
			defer end.Close() // it lets the read go
			var errs strings.Builder
			ended := make(chan int, 1)
			go func() { ended <- execute(ctx, strings.Fields(line), nothing, io.Discard, &errs) }()
			select {
			case code := <-ended:
				t.Fatalf("exit %d, %q before the signal, expected it to last", code, errs.String())
			case <-time.After(50 * time.Millisecond):
			}
			stop()
			select {
			case code := <-ended:
				if code != exitFailed || errs.String() != "msgx: interrupted\n" {
					t.Errorf("exit %d, %q, expected %d and that it was interrupted", code, errs.String(), exitFailed)
				}
			case <-time.After(time.Minute):
				t.Fatal("it goes on a minute after the signal")
			}
		})
	}
}

// A question that is interrupted is answered with no.
func TestASignalAnswersAQuestion(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	nothing, end := io.Pipe()
	defer end.Close() // it lets the read go
	answered := make(chan bool, 1)
	go func() { answered <- agreed(ctx, nothing, io.Discard, "write it? ") }()
	stop()
	select {
	case yes := <-answered:
		if yes {
			t.Error("a signal was taken for a yes")
		}
	case <-time.After(time.Minute):
		t.Fatal("it still waits for an answer a minute after the signal")
	}
}
