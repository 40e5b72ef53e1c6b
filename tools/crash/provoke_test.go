package crash

import (
	"context"
	"fmt"
	"strconv"
	"sync"
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
	failpoint.DeferEvent: func(r *run, on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.inSync = 1; on {
			r.inSync = 2 // which one broker can never be
		}
	},
}

// keepInSync lets the topics ask for as many replicas in sync as the run wants, whatever happens to the broker.
func (r *run) keepInSync(done *sync.WaitGroup) {
	defer done.Done()
	is := 1
	for !r.isOver() {
		r.pause(20 * time.Millisecond)
		r.mu.Lock()
		want := r.inSync
		r.mu.Unlock()
		if is != want && r.topics("min.insync.replicas", strconv.Itoa(want)) == nil {
			is = want
		}
	}
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
