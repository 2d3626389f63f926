package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

// A LinkRef names a link of a lab, or one direction of it.
type LinkRef struct {
	A, B string
	// Port is the port of the link at A, for nodes with several links between them; 0: the only link.
	Port      uint32
	Direction Direction
}

// A Direction is one of a link's, or both.
type Direction string

// Directions of a link between A and B. The empty string means DirectionBoth.
const (
	DirectionBoth Direction = "both"
	DirectionAB   Direction = "a-b"
	DirectionBA   Direction = "b-a"
)

// Limits and defaults of faults.
const (
	// MaxFaultDelay bounds the delay and the jitter of a fault.
	MaxFaultDelay = 10 * time.Second
	// leastJitter and reorderFrames give the jitter of a reordering fault without a jitter of its own:
	// the time of reorderFrames frames of reorderOctets at the link's rate, so that later frames
	// overtake.
	leastJitter   = time.Millisecond
	reorderFrames = 10
	reorderOctets = 4096
)

// A FaultChange changes faults of a link, like PATCH /v1/faults/links/{a}/{b} of a lab: nil fields
// stay unchanged. Probabilities apply to a frame, from 0 to 1.
type FaultChange struct {
	Down  *bool         `json:"down,omitempty"`  // cut: nothing passes, and the ends see it
	Loss  *float64      `json:"loss,omitempty"`  // frames that are lost
	Delay *api.Duration `json:"delay,omitempty"` // added to the delay of the link
	// most that is added to that at random, from 0
	Jitter *api.Duration `json:"jitter,omitempty"`
	// frames that others may overtake, by the jitter
	Reorder   *float64 `json:"reorder,omitempty"`
	Duplicate *float64 `json:"duplicate,omitempty"` // frames that arrive twice
	Corrupt   *float64 `json:"corrupt,omitempty"`   // frames with one bit flipped
}

// A LinkState is one direction of a link: its faults, and the fate of the frames that the sender
// put on it since the lab began.
type LinkState struct {
	From       string       `json:"from"`
	FromPort   uint32       `json:"fromPort"`
	To         string       `json:"to"`
	ToPort     uint32       `json:"toPort"`
	Up         bool         `json:"up"`   // false: nothing passes, for whatever reason
	Down       bool         `json:"down"` // cut by a fault
	Loss       float64      `json:"loss"`
	Delay      api.Duration `json:"delay"`
	Jitter     api.Duration `json:"jitter"`
	Reorder    float64      `json:"reorder"`
	Duplicate  float64      `json:"duplicate"`
	Corrupt    float64      `json:"corrupt"`
	Sent       uint64       `json:"sent"`
	Lost       uint64       `json:"lost"`
	Reordered  uint64       `json:"reordered"`
	Duplicated uint64       `json:"duplicated"`
	Corrupted  uint64       `json:"corrupted"`
}

// A Part is something of a lab that can be killed and revived.
type Part struct {
	Kind PartKind `json:"kind"`
	Name string   `json:"name"`
}

// A PartKind is the kind of a Part.
type PartKind string

// Kinds of parts.
const (
	PartSwitch PartKind = "switch" // forgets everything, and its sessions end
	PartHost   PartKind = "host"   // sends nothing and takes nothing
	PartBGP    PartKind = "bgp"    // the BGP-LS speaker of a switch
)

// PartKinds returns all kinds of parts.
func PartKinds() []PartKind { return []PartKind{PartSwitch, PartHost, PartBGP} }

// A FaultReport lists the directions of links with faults, and the dead parts.
type FaultReport struct {
	Links []LinkState `json:"links"`
	Dead  []Part      `json:"dead"`
}

// refusal returns an api.Error about one field.
func refusal(code api.Code, field, value, format string, args ...any) error {
	return api.Refuse([]api.FieldError{{Field: field, Code: code, Value: value,
		Want: fmt.Sprintf(format, args...)}})
}

// someOf lists names for an error; of many, the first.
func someOf(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "of which there is none"
	case len(names) > most:
		return fmt.Sprintf("one of %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "one of " + strings.Join(names, ", ")
}

// find returns the wires of a reference. Errors are an *api.Error.
func (w *World) find(r LinkRef) ([]*Wire, error) {
	if !slices.Contains([]Direction{"", DirectionBoth, DirectionAB, DirectionBA}, r.Direction) {
		return nil, refusal(api.CodeInvalid, "direction", strconv.Quote(string(r.Direction)),
			"%s, %s or %s", DirectionBoth, DirectionAB, DirectionBA)
	}
	known, peers := w.nodes(), w.peers(r.A)
	switch {
	case !slices.Contains(known, r.A):
		return nil, refusal(api.CodeNotFound, "a", strconv.Quote(r.A), "%s", someOf(known))
	case !slices.Contains(peers, r.B):
		return nil, refusal(api.CodeNotFound, "b", strconv.Quote(r.B), "a node with a link to %s, %s",
			r.A, someOf(peers))
	}
	var there []*Wire
	var ports []string
	for _, x := range w.wires {
		if x.From == r.A && x.To == r.B {
			ports = append(ports, strconv.FormatUint(uint64(x.FromPort), 10))
			if r.Port == 0 || x.FromPort == r.Port {
				there = append(there, x)
			}
		}
	}
	if len(there) != 1 {
		value := "" // none was given
		if r.Port != 0 {
			value = strconv.FormatUint(uint64(r.Port), 10)
		}
		return nil, refusal(api.CodeInvalid, "port", value,
			"the port at %s of one of its links to %s, %s", r.A, r.B, someOf(ports))
	}
	switch r.Direction {
	case DirectionAB:
		return there, nil
	case DirectionBA:
		return []*Wire{w.back(there[0])}, nil
	default:
		return []*Wire{there[0], w.back(there[0])}, nil
	}
}

// nodes returns the names of all switches and hosts.
func (w *World) nodes() (names []string) {
	for _, s := range w.Network.Switches {
		names = append(names, s.Name)
	}
	for _, h := range w.Network.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// peers returns the names of the nodes with a link to a node.
func (w *World) peers(name string) (names []string) {
	for _, x := range w.wires {
		if x.From == name && !slices.Contains(names, x.To) {
			names = append(names, x.To)
		}
	}
	return names
}

// validate returns what is wrong with a change, as an *api.Error.
func (c *FaultChange) validate() error {
	var bad []api.FieldError
	for _, p := range []struct {
		field string
		value *float64
	}{{"loss", c.Loss}, {"reorder", c.Reorder}, {"duplicate", c.Duplicate}, {"corrupt", c.Corrupt}} {
		if p.value != nil && !(*p.value >= 0 && *p.value <= 1) { // NaN is neither
			bad = append(bad, api.FieldError{Field: p.field, Code: api.CodeInvalid,
				Value: fmt.Sprint(*p.value), Want: "a probability from 0 to 1"})
		}
	}
	for _, d := range []struct {
		field string
		value *api.Duration
	}{{"delay", c.Delay}, {"jitter", c.Jitter}} {
		if d.value != nil && (*d.value < 0 || d.value.D() > MaxFaultDelay) {
			bad = append(bad, api.FieldError{Field: d.field, Code: api.CodeInvalid, Value: d.value.String(),
				Want: fmt.Sprintf("0s to %v", MaxFaultDelay)})
		}
	}
	if *c == (FaultChange{}) {
		bad = append(bad, api.FieldError{Field: "down", Code: api.CodeInvalid,
			Want: "at least one of down, loss, delay, jitter, reorder, duplicate and corrupt"})
	}
	return api.Refuse(bad)
}

// ChangeFaults changes faults of a link, or of one direction. It returns the switches that must
// withdraw or advertise links by BGP-LS again, because their links go down or up. Errors are an
// *api.Error and change nothing.
func (w *World) ChangeFaults(r LinkRef, c FaultChange) (witnesses []string, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	wires, err := w.find(r)
	if err != nil {
		return nil, err
	}
	for _, x := range wires {
		set(&x.Faults.Loss, c.Loss)
		set(&x.Faults.Reorder, c.Reorder)
		set(&x.Faults.Duplicate, c.Duplicate)
		set(&x.Faults.Corrupt, c.Corrupt)
		set((*api.Duration)(&x.Faults.Delay), c.Delay)
		set((*api.Duration)(&x.Faults.Jitter), c.Jitter)
		if x.Faults.Reorder > 0 && x.Faults.Jitter == 0 {
			x.Faults.Jitter = x.reorderJitter()
		}
		if c.Down != nil && *c.Down != x.broken {
			x.setUp(!*c.Down)
			witnesses = append(witnesses, x.From, x.To)
		}
	}
	return w.advertisers(witnesses), nil
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// reorderJitter is the jitter of a reordering fault without one.
func (w *Wire) reorderJitter() time.Duration {
	if w.Rate == 0 {
		return leastJitter
	}
	frame := float64((reorderOctets+ethernetOverhead)*8) / float64(w.Rate) * float64(time.Second)
	return max(leastJitter, time.Duration(math.Ceil(reorderFrames*frame)))
}

// advertisers returns the switches among some nodes that are on, each once.
func (w *World) advertisers(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool {
		return w.switches[name] == nil || w.switches[name].down
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// ClearFaults ends all faults on a link, on one direction, or, with r nil, on all links. It returns
// the same values as ChangeFaults.
func (w *World) ClearFaults(r *LinkRef) (witnesses []string, err error) {
	wires := w.wires
	if r != nil {
		if wires, err = w.find(*r); err != nil {
			return nil, err
		}
	}
	for _, x := range wires {
		x.Faults = Faults{}
		if x.broken {
			x.setUp(true)
			witnesses = append(witnesses, x.From, x.To)
		}
	}
	return w.advertisers(witnesses), nil
}

// Links returns the state of both directions of all links, in the order of the network's links.
func (w *World) Links() []LinkState {
	out := make([]LinkState, 0, len(w.wires))
	for _, x := range w.wires {
		f := &x.Faults
		out = append(out, LinkState{
			From: x.From, FromPort: x.FromPort, To: x.To, ToPort: x.ToPort, Up: x.Up(), Down: x.broken,
			Loss: f.Loss, Delay: api.Duration(f.Delay), Jitter: api.Duration(f.Jitter), Reorder: f.Reorder,
			Duplicate: f.Duplicate, Corrupt: f.Corrupt,
			Sent: x.Sent, Lost: x.Lost, Reordered: x.Reordered, Duplicated: x.Duplicated,
			Corrupted: x.Corrupted,
		})
	}
	return out
}

// faulty reports whether a direction of a link has a fault.
func (s *LinkState) faulty() bool {
	return s.Down || cmp.Or(s.Loss, s.Reorder, s.Duplicate, s.Corrupt) != 0 ||
		cmp.Or(s.Delay, s.Jitter) != 0
}

// check reports, as an *api.Error, that a lab has no such part.
func (p Part) check(n *Network) error {
	var names []string
	what := "switch"
	switch p.Kind {
	case PartSwitch, PartBGP:
		for _, s := range n.Switches {
			names = append(names, s.Name)
		}
	case PartHost:
		what = "host"
		for _, h := range n.Hosts {
			names = append(names, h.Name)
		}
	default:
		return refusal(api.CodeNotFound, "kind", strconv.Quote(string(p.Kind)), "%s, %s or %s",
			PartSwitch, PartHost, PartBGP)
	}
	if !slices.Contains(names, p.Name) {
		return refusal(api.CodeNotFound, "name", strconv.Quote(p.Name), "a %s of the lab, %s", what,
			someOf(names))
	}
	return nil
}
