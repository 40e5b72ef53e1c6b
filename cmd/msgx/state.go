package main

import (
	"encoding/json"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
)

// stateJSON is a flight as events tell it: what identifies the version first,
// then every field, object and list that has a value, in catalogue order.
func stateJSON(cat *catalogue.Catalogue, s *flight.State) json.RawMessage {
	var day *string
	if s.OperationDay != "" {
		day = &s.OperationDay
	}
	head, err := json.Marshal(struct {
		FLID    string  `json:"flid"`
		State   string  `json:"state"`
		Version int64   `json:"state_version"`
		Day     *string `json:"operation_day"`
		LastMsg int64   `json:"last_msg_id"`
	}{s.ID.String(), string(s.Status), s.Version, day, s.LastMsgID})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(decision.AppendState(head[:len(head)-1], cat, s), '}')
}
