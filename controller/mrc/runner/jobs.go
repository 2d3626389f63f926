package runner

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// The runner reads the facts of a job in parts, so that no denial waits for a large job.
const (
	nicsAtOnce  = 1024
	pathsAtOnce = 512
	linksAtOnce = 8192
)

// jobLinks keeps which links jobs depend on, which takes long to find: a fabric does not change,
// nor do the needs of a job.
type jobLinks struct {
	mu  sync.Mutex
	all map[*ready.Need]jobLinksOf
}

type jobLinksOf struct {
	fabric *fabric.Fabric
	at     []ev.Attachment // of the racks
	places []int32
}

// mostJobLinks bounds the jobs whose links are kept.
const mostJobLinks = 256

// SetTalk sets what the jobs need that have not ended; see [mrc.Core.SetTalk]. It returns when
// hosts are told what follows.
func (r *Runner) SetTalk(ctx context.Context, needs []*ready.Need) error {
	return r.ledger.Do(ctx, func() { r.core.SetTalk(needs) })
}

// JobFacts returns the facts that a job depends on. The prober now probes these links first, as
// long as calls of JobFacts continue.
func (r *Runner) JobFacts(ctx context.Context, need *ready.Need) (out ready.Fabric, err error) {
	var j *mrc.JobReading
	err = r.ledger.Do(ctx, func() {
		names := make(map[topology.NodeID]string)
		for name, n := range r.switches {
			if n != nil {
				names[n.ID] = name
			}
		}
		j = r.core.ReadJob(need, names, r.streams.Status, &out)
	})
	if err != nil || j == nil {
		return out, err
	}
	out.NICs = make([]ready.NIC, len(need.NICs))
	if err := r.inParts(ctx, j, len(need.NICs), nicsAtOnce, j.NIC); err != nil {
		return out, err
	}
	if err := r.inParts(ctx, j, len(need.Pairs), pathsAtOnce, j.Path); err != nil {
		return out, err
	}
	places := r.jobLinks.of(need, j)
	out.Links = make([]ready.Link, len(places))
	err = r.inParts(ctx, j, len(places), linksAtOnce, func(i int) { j.Link(i, places[i]) })
	return out, err
}

// inParts has the goroutine of the core read n things, some at a time.
func (r *Runner) inParts(
	ctx context.Context, j *mrc.JobReading, n, atOnce int, read func(i int),
) error {
	for from := 0; from < n; from += atOnce {
		err := r.ledger.Do(ctx, func() {
			if !j.Current() {
				return // there is another fabric by now: what is left is not known
			}
			for i := from; i < min(n, from+atOnce); i++ {
				read(i)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// of returns the places of the links that the pairs of a need cross. Callers are outside the
// goroutine of the core, because a fabric does not change.
func (l *jobLinks) of(need *ready.Need, j *mrc.JobReading) []int32 {
	f, attached := j.Fabric()
	l.mu.Lock()
	known, ok := l.all[need]
	l.mu.Unlock()
	if ok && known.fabric == f &&
		slices.EqualFunc(known.at, attached, slices.Equal[ev.Attachment]) {
		return known.places
	}
	places := crossed(f, need, attached)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= mostJobLinks {
		l.all = make(map[*ready.Need]jobLinksOf)
	}
	l.all[need] = jobLinksOf{f, attached, places}
	return places
}

// crossed returns the places of the links that the pairs of a need cross, with racks at the given
// attachments.
func crossed(f *fabric.Fabric, need *ready.Need, attached []ev.Attachment) (places []int32) {
	crossed := make([]bool, f.Len())
	for _, pair := range need.Pairs {
		from, to := attached[pair[0]], attached[pair[1]]
		for port := range from {
			set, ok := f.PathSet(from, to, uint8(port+1))
			if !ok {
				continue
			}
			for ref := range set.All() {
				for _, l := range f.PlacesOf(set, ref) {
					crossed[l] = true
				}
			}
		}
	}
	for i, is := range crossed {
		if is {
			places = append(places, int32(i))
		}
	}
	return places
}
