package main

import "testing"

// Stages are paused and resumed by hand, on record, and a daemon does as told.
func TestStagesByHand(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create", "kafka.partitions=1"), 0)
	s.want(s.run("stages list"), 0, "inbox       running", "KAFKA:schd  running")
	s.want(s.run("stages pause pomp --reason x"), exitUsage, `no stage "pomp", expected some of inbox, pump, backfill, KAFKA:msg, KAFKA:schd`)
	s.want(s.run("stages pause --reason x"), exitUsage, "expected stages or --all")
	s.want(s.run("stages pause pump"), exitUsage, "--reason is missing")
	s.want(s.run("stages pause --all --dry-run"), 0, "inbox would be paused", "KAFKA:schd would be paused")
	s.want(s.run("stages list"), 0)
	s.want(s.run("stages resume pump --reason x"), exitFailed, "pump: nothing to do, it is not paused")

	s.want(s.run("stages pause pump backfill --reason rotation --by ana"), 0, "pump is paused", "backfill is paused")
	s.want(s.run("stages pause pump --reason again"), exitFailed, "pump: nothing to do, it is paused already")
	s.want(s.run("stages list"), exitFailed, "ana", "rotation")
	s.want(s.run("stages list --json"), exitFailed, `"stage": "pump"`, `"paused": true`, `"by": "ana"`)
	s.put(remark)
	stop := s.begin("kafka.partitions=1")
	s.until("message show 1", "PENDING")
	s.want(s.run("stages resume --all --reason done"), 0, "inbox: nothing to do", "pump is resumed", "backfill is resumed")
	s.until("message show 1", "marked     20")
	stop()
	s.want(s.run("stages list"), 0)
}
