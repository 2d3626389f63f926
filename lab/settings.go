package lab

import (
	"errors"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

const (
	labProbes     = 160 // a second, of all hosts
	labSelfProbes = 10  // a second, of each host to itself
	labLinkCounts = 5 * time.Second
)

// MRCSettings returns the settings of a controller for a network of MRC hosts: queues that fit the
// links, and times that fit the round trip.
func MRCSettings(n *Network, mode ev.Mode) *inventory.MRC {
	m := inventory.Default().MRC
	m.Mode, m.Listen, m.CCProfile = mode.String(), "127.0.0.1:0", CCProfile
	m.Classes = n.Classes()
	rtt := n.RoundTrip()
	stretch := func(d *api.Duration, trips int) {
		*d = max(*d, api.Duration(time.Duration(trips)*rtt))
	}
	stretch(&m.Probes.Timeout, probeEvery)
	stretch(&m.Probes.SelfTimeout, probeEvery)
	m.Probes.SelfTimeout = min(m.Probes.SelfTimeout, api.Duration(hostapi.MaxSelfTimeout))
	// One processor is all switches and hosts, and reads probes and counters too.
	m.Probes.Rate, m.Probes.HostRate = labProbes, max(1, labProbes/max(1, len(n.Hosts)))
	m.Probes.Self = labSelfProbes
	m.LinkCounts = api.Duration(labLinkCounts)
	stretch(&m.Restore.Linger, 2)
	return &m
}

// DefaultMode returns how packets of MRC hosts carry their path by default: stev, which needs P4
// everywhere, or usid-structured if a switch runs Linux.
func (n *Network) DefaultMode() ev.Mode {
	if n.HasKernels() {
		return ev.ModeUSIDStructured
	}
	return ev.ModeStructured
}

// readSettings reads the sections mrc and pfc of a text over the defaults for the network, which
// must be complete but for them.
func (n *Network) readSettings(text []byte, mrc, pfc bool) error {
	defaults := inventory.Default().PFC
	over := Network{MRC: MRCSettings(n, n.DefaultMode()), PFC: &defaults}
	if err := strictyaml.Decode(text, &over); err != nil {
		return err
	}
	if mrc {
		n.MRC = over.MRC
	}
	if pfc {
		n.PFC = over.PFC
	}
	return errors.Join(n.settingsFaults()...)
}

// settingsFaults returns the faults in MRC and PFC settings, for a network without other faults.
func (n *Network) settingsFaults() (faults []error) {
	if n.MRC != nil && !n.HasMRC() {
		return []error{&FieldError{Field: "mrc",
			Problem: "is given, and no host speaks MRC: want hosts with transport mrc"}}
	}
	inv := n.Inventory(nil)
	var found inventory.Faults
	if !errors.As(inv.Validate(), &found) {
		return nil
	}
	for _, f := range found { // the lab itself supplies all other sections
		if strings.HasPrefix(f.Field, "mrc.") || strings.HasPrefix(f.Field, "pfc.") {
			faults = append(faults, &FieldError{Field: f.Field, Problem: f.Message})
		}
	}
	return faults
}
