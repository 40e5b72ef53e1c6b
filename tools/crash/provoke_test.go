package crash

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"msgx/engine/failpoint"
)

// provocations are what leads to a boundary that a daemon comes to in a trouble only. They begin when the instance that is to
// end there leads, and end with it.
var provocations = map[failpoint.Boundary]func(r *run, on bool){
	failpoint.Resolve: func(r *run, on bool) {
		if on {
			r.wire.breaks(3)
		} else {
			r.wire.breaks(r.o.doubt)
		}
	},
	failpoint.RefuseRules: func(r *run, on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wrongRules = on
	},
	failpoint.DeferEvent: func(r *run, on bool) { r.partly(on) },
}

// partly lets connections to the broker break after a little, so that some records of a wave land and others do not.
func (p *place) partly(on bool) {
	const name = "partly"
	if on {
		// One that is there already does as well.
		_, _ = p.kafka.proxy.Toxics.AddToxicJson(strings.NewReader(`{"name": "` + name + `", "type": "limit_data", "stream": "upstream", "attributes": {"bytes": 4000}}`))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = p.kafka.proxy.Toxics.RemoveToxic(ctx, name) // nor does it matter that it is gone
}

// topics sets a parameter of both topics.
func (p *place) topics(name, value string) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Second)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	request := kafka.IncrementalAlterConfigsRequest{}
	for _, topic := range []string{"crash.msg", "crash.schd"} {
		request.Resources = append(request.Resources, kafka.IncrementalAlterConfigsRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}},
		})
	}
	answer, err := (&kafka.Client{Addr: kafka.TCP(p.kafka.Address), Transport: transport}).IncrementalAlterConfigs(ctx, &request)
	if err != nil {
		return err
	}
	for _, a := range answer.Resources {
		if a.Error != nil {
			return a.Error
		}
	}
	return nil
}

// mustTopics sets a parameter of both topics, soon.
func (p *place) mustTopics(t *testing.T, name, value string) {
	t.Helper()
	await(t, fmt.Sprintf("topics with %s=%s", name, value), func() error { return p.topics(name, value) })
}

// await waits until there is nothing in the way any more.
func await(t *testing.T, what string, try func() error) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%s: not within 30 s: %v", what, err)
		}
	}
}
