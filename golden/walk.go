package golden

import (
	"fmt"
	"time"

	"msgx/engine/rehearse"
)

// moment is when everything in a case happens.
var moment = time.Date(2021, 1, 23, 4, 0, 0, 0, time.UTC)

func now() time.Time { return moment }

// outcome is a case that has been run once.
type outcome struct {
	results []rehearse.Result
	after   rehearse.World
}

// run runs a case twice, on two rule sets loaded anew, and tells what came out.
func (c *Case) run(o *Options) (string, error) {
	first, err := c.once(o)
	if err != nil {
		return "", err
	}
	second, err := c.once(o)
	if err != nil {
		return "", err
	}
	if a, b := c.tell(o, first, true), c.tell(o, second, true); a != b {
		return "", fmt.Errorf("two runs disagree (- first, + second)\n%s", indent(difference(a, b)))
	}
	return c.tell(o, first, c.Settings.Payloads), nil
}

func (c *Case) once(o *Options) (outcome, error) {
	decoder, err := c.decoder(o)
	if err != nil {
		return outcome{}, err
	}
	judge, err := c.judge(o, o.Rules)
	if err != nil {
		return outcome{}, err
	}
	r := rehearse.New(decoder, judge, now, c.before)
	var out outcome
	for _, s := range c.steps {
		out.results = append(out.results, r.Run(s.raw))
	}
	out.after = r.World()
	return out, nil
}
