package gnmi

import (
	"fmt"
	"math"
	"strconv"
)

// leaf names a port value that Weft knows; the names come from dialects.yaml.
type leaf string

// The leaves of the stream of states: what an interface is, and its configuration.
const (
	leafID                leaf = "id"          // the P4Runtime port
	leafConfigID          leaf = "config-id"   // the P4Runtime port where there is no id
	leafIfindex           leaf = "ifindex"     // the P4Runtime port where there is neither
	leafOper              leaf = "oper-status" // up or not
	leafMAC               leaf = "mac"
	leafSpeed             leaf = "speed"
	leafConfigEnabled     leaf = "config-enabled"
	leafConfigMTU         leaf = "config-mtu"
	leafConfigDescription leaf = "config-description"
	leafConfigSpeed       leaf = "config-speed"
)

// counterLeaves maps leaves to the counts of a port, except for queue and PFC counts.
var counterLeaves = map[leaf]func(*Sample) *Count{
	"in-octets":          func(s *Sample) *Count { return &s.In.Octets },
	"in-pkts":            func(s *Sample) *Count { return &s.In.Packets },
	"in-unicast-pkts":    func(s *Sample) *Count { return &s.In.Unicast },
	"in-multicast-pkts":  func(s *Sample) *Count { return &s.In.Multicast },
	"in-broadcast-pkts":  func(s *Sample) *Count { return &s.In.Broadcast },
	"in-errors":          func(s *Sample) *Count { return &s.In.Errors },
	"in-discards":        func(s *Sample) *Count { return &s.In.Discards },
	"out-octets":         func(s *Sample) *Count { return &s.Out.Octets },
	"out-pkts":           func(s *Sample) *Count { return &s.Out.Packets },
	"out-unicast-pkts":   func(s *Sample) *Count { return &s.Out.Unicast },
	"out-multicast-pkts": func(s *Sample) *Count { return &s.Out.Multicast },
	"out-broadcast-pkts": func(s *Sample) *Count { return &s.Out.Broadcast },
	"out-errors":         func(s *Sample) *Count { return &s.Out.Errors },
	"out-discards":       func(s *Sample) *Count { return &s.Out.Discards },
}

// queueLeaves has the counts of a queue.
var queueLeaves = map[leaf]func(*Queue) *Count{
	"queue-pkts":           func(q *Queue) *Count { return &q.Packets },
	"queue-octets":         func(q *Queue) *Count { return &q.Octets },
	"queue-dropped-pkts":   func(q *Queue) *Count { return &q.DroppedPackets },
	"queue-dropped-octets": func(q *Queue) *Count { return &q.DroppedOctets },
	"queue-longest":        func(q *Queue) *Count { return &q.Longest },
	"queue-marked-pkts":    func(q *Queue) *Count { return &q.Marked },
	"queue-trimmed-pkts":   func(q *Queue) *Count { return &q.Trimmed },
}

// sidLeaves has the counts of a local SID.
var sidLeaves = map[leaf]func(*SID) *Count{
	"sid-pkts":   func(s *SID) *Count { return &s.Packets },
	"sid-octets": func(s *SID) *Count { return &s.Octets },
}

// pfcLeaves has the counts of a priority.
var pfcLeaves = map[leaf]func(*PFC) *Count{
	"pfc-in":  func(p *PFC) *Count { return &p.In },
	"pfc-out": func(p *PFC) *Count { return &p.Out },
}

// stateLeaves set a leaf of an interface from the text of a value, and report whether it makes
// sense. An empty text is a value that the switch deleted.
var stateLeaves = map[leaf]func(*Interface, string) bool{
	leafID: func(i *Interface, text string) bool { return setNumber(&i.id, text, math.MaxUint32) },
	leafConfigID: func(i *Interface, text string) bool {
		return setNumber(&i.configID, text, math.MaxUint32)
	},
	leafIfindex: func(i *Interface, text string) bool {
		return setNumber(&i.Ifindex, text, math.MaxUint32)
	},
	leafOper: func(i *Interface, text string) bool {
		var ok bool
		i.Oper, ok = operStatuses[local(text)]
		return ok || text == ""
	},
	leafMAC: func(i *Interface, text string) bool {
		i.MAC = ""
		if len(text) > maxMAC {
			return false
		}
		i.MAC = text
		return true
	},
	leafSpeed: func(i *Interface, text string) bool {
		speed, ok := speedOf(text)
		i.Speed = speed
		return ok || text == ""
	},
	leafConfigEnabled: func(i *Interface, text string) bool {
		i.Config.Enabled = nil
		v, err := strconv.ParseBool(text)
		if err == nil {
			i.Config.Enabled = &v
		}
		return err == nil || text == ""
	},
	leafConfigMTU: func(i *Interface, text string) bool {
		i.Config.MTU = nil
		var v uint32
		if text == "" {
			return true
		}
		if !setNumber(&v, text, math.MaxUint16) {
			return false
		}
		i.Config.MTU = &v
		return true
	},
	leafConfigDescription: func(i *Interface, text string) bool {
		i.Config.Description = nil
		if len(text) > maxDescription {
			return false
		}
		i.Config.Description = &text
		return true
	},
	leafConfigSpeed: func(i *Interface, text string) bool {
		i.Config.Speed = nil
		speed, ok := speedOf(text)
		if ok {
			i.Config.Speed = &speed
		}
		return ok || text == ""
	},
}

// Bounds of texts of a switch, in octets.
const (
	maxMAC         = 32
	maxDescription = 255
)

func setNumber(to *uint32, text string, most uint64) bool {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > most {
		*to = 0
		return err == nil && n <= most || text == ""
	}
	*to = uint32(n)
	return true
}

// known reports whether there is a leaf of a name.
func (l leaf) known() bool {
	return stateLeaves[l] != nil || counterLeaves[l] != nil || queueLeaves[l] != nil ||
		pfcLeaves[l] != nil || sidLeaves[l] != nil
}

// speedOf returns the speed that a value of port-speed stands for, in bit/s; 0 for
// SPEED_UNKNOWN.
func speedOf(text string) (bits uint64, ok bool) {
	name := local(text)
	if name == "SPEED_UNKNOWN" {
		return 0, true
	}
	bits, ok = speeds()[name]
	return bits, ok
}

// speedName returns the value of port-speed for a speed in bit/s.
func speedName(bits uint64) (string, error) {
	for name, b := range speeds() {
		if b == bits {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: there is no port speed of %d bit/s", ErrUnsupported, bits)
}
