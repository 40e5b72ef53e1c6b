package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"msgx/engine/decision"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

// share is what MAFL depends on of one flight, from one decision on.
type share struct {
	decision int64
	active   bool
	maid     string
	flno     string
}

// follow reads the shares of a flight out of its history; false when that does not go
// back to the first version, or some decision is not on record any more.
func follow(versions []evidence.Version) ([]share, bool) {
	var out []share
	var now share
	for i := range versions {
		v := &versions[i]
		if v.DecisionNo == 0 || v.Version != int64(i+1) {
			return nil, false
		}
		for k := range v.Changed {
			c := &v.Changed[k]
			switch c.Path {
			case decision.PathState:
				now.active = plainText(c.After) == string(flight.Active)
			case "MAID":
				now.maid = plainText(c.After)
			case "FLNO":
				now.flno = plainText(c.After)
			}
		}
		now.decision = v.DecisionNo
		if n := len(out); n == 0 || out[n-1].active != now.active || out[n-1].maid != now.maid || out[n-1].flno != now.flno {
			out = append(out, now)
		}
	}
	return out, len(out) > 0
}

func plainText(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text) // null and nothing are no text
	return text
}

// asOf is the share that held after a decision.
func asOf(shares []share, no int64) share {
	at, _ := slices.BinarySearchFunc(shares, no+1, func(s share, no int64) int { return cmp.Compare(s.decision, no) })
	if at == 0 {
		return share{}
	}
	return shares[at-1]
}

type member struct {
	FLID string
	FLNO string
}

// family holds MAFL of a master to its children, after every decision that touched it or one of
// them, and a deleted master to the children it had.
func (a *Audit) family(ctx context.Context, s Snapshot, d *dossier) error {
	listed, kin := membersOf(d)
	if len(kin) == 0 {
		return nil
	}
	own, complete := follow(d.versions)
	if !complete {
		a.report.limit(Members, "at earlier versions: the history of some families does not go back to their first version")
		return nil
	}
	children := map[flight.ID][]share{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(kin)), flightPage) {
		versions, err := s.Versions(ctx, part)
		if err != nil {
			return err
		}
		byID := map[flight.ID][]evidence.Version{}
		for _, v := range versions {
			byID[v.FLID] = append(byID[v.FLID], v)
		}
		for _, id := range part {
			if children[id], complete = follow(byID[id]); !complete {
				a.report.limit(Members, "at earlier versions: the history of some families does not go back to their first version")
				return nil
			}
		}
	}
	a.memberships(d, own, listed, children)
	a.halfDeleted(d, children)
	return nil
}

// listing is MAFL from one decision on.
type listing struct {
	decision int64
	version  int64
	members  []member
}

// membersOf is MAFL over the history of a flight, and every flight that ever was in it.
func membersOf(d *dossier) (listed []listing, kin map[flight.ID]bool) {
	kin = map[flight.ID]bool{}
	for i := range d.versions {
		v := &d.versions[i]
		for k := range v.Changed {
			if v.Changed[k].Path != decision.PathMembers {
				continue
			}
			l := listing{decision: v.DecisionNo, version: v.Version}
			_ = json.Unmarshal(v.Changed[k].After, &l.members) // null is no member
			listed = append(listed, l)
			for _, m := range l.members {
				if id, err := flight.ParseID(m.FLID); err == nil && id != d.ID {
					kin[id] = true
				}
			}
		}
	}
	if d.State != nil {
		for _, m := range d.State.Members {
			kin[m.FLID] = true
		}
	}
	return listed, kin
}

// memberships compares MAFL with the children after each decision.
func (a *Audit) memberships(d *dossier, own []share, listed []listing, children map[flight.ID][]share) {
	moments := map[int64]bool{}
	for _, s := range own {
		moments[s.decision] = true
	}
	for _, l := range listed {
		moments[l.decision] = true
	}
	for _, shares := range children {
		for _, s := range shares {
			moments[s.decision] = true
		}
	}
	ids := slices.Sorted(maps.Keys(children))
	for _, no := range slices.Sorted(maps.Keys(moments)) {
		var want []member
		if self := asOf(own, no); self.active && self.maid == "" {
			for _, id := range ids {
				if c := asOf(children[id], no); c.active && c.maid == d.ID.String() {
					want = append(want, member{id.String(), c.flno})
				}
			}
		}
		now := listing{}
		for _, l := range listed {
			if l.decision <= no {
				now = l
			}
		}
		a.report.compared(Members, 1)
		if !slices.Equal(now.members, want) {
			a.report.broken(Members, fmt.Sprintf("%s after decision %d", d.place(), no), fmt.Sprintf("MAFL %v, of version %d", now.members, now.version),
				fmt.Sprintf("%v, the active children then", want))
			return // what follows from it is no difference of its own
		}
	}
}

// halfDeleted looks for children that outlived their master.
func (a *Audit) halfDeleted(d *dossier, children map[flight.ID][]share) {
	for i := range d.versions {
		v := &d.versions[i]
		if v.Op != decision.Delete {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(children)) {
			before, after := asOf(children[id], v.DecisionNo-1), asOf(children[id], v.DecisionNo)
			if before.active && before.maid == d.ID.String() && after.active && after.maid == d.ID.String() {
				a.report.broken(Deletions, d.at(v.Version), fmt.Sprintf("deleted by message %d, and its child %s was not", v.MsgID, id), "master and children deleted together")
			}
		}
	}
}
