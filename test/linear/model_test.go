package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// resource is the state of one resource in the model.
type resource struct {
	exists bool
	// version is 0 after a write whose client got no answer, until a client sees which version it got.
	version uint64
	content uint32
	// last is the highest version known for the resource. The next version is higher.
	last uint64
	// removals and writes count the operations with a turn that have had it.
	removals, writes int
}

// has reports whether the resource may have a version, which is known then.
func (r *resource) has(version uint64) bool {
	if r.version != 0 {
		return r.version == version
	}
	if version <= r.last {
		return false
	}
	r.version, r.last = version, version
	return true
}

// step reports whether an operation may have had its outcome in a state, and what the state is
// then.
func step(r resource, o *operation) (bool, resource) {
	switch o.Outcome {
	case unknown:
		if o.turn != 0 {
			turns := &r.writes
			if o.Action == remove {
				turns = &r.removals
			}
			if *turns++; *turns != o.turn {
				return false, r
			}
		}
		next := attempt(r, o)
		if o.seen != 0 { // so it was carried out, with this version
			if next.content != o.Content || next.version != 0 || o.seen <= r.last {
				return false, r
			}
			next.version, next.last = o.seen, o.seen
		}
		return true, next
	case missing:
		return !r.exists && (o.Action == get || o.Action == remove), r
	case taken:
		return r.exists && (o.Absent || o.Action == create), r
	case unmet:
		// While the version is not known it may have been another one.
		return o.Match != 0 && (!r.exists && o.writes() || r.exists &&
			(r.version == 0 || r.version != o.Match)), r
	case refused:
		return true, r
	}
	switch o.Action {
	case get:
		return r.exists && r.content == o.Value && r.has(o.Version), r
	case remove:
		if !r.exists || o.Match != 0 && !r.has(o.Match) {
			return false, r
		}
		return true, r.without()
	case put, create:
		if o.Match != 0 && (!r.exists || !r.has(o.Match)) || (o.Absent || o.Action == create) &&
			r.exists {
			return false, r
		}
		if o.Value != o.Content || o.Created == r.exists || o.Version <= r.last {
			return false, r
		}
		return true, r.with(o.Version, o.Content, o.Version)
	}
	return false, r
}

// attempt returns the state after an operation with an outcome unknown to its client. If the
// precondition does not hold, the cluster did not carry out the operation. An operation never
// carried out counts as the last operation.
func attempt(r resource, o *operation) resource {
	switch {
	case o.Match != 0 && (!r.exists || !r.has(o.Match)), (o.Absent || o.Action == create) && r.exists:
		return r
	case o.Action == remove:
		return r.without()
	case o.writes():
		return r.with(0, o.Content, r.last)
	}
	return r
}

// without returns the state after the resource was deleted.
func (r resource) without() resource {
	r.exists, r.version, r.content = false, 0, 0
	return r
}

// with returns the state after the resource was written.
func (r resource) with(version uint64, content uint32, last uint64) resource {
	r.exists, r.version, r.content, r.last = true, version, content, last
	return r
}

// model is the model of one resource, which does not exist at first.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return resource{} },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(*operation)
			ok, next := step(state.(resource), o)
			return ok, next
		},
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
		DescribeState: func(state any) string {
			r := state.(resource)
			switch {
			case !r.exists:
				return "does not exist"
			case r.version == 0:
				return fmt.Sprintf("content %d, version not known, over %d", r.content, r.last)
			}
			return fmt.Sprintf("content %d, version %d", r.content, r.version)
		},
	}
}

// steps returns the operations of one resource in porcupine's form. seen maps the content of writes
// to evidence of the writes, which ends unanswered writes.
//
// The cluster may carry out an unanswered and unseen operation at any time after its call.
// Porcupine would try every subset of such operations. However, all removals without a precondition
// have the same effect, and so do writes of unseen contents: if a history is legal with the
// operations in some order, the history is legal too with the effects assigned in the order of
// calls. So each kind has an order, and k operations have k+1 states instead of 2^k.
func steps(ops []operation, seen map[uint32]evidence) []porcupine.Operation {
	var out []porcupine.Operation
	var removals, writes int
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.Call, b.Call) })
	for i := range ops {
		o := ops[i]
		if o.Outcome == refused || o.Action == stale || o.Outcome == unknown && o.Action == get {
			continue // without effect, or judged by another rule
		}
		end := int64(o.Return)
		if o.Outcome == unknown {
			end = math.MaxInt64 - 1
			e, ok := seen[o.Content]
			switch {
			case ok && o.writes():
				// Somebody has seen it, so that it was carried out by then.
				o.seen, end = e.version, int64(max(e.at, o.Call))
			case o.Match != 0 || o.Absent || o.Action == create: // its precondition tells it apart
			case o.Action == remove:
				removals++
				o.turn = removals
			case o.writes():
				writes++
				o.turn = writes
			}
		}
		out = append(out, porcupine.Operation{ClientId: o.Client, Input: &o, Output: &o,
			Call: int64(o.Call), Return: end})
	}
	return out
}

// evidence is the first sight of a content.
type evidence struct {
	key     string
	version uint64
	content uint32
	at      time.Duration
	by      string
}

// byKey are the operations of each resource, and their names in order.
func byKey(ops []operation) (map[string][]operation, []string) {
	out := make(map[string][]operation)
	var keys []string
	for _, o := range ops {
		if out[o.Key] == nil {
			keys = append(keys, o.Key)
		}
		out[o.Key] = append(out[o.Key], o)
	}
	slices.Sort(keys)
	return out, keys
}
