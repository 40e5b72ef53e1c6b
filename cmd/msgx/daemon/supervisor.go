package daemon

import (
	"context"
	"fmt"
	"net/http"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"msgx/engine/clock"
)

// tell says how this instance is to whoever supervises it by systemd's protocol; to nobody otherwise. That it cannot be
// said is no reason to stop.
func (d *Daemon) tell(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.log.Warn("cannot tell systemd", "what", state, "error", err)
	}
}

// keepWatch tells systemd's watchdog three times in its period that this process works, for as long as it answers
// its own health check. It returns at once when no watchdog is asked for.
func (d *Daemon) keepWatch(ctx context.Context) error {
	period, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	if period == 0 {
		return nil
	}
	every := period / 3
	client := &http.Client{Timeout: every, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		if err := healthy(ctx, client, "http://"+d.Address()+"/healthz"); err == nil {
			d.tell(systemd.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			d.log.Error("the own health check does not answer; systemd's watchdog is not told", "error", err)
		}
		_ = clock.Sleep(ctx, d.clock, every) // the loop looks at ctx itself
	}
	return nil
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", answer.Status)
	}
	return nil
}

// status is a line for "systemctl status".
func status(format string, args ...any) string { return "STATUS=" + fmt.Sprintf(format, args...) }
