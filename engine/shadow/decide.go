package shadow

import (
	"fmt"
	"slices"
	"strings"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/ruleset"
)

// Status is what the shadow is, and what it has found since it was loaded.
type Status struct {
	ruleset.ShadowNow
	Tally ruleset.Tally `json:"tally"`
}

// Status is what holds now. It may be called from any goroutine.
func (s *Shadow) Status() Status { return *s.status.Load() }

// look looks at the directory, and loads what has changed there and come to rest.
func (s *Shadow) look() {
	files, err := s.Read()
	if err != nil {
		s.settle.Look("")
		if s.judge == nil {
			s.show("", err.Error())
		}
		return // what is loaded goes on
	}
	if !s.settle.Look(ruleset.Content(files)) {
		return
	}
	s.settle.Consider(ruleset.Content(files))
	judge, hash, err := s.Load(files, s.isLate)
	if err != nil {
		s.judge, s.hash = nil, ""
		s.loaded.Store(false)
		s.show("", err.Error())
		return
	}
	s.judge, s.hash = judge, hash
	s.loaded.Store(true)
	s.show(hash, "")
}

// isLate tells the rule set that its time is over.
func (s *Shadow) isLate() bool {
	s.late = s.late || s.Clock.Now().After(s.deadline)
	return s.late
}

// show publishes what the shadow is now, when it is something else.
func (s *Shadow) show(hash, fault string) {
	if was := s.status.Load(); was.Hash == hash && was.Fault == fault {
		return
	}
	s.told = false
	s.meters.up(hash)
	s.status.Store(&Status{ShadowNow: ruleset.ShadowNow{Origin: s.Origin, Hash: hash, Fault: fault, At: s.Clock.Now()}})
	if fault != "" {
		first, _, _ := strings.Cut(fault, "\n")
		s.Log.Warn("the shadow rule set is not loaded", "origin", s.Origin, "error", first)
		return
	}
	s.Log.Info("a shadow rule set decides beside the live one", "ruleset", fmt.Sprintf("%.12s", hash), "origin", s.Origin)
}

// maxReason bounds a reason, in characters.
const maxReason = 1000

// one decides a message beside and compares.
func (s *Shadow) one(w work) {
	if s.judge == nil {
		return // it was loaded when the message came, and is not any more
	}
	run := ruleset.Run{Shadow: s.hash, Live: w.said.Ruleset}
	if !s.reads(w) {
		s.count(run, "unread", ruleset.Tally{Unread: 1})
		return
	}
	began := s.Clock.Now()
	s.late, s.deadline = false, began.Add(s.opts.Time)
	decided := s.decide(w)
	s.meters.seconds.Observe(s.Clock.Now().Sub(began).Seconds())
	if s.late {
		s.count(run, "late", ruleset.Tally{Late: 1})
		return
	}
	differences := s.Compare(&w.said, &decided)
	if len(differences) == 0 {
		s.count(run, "same", ruleset.Tally{Same: 1})
		return
	}
	s.count(run, "different", ruleset.Tally{Different: 1})
	for _, d := range differences {
		d.Kind, d.MsgID, d.At = w.msg.Kind, w.said.MsgID, w.said.At
		s.found.add(run, d)
		s.meters.differences.WithLabelValues(d.Kind).Inc()
	}
}

// reads tells whether everything was read that the shadow looks at.
func (s *Shadow) reads(w work) bool {
	for _, typ := range s.judge.Claim(w.msg).RefTypes {
		if !slices.Contains(w.claim.RefTypes, typ) {
			return false
		}
	}
	return true
}

// decide asks the shadow; a panic of it is a failure of its rule.
func (s *Shadow) decide(w work) (d decision.Settlement) {
	defer func() {
		if cause := recover(); cause != nil {
			d = decision.Settlement{MsgID: w.said.MsgID, Kind: w.msg.Kind, Outcome: message.Outcome{State: message.Failed, Class: message.RuleError,
				Reason: message.SafeText(fmt.Sprintf("panicked: %v", cause), maxReason)}}
		}
	}()
	d = s.judge.Judge(w.msg, w.on, w.said.At)
	d.MsgID = w.said.MsgID
	return d
}

func (s *Shadow) count(run ruleset.Run, result string, t ruleset.Tally) {
	s.found.tally(run, t)
	s.meters.messages.WithLabelValues(result).Inc()
	next := *s.status.Load()
	next.Tally.Add(t)
	s.status.Store(&next)
}
