package nic

import (
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/spray"
)

// A profile is the NIC's form of an EV profile, for all queue pairs to its destinations.
type profile struct {
	is    *hostapi.Profile
	made  spray.Profile // as queue pairs use it; empty in mode AUTO, where each draws its own
	evs   []hostapi.EV  // as the controller names them, by index of made.EVs
	first []int         // by index: the first with the same value, which stands for all of them

	bad     []int                  // by index, of first ones: values that queue pairs have ASSUMED_BAD
	retired map[hostapi.EV]counted // what queue pairs counted that do not use the profile any more
	answers *spray.Set             // paths of answers to endpoint requests
	flows   int                    // queue pairs that use it
	balance *spray.Balance         // how ports compare, which these learn together
}

// counted is the counters of a value.
type counted struct{ sent, lost uint64 }

// compile makes a profile that the transport can use. The error is a *hostapi.FieldError.
func (n *NIC) compile(p *hostapi.Profile) (*profile, error) {
	c := &profile{is: p, retired: make(map[hostapi.EV]counted), balance: spray.NewBalance()}
	field := fmt.Sprintf("set_profiles[%s]", p.Name)
	if p.Mode == hostapi.ModeAuto {
		if p.Count > spray.MaxEVs {
			return nil, refusal(hostapi.CodeUnsupported, field+".count", "%d, want at most %d", p.Count,
				spray.MaxEVs)
		}
		return c, nil
	}
	var err error
	if c.made, c.evs, err = spray.Received(p, n.device.Ports); err != nil {
		return nil, refusal(hostapi.CodeUnsupported, field, "%v", err)
	}
	c.bad = make([]int, len(c.evs))
	c.first = make([]int, len(c.evs))
	places := make(map[hostapi.EV]int, len(c.evs))
	for i, v := range c.evs {
		if _, there := places[v]; !there {
			places[v] = i
		}
		c.first[i] = places[v]
	}
	return c, nil
}

// auto reports that queue pairs draw their own values.
func (p *profile) auto() bool { return p == nil || p.is.Mode == hostapi.ModeAuto }

// shared is what queue pairs of the profile learn together; nil: each learns by itself.
func (p *profile) shared() *spray.Balance {
	if p.auto() {
		return nil
	}
	return p.balance
}

// differing returns the indexes of values with a changed denial in another version of the profile
// with the same values.
func (p *profile) differing(to *hostapi.Profile) (indexes []int) {
	for i, v := range p.evs {
		if to.IsDenied(v) != p.made.EVs[i].Denied {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// doubtful reports that a queue pair has found the value of an index bad.
func (p *profile) doubtful(index int) bool { return p.bad[p.first[index]] > 0 }
