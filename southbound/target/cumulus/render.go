// Package cumulus turns the model of a switch into commands of NVUE, for Cumulus Linux.
//
// Source: NVIDIA's reference of NVUE and the user guide of Cumulus Linux 5.14. No switch has run
// these commands yet.
package cumulus

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// name is the locator's name, and the prefix of profile names.
const name = "weft"

// Render returns the commands of a device, without what it cannot hold.
func Render(d *target.Device, m *api.SwitchModel) ([]byte, error) {
	w := work{d: d, m: m}
	fmt.Fprintf(&w.b, "# %s\n", d.Name)
	w.ports()
	w.locator()
	w.routes()
	w.qos()
	w.trimming()
	return []byte(w.b.String()), nil
}

type work struct {
	d *target.Device
	m *api.SwitchModel
	b strings.Builder
}

func (w *work) set(format string, args ...any) {
	w.b.WriteString("nv set ")
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *work) can(f target.Feature) bool { ok, _ := w.d.Can(f); return ok }

func (w *work) ports() {
	for i := range w.m.Ports {
		p := &w.m.Ports[i]
		port, s := w.d.Interface(p.Port), &p.Settings
		if s.Enabled != nil {
			w.set("interface %s link state %s", port, map[bool]string{true: "up", false: "down"}[*s.Enabled])
		}
		if s.Speed != nil {
			w.set("interface %s link speed %dG", port, *s.Speed/1_000_000_000)
		}
		if s.MTU != nil {
			w.set("interface %s link mtu %d", port, *s.MTU)
		}
		if s.Description != nil {
			w.set("interface %s description '%s'", port, strings.ReplaceAll(*s.Description, "'", `'\''`))
		}
	}
}

func (w *work) locator() {
	l := w.m.Locator
	if l == nil || !w.can(target.UN) {
		return
	}
	w.set("router segment-routing srv6 state enabled")
	at := "router segment-routing srv6 locator " + name
	w.set("%s prefix %v", at, l.Prefix)
	w.set("%s block-length %d", at, l.BlockBits)
	w.set("%s node-length %d", at, l.NodeBits)
	w.set("%s func-length 0", at)
	for _, s := range w.d.SIDs(w.m) {
		at := "router segment-routing static srv6-sid " + s.Prefix.String()
		w.set("%s locator-name %s", at, name)
		w.set("%s behavior %s", at, s.Behavior)
		if s.Hop != nil {
			w.set("%s interface %s", at, w.d.Interface(s.Hop.Port))
		}
	}
}

func (w *work) routes() {
	for i := range w.m.Routes {
		r := &w.m.Routes[i]
		for _, h := range r.Hops {
			at, port := fmt.Sprintf("vrf default router static %v via", r.Prefix), w.d.Interface(h.Port)
			if !h.Address.IsValid() {
				w.set("%s %s type interface", at, port)
				continue
			}
			w.set("%s %v type ipv6-address", at, h.Address)
			w.set("%s %v interface %s", at, h.Address, port)
		}
	}
}

// qos maps DSCPs to switch priorities, and each switch priority to the egress queue of the same
// number.
func (w *work) qos() {
	if len(w.m.Classes) == 0 {
		return
	}
	w.set("qos mapping default-global trust l3")
	for _, c := range w.m.Classes {
		w.set("qos mapping default-global dscp %d switch-priority %d", c.DSCP, c.Queue)
	}
	for _, q := range w.m.Queues {
		w.set("qos egress-queue-mapping default-global switch-priority %d traffic-class %d",
			q.Queue, q.Queue)
		if q.ECN == nil {
			continue
		}
		at := fmt.Sprintf("qos congestion-control default-global traffic-class %d", q.Queue)
		w.set("%s min-threshold %d", at, q.ECN.MinOctets)
		w.set("%s max-threshold %d", at, q.ECN.MaxOctets)
		w.set("%s probability 100", at)
		w.set("%s ecn enabled", at)
	}
	last := w.m.Queues[len(w.m.Queues)-1].Queue
	w.set("qos egress-scheduler default-global traffic-class %d mode strict", last)
}

func (w *work) trimming() {
	t := w.m.Trimming
	if t == nil || !w.can(target.Trimming) {
		return
	}
	w.set("system forwarding packet-trim state enabled")
	w.set("system forwarding packet-trim size %d", t.Octets)
	own := target.FreeClass(w.m)
	w.set("system forwarding packet-trim switch-priority %d", own)
	w.set("qos egress-queue-mapping default-global switch-priority %d traffic-class %d", own, t.Queue)
	if t.DSCP == t.DSCPLastHop {
		w.set("system forwarding packet-trim remark dscp %d", t.DSCP)
	} else {
		w.set("system forwarding packet-trim remark dscp port-level")
		for _, faces := range []struct {
			name string
			dscp uint8
		}{{api.FacesFabric, t.DSCP}, {api.FacesHost, t.DSCPLastHop}} {
			w.set("qos remark %s-%s switch-priority %d dscp %d", name, faces.name, own, faces.dscp)
		}
	}
	for i := range w.m.Ports {
		port := w.d.Interface(w.m.Ports[i].Port)
		if t.DSCP != t.DSCPLastHop {
			w.set("interface %s qos remark profile %s-%s", port, name, w.m.Ports[i].Faces)
		}
		known := make(map[uint8]bool)
		for _, c := range w.m.Classes {
			if c.Trimming && !known[c.Queue] {
				known[c.Queue] = true
				w.set("interface %s packet-trim egress-eligibility traffic-class %d", port, c.Queue)
			}
		}
	}
}
