// Package frr renders the model of a switch as lines of FRR's configuration: its locator, static
// SIDs and static routes. Queues are the kernel's.
//
// Source: FRR's user manual (static-sids of staticd, from 10.3).
package frr

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// own is the name of the locator.
const own = "weft"

// Render returns the lines of a device, without what it cannot hold.
func Render(d *target.Device, m *api.SwitchModel) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "! %s\n", d.Name)
	for i := range m.Ports {
		p := &m.Ports[i]
		s := &p.Settings
		if s.Description == nil && s.Enabled == nil {
			continue
		}
		fmt.Fprintf(&b, "interface %s\n", d.Interface(p.Port))
		if s.Description != nil {
			fmt.Fprintf(&b, " description %s\n", *s.Description)
		}
		if s.Enabled != nil && !*s.Enabled {
			b.WriteString(" shutdown\n")
		}
		b.WriteString("exit\n!\n")
	}
	if ok, _ := d.Can(target.UN); ok && m.Locator != nil {
		segmentRouting(&b, d, m)
	}
	for i := range m.Routes {
		r := &m.Routes[i]
		for _, h := range r.Hops {
			fmt.Fprintf(&b, "ipv6 route %v ", r.Prefix)
			if h.Address.IsValid() {
				fmt.Fprintf(&b, "%v ", h.Address)
			}
			fmt.Fprintf(&b, "%s\n", d.Interface(h.Port))
		}
	}
	b.WriteString("!\nend\n")
	return []byte(b.String()), nil
}

func segmentRouting(b *strings.Builder, d *target.Device, m *api.SwitchModel) {
	l := m.Locator
	fmt.Fprintf(b, `segment-routing
 srv6
  locators
   locator %s
    prefix %v block-len %d node-len %d func-bits 16
    behavior usid
   exit
   !
  exit
  !
  static-sids
`, own, l.Prefix, l.BlockBits, l.NodeBits)
	for _, s := range d.SIDs(m) {
		fmt.Fprintf(b, "   sid %v locator %s behavior %s", s.Prefix, own, s.Behavior)
		switch s.Behavior {
		case api.BehaviorUA:
			fmt.Fprintf(b, " interface %s nexthop %v", d.Interface(s.Hop.Port), s.Hop.Address)
		case api.BehaviorUDT6:
			b.WriteString(" vrf default")
		}
		b.WriteByte('\n')
	}
	b.WriteString("  exit\n  !\n exit\n !\nexit\n!\n")
}
