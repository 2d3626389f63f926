package service

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
)

// sightings holds the controllers that were present and no longer are. Its methods may be called
// from any goroutine.
type sightings struct {
	mu   sync.Mutex
	last map[string]sighting
}

// sighting holds the last known state of a controller that was present, and the time.
type sighting struct {
	cluster.Member
	at time.Time
}

// follow takes what changed at a time.
func (s *sightings) follow(old, now cluster.View, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = make(map[string]sighting)
	}
	for _, was := range old.Members {
		if is, there := now.Member(was.Name); !there || is.Instance != was.Instance {
			s.last[was.Name] = sighting{was, at}
		}
	}
}

// known returns all of them.
func (s *sightings) known() map[string]sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.last)
}

// expected returns the sorted names of the other controllers that should be present: controllers
// that form the store, and controllers that were present and did not leave in order.
func (m *member) expected(known map[string]sighting) []string {
	names := make(map[string]bool)
	for name := range m.o.Inventory.Cluster.Etcd.Members {
		names[name] = true
	}
	for name, s := range known {
		if !s.Leaving {
			names[name] = true
		}
	}
	delete(names, m.self.Name)
	return slices.Sorted(maps.Keys(names))
}

// missing returns the expected controllers without a known lease, with the reason.
func (m *member) missing(ctx context.Context, v cluster.View) []api.Controller {
	known := m.seen.known()
	names := slices.DeleteFunc(m.expected(known), func(name string) bool {
		_, there := v.Member(name)
		return there
	})
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out := make([]api.Controller, len(names))
	var asked sync.WaitGroup
	others := make(map[string]store.Other)
	if f, ok := m.o.Store.(store.Formed); ok {
		asked.Go(func() {
			for _, o := range f.Others(ctx) {
				others[o.Name] = o
			}
		})
	}
	answers := make([]answer, len(names))
	for i, name := range names {
		asked.Go(func() { answers[i] = m.visit(ctx, name, known[name]) })
	}
	asked.Wait()
	for i, name := range names {
		other, formed := others[name]
		out[i] = absent(name, known[name], answers[i], other, formed, v.Instance != 0)
	}
	return out
}

// answer holds the answer of a controller that may be missing.
type answer struct {
	address string // where it was asked; "": nobody knows where it is
	says    api.Controller
	err     error
}

// visit asks a controller at its last known address. Without such an address, visit takes the host
// from the configuration and the port of this controller, because all controllers share one
// configuration.
func (m *member) visit(ctx context.Context, name string, last sighting) (a answer) {
	a.address = last.Peers
	if a.address == "" {
		host, _, err := net.SplitHostPort(m.o.Inventory.Cluster.Etcd.Members[name])
		_, port, err2 := net.SplitHostPort(m.self.Peers)
		if err != nil || err2 != nil {
			return a
		}
		a.address = net.JoinHostPort(host, port)
	}
	a.says, a.err = m.ask(ctx, cluster.Member{Name: name, Peers: a.address})
	if a.err == nil && a.says.Name != name {
		a.err = fmt.Errorf("at %s is controller %s", a.address, a.says.Name)
	}
	return a
}

// absent describes a controller without a lease, or with an unknown lease because this controller
// has no lease. other holds the answer from the other controller's etcd, where the controllers form
// an etcd.
func absent(name string, last sighting, a answer, other store.Other, formed,
	leased bool) api.Controller {
	c := api.Controller{Name: name, API: last.API, Peers: last.Member.Peers, Hosts: last.Hosts,
		Release: last.Release, Started: last.Started}
	answers := a.address != "" && a.err == nil
	if answers {
		c = a.says
		c.Owns = nil
		if !leased && c.Lag > 0 { // it has a lease
			return c
		}
	}
	c.Role, c.Since, c.Term, c.LastContact = api.RoleMissing, time.Time{}, 0, last.at
	fault := certs.Fault(a.err)
	switch disk := c.Disk; {
	case answers && disk != nil && (disk.State == "out" || disk.State == "failed"):
		c.Reason, c.Message = "disk", disk.Reason
	case other.Absence != "" && other.Absence != store.AbsenceUnreachable:
		c.Reason, c.Message = string(other.Absence), other.Reason
	case strings.Contains(fault, "clocks"):
		c.Reason, c.Message = "clock", fault
	case fault != "":
		c.Reason, c.Message = "certificate", fault
	case answers && c.Alarm != "":
		c.Reason, c.Message = "unreachable", "it answers, and takes no part: "+c.Alarm
	case answers && other.Absence != "":
		c.Reason, c.Message = "unreachable", "it answers, and its part of the store does not: "+
			other.Reason
	case answers:
		c.Reason, c.Message = "unreachable", "it answers, and holds no lease in the store"
	case other.Absence != "":
		c.Reason, c.Message = string(other.Absence), other.Reason
	case formed:
		c.Reason, c.Message = "unreachable",
			"its part of the store answers, and the controller does not: it starts, or is paused"
	case a.err != nil:
		c.Reason, c.Message = "unreachable", fmt.Sprintf("it does not answer at %s: %v", a.address, a.err)
	default:
		c.Reason, c.Message = "unreachable", "it was never there while this controller ran"
	}
	if last.Leaving {
		c.Message = "it left in order, and has not started since: " + c.Message
	}
	return c
}

// maxSkew is the allowed difference between clocks: answers have whole seconds, and are delayed a
// moment.
const maxSkew = 2 * time.Second

// skew returns how far another clock is ahead of this controller's clock; 0 if the difference is
// within the precision of the answer. date is the date in the answer, asked and came are the times
// of the request and the answer.
func skew(date, asked, came time.Time) time.Duration {
	ahead := date.Sub(asked.Add(came.Sub(asked) / 2)).Round(time.Second)
	if ahead.Abs() <= maxSkew {
		return 0
	}
	return ahead
}

// shareLook is the pause between two looks at how switches are shared out.
const shareLook = time.Second

// watchShare publishes when switches have been shared out unevenly for a minute, and when they no
// longer are, until ctx ends.
func (m *member) watchShare(ctx context.Context) {
	was := ""
	ticker := time.NewTicker(shareLook)
	defer ticker.Stop()
	for {
		is := m.node.Uneven()
		if e, ok := shared(m.self.Name, was, is); ok {
			m.s.publish(m.o, e)
		}
		was = is
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// shared returns the event that switches have become unevenly shared, or no longer are; false:
// nothing has changed.
func shared(name, was, is string) (api.Event, bool) {
	if (was == "") == (is == "") {
		return api.Event{}, false
	}
	message := "switches are shared out evenly again"
	if is != "" {
		message = "switches have been shared out unevenly for a minute: " + is
	}
	return api.Event{Time: time.Now().UTC(), Type: api.EventShareUneven, Object: name,
		Message: message}, true
}
