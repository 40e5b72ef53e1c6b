package consume

import (
	"container/list"

	"msgx/engine/flight"
)

// recent holds something of the flights that were touched last. The zero value is ready.
type recent[V any] struct {
	at    map[flight.ID]*list.Element
	order list.List // of note[V], the one touched last in front
}

type note[V any] struct {
	id    flight.ID
	value V
}

// get touches what it finds.
func (r *recent[V]) get(id flight.ID) (v V, known bool) {
	e, known := r.at[id]
	if !known {
		return v, false
	}
	r.order.MoveToFront(e)
	return e.Value.(note[V]).value, true
}

// put notes something and forgets what is beyond the limit.
func (r *recent[V]) put(id flight.ID, v V, limit int) {
	if r.at == nil {
		r.at = map[flight.ID]*list.Element{}
	}
	r.remove(id)
	r.at[id] = r.order.PushFront(note[V]{id, v})
	for len(r.at) > limit {
		r.remove(r.order.Back().Value.(note[V]).id)
	}
}

func (r *recent[V]) remove(id flight.ID) {
	if e, known := r.at[id]; known {
		r.order.Remove(e)
		delete(r.at, id)
	}
}
