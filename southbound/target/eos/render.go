// Package eos renders the model of a switch as lines of Arista EOS.
//
// Sources: public primers of MRC racks with EOS 4.36 for its SRv6, and EOS' manual for interfaces,
// routes, classes and congestion marks. No switch has loaded these lines yet.
package eos

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// own is the name of the domain of uSIDs and of the locator.
const own = "weft"

// Render returns the lines of a device, without what it cannot hold.
func Render(d *target.Device, m *api.SwitchModel) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "! %s\nipv6 unicast-routing\n!\n", d.Name)
	classes(&b, m)
	for i := range m.Ports {
		port(&b, d, m, &m.Ports[i])
	}
	if ok, _ := d.Can(target.UN); ok && m.Locator != nil {
		l := m.Locator
		block := l.Prefix.Addr().As16()
		node := binary.BigEndian.Uint16(block[l.BlockBits/8:])
		prefix, err := l.Prefix.Addr().Prefix(l.BlockBits)
		if err != nil {
			return nil, fmt.Errorf("locator %v: %w", l.Prefix, err)
		}
		fmt.Fprintf(&b, `router srv6
   vrf default
      micro-segment domain %s
         block %v
      locator %s
         prefix micro-segment domain %s end usid 0x%04x
!
`, own, prefix, own, own, node)
	}
	for i := range m.Routes {
		r := &m.Routes[i]
		for _, h := range r.Hops {
			fmt.Fprintf(&b, "ipv6 route %v %s", r.Prefix, d.Interface(h.Port))
			if h.Address.IsValid() {
				fmt.Fprintf(&b, " %v", h.Address)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("!\nend\n")
	return []byte(b.String()), nil
}

// classes maps DSCPs to traffic classes, which have the numbers of their queues.
func classes(b *strings.Builder, m *api.SwitchModel) {
	queues := make(map[uint8][]string)
	var order []uint8
	for _, c := range m.Classes {
		if queues[c.Queue] == nil {
			order = append(order, c.Queue)
		}
		queues[c.Queue] = append(queues[c.Queue], fmt.Sprint(c.DSCP))
	}
	slices.Sort(order)
	for _, q := range order {
		fmt.Fprintf(b, "qos map dscp %s to traffic-class %d\n", strings.Join(queues[q], " "), q)
	}
	if len(order) > 0 {
		b.WriteString("!\n")
	}
}

func port(b *strings.Builder, d *target.Device, m *api.SwitchModel, p *api.ModelPort) {
	fmt.Fprintf(b, "interface %s\n", d.Interface(p.Port))
	s := &p.Settings
	if s.Description != nil {
		fmt.Fprintf(b, "   description %s\n", *s.Description)
	}
	if s.Enabled != nil {
		fmt.Fprintf(b, "   %sshutdown\n", map[bool]string{true: "no ", false: ""}[*s.Enabled])
	}
	if s.MTU != nil {
		fmt.Fprintf(b, "   mtu %d\n", *s.MTU)
	}
	b.WriteString("   no switchport\n   ipv6 enable\n")
	if len(m.Classes) > 0 {
		b.WriteString("   qos trust dscp\n")
	}
	for _, q := range m.Queues {
		if q.ECN == nil {
			continue
		}
		fmt.Fprintf(b, "   tx-queue %d\n      random-detect ecn minimum-threshold %d bytes "+
			"maximum-threshold %d bytes max-mark-probability 100\n",
			q.Queue, q.ECN.MinOctets, q.ECN.MaxOctets)
	}
	b.WriteString("!\n")
}
