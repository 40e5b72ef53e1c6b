package comparison

import (
	"maps"
	"slices"

	"msgx/engine/flight"
	"msgx/engine/rehearse"
)

// finals compares the flights at the end of a sequence.
func (c *Comparer) finals(sequence string, old, newer rehearse.World) {
	ids := map[flight.ID]bool{}
	for id := range old.Flights {
		ids[id] = true
	}
	for id := range newer.Flights {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if paths := differing(old.Flights[id], newer.Flights[id]); len(paths) > 0 {
			c.report.Finals = append(c.report.Finals, Final{Sequence: sequence, FLID: id.String(), Paths: paths})
		}
	}
}

// differing names the paths in which two states of a flight differ, versions aside.
func differing(a, b *flight.State) []string {
	if a == nil || b == nil {
		if a == b {
			return nil
		}
		return []string{"STATE"}
	}
	var paths []string
	note := func(path string, same bool) {
		if !same {
			paths = append(paths, path)
		}
	}
	note("STATE", a.Status == b.Status)
	note("OPERATION_DAY", a.OperationDay == b.OperationDay)
	fields := maps.Clone(a.Fields)
	maps.Copy(fields, b.Fields)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		note(path, a.Fields[path] == b.Fields[path])
	}
	lists := maps.Clone(a.Lists)
	if lists == nil {
		lists = map[string][]flight.Record{}
	}
	maps.Copy(lists, b.Lists)
	for _, tag := range slices.Sorted(maps.Keys(lists)) {
		note(tag, flight.EqualRecords(a.Lists[tag], b.Lists[tag]))
	}
	note("MAFL", slices.Equal(a.Members, b.Members))
	return paths
}
