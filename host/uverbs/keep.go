//go:build linux

package uverbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// keptMark begins what Config.Keep keeps, with the number of its form.
const keptMark = "weft nic state 1\n"

// ErrKept is a kept state that cannot be read.
var ErrKept = errors.New("kept state of mrc_ctl")

// kept is what outlives the NIC (OCP MRC 1.0, section 10.2.2: what a controller configures is
// persistent in the device).
type kept struct {
	Formats  map[uint64]*format    `json:"formats,omitempty"`
	EVs      map[uint64]*evProfile `json:"evProfiles,omitempty"`
	CCs      map[uint64]*ccProfile `json:"ccProfiles,omitempty"`
	Disabled packet.PortMask       `json:"disabledPorts,omitempty"`
}

// keeping tracks which changes are in the file.
type keeping struct {
	next uint64 // number of the last change; the NIC's goroutine's

	mu     sync.Mutex
	done   uint64 // all changes up to it are kept
	failed bool   // the last time
}

// encode is what Restore takes: a JSON document, sealed.
func (s *Server) encode() []byte {
	body, _ := json.Marshal(&kept{s.profiles.formats, s.profiles.evs, s.profiles.ccs,
		s.ports.disabled}) // nothing in it can fail
	return hostapi.Seal(keptMark, body)
}

// changed is the reply to a request that changes the stored configuration: the server answers after
// storing the configuration. If storing fails, the program gets the reason, but the NIC has the
// change; the next change stores everything.
func (p *process) changed(m *ctlEVs, err error) reply {
	s := p.server
	out := reply{err: err}
	if m != nil {
		out.messages = []any{m}
	}
	if s.cfg.Keep == nil {
		return out
	}
	s.keeping.next++ // a request that fails may have done some entries
	number, text := s.keeping.next, s.encode()
	out.wait = func() reply {
		if failed := s.keep(number, text); failed != nil && err == nil {
			return reply{err: failed}
		}
		return reply{err: err, messages: out.messages}
	}
	return out
}

// keep keeps a state, unless a later one is kept.
func (s *Server) keep(number uint64, text []byte) error {
	k := &s.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	if number <= k.done {
		return nil
	}
	err := s.cfg.Keep(text)
	if err != nil {
		if !k.failed {
			s.log.Error("what mrc_ctl has configured will not outlive the NIC", "reason", err)
		}
		k.failed = true
		var code unix.Errno
		if errors.As(err, &code) {
			return code
		}
		return unix.EIO
	}
	k.done, k.failed = number, false
	return nil
}

// Restore has the NIC hold what Config.Keep has kept. It is called before Serve. Errors wrap
// ErrKept, and leave all as it was; what the NIC cannot hold any more, as with fewer ports, is
// OFFLINE and logged.
func (s *Server) Restore(text []byte) error {
	body, err := hostapi.Unseal(keptMark, text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKept, err)
	}
	var k kept
	if err := json.Unmarshal(body, &k); err != nil {
		return fmt.Errorf("%w: %w", ErrKept, err)
	}
	c := s.profiles
	for id, f := range k.Formats {
		if f != nil && localID(id) {
			c.formats[id] = f
		}
	}
	for _, id := range sorted(k.CCs) {
		if cc := k.CCs[id]; cc != nil && put(c, c.ccs, id, cc) != nil {
			s.log.Error("the NIC cannot use a CC profile that it has kept", "id", id)
			cc.State = profileOffline
			_ = put(c, c.ccs, id, cc) // the NIC does not hold it
		}
	}
	for _, id := range sorted(k.EVs) {
		if e := k.EVs[id]; e != nil && put(c, c.evs, id, e) != nil {
			s.log.Error("the NIC cannot use an EV profile that it has kept", "id", id)
			e.State = profileOffline
			_ = put(c, c.evs, id, e) // likewise
		}
	}
	for port := range s.cfg.NIC.Config().Ports {
		if k.Disabled.Has(port + 1) {
			s.disable(port+1, true)
		}
	}
	return nil
}
