package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitEndsByWhateverComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		since := func() time.Duration { return time.Since(begun) }
		poke := NewPoke()
		if Wait(t.Context(), System{}, time.Second, poke) || since() != time.Second {
			t.Errorf("without a poke: ended after %s", since())
		}
		poke.Poke()
		poke.Poke() // never blocks, and counts once
		if !Wait(t.Context(), System{}, time.Hour, poke) || since() != time.Second {
			t.Errorf("poked before: ended after %s", since())
		}
		if Wait(t.Context(), System{}, time.Second, poke) || since() != 2*time.Second {
			t.Errorf("a second poke was kept: ended after %s", since())
		}
		if Wait(t.Context(), System{}, time.Second, nil) || since() != 3*time.Second {
			t.Errorf("nil never pokes: ended after %s", since())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if Wait(ctx, System{}, time.Hour, nil) || since() != 3*time.Second {
			t.Errorf("an ended context: ended after %s", since())
		}
		if err := Sleep(ctx, System{}, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep under an ended context: got %v", err)
		}
		if err := Sleep(t.Context(), System{}, time.Minute); err != nil || since() != 3*time.Second+time.Minute {
			t.Errorf("Sleep: got %v after %s", err, since())
		}
	})
}
