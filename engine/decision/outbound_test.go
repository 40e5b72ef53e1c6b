package decision_test

import (
	"testing"

	"msgx/engine/decision"
)

func TestARequestForPeople(t *testing.T) {
	for want, o := range map[string]decision.Outbound{
		"RQFD": {Request: "RQFD"},
		`EROR CODE="X" SEQN="17" TEXT="天气 \"原因\""`: {Request: "EROR", Fields: map[string]string{"TEXT": `天气 "原因"`, "SEQN": "17", "CODE": "X"}},
	} {
		if got := o.String(); got != want {
			t.Errorf("%#v: got %s, want %s", o.Fields, got, want)
		}
	}
}
