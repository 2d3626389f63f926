package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func switchPortTable(w *bytes.Buffer, ports []api.Port) {
	g := newGrid("NAME", "INTERFACE", "OPER", "SPEED", "MTU", "ENABLED", "SPEC", "NOTE")
	for i := range ports {
		p := &ports[i]
		st := &p.Status
		var mtu, enabled, spec any = "", "", ""
		if st.Config.MTU != nil {
			mtu = *st.Config.MTU
		}
		if st.Config.Enabled != nil {
			enabled = *st.Config.Enabled
		}
		var notes []string
		if p.Version > 0 {
			spec = "written"
			if st.Conditions.Is(api.Programmed) {
				spec = "in force"
			} else if c := st.Conditions.Find(api.Programmed); c != nil && c.Message != "" {
				notes = append(notes, c.Message)
			}
			if st.Drift != nil {
				notes = append(notes, "drifted at "+clockTime(st.Drift.Time)+": "+st.Drift.Message)
			}
		}
		if d := st.Damping; d != nil {
			note := fmt.Sprintf("%d failures", d.Failures)
			switch {
			case d.Out && !d.Until.IsZero():
				note += ", link not used until " + clockTime(d.Until)
			case d.Out:
				note += ", link not used"
			}
			notes = append(notes, note)
		}
		g.row(p.Name, st.Interface, st.Oper, speedText(st.Speed), mtu, enabled, spec,
			strings.Join(notes, "; "))
	}
	g.writeTo(w)
}

// speedText returns a speed as text, "" for an unknown speed.
func speedText(bits uint64) string {
	if bits == 0 {
		return ""
	}
	return bitRate(bits)
}

// gnmiDetail shows what a switch answers by gNMI.
func gnmiDetail(w *bytes.Buffer, s *api.SwitchGNMI) {
	var head []string
	for _, part := range []struct{ name, text string }{{"dialect", s.Dialect}, {"gNMI", s.Version},
		{"encoding", s.Encoding}} {
		if part.text != "" {
			head = append(head, part.name+" "+part.text)
		}
	}
	if len(head) == 0 {
		head = []string{"the switch has not been asked"}
	}
	if s.Ignored > 0 {
		head = append(head, fmt.Sprintf("%d values ignored", s.Ignored))
	}
	fmt.Fprintln(w, inLine(strings.Join(head, ", ")))
	if s.Error != "" {
		fmt.Fprintln(w, "error:", inLine(s.Error))
	}
	if len(s.Paths) > 0 {
		fmt.Fprintln(w)
		g := newGrid("STREAM", "MODE", "PATH", "NOTE")
		for _, p := range s.Paths {
			g.row(p.Stream, p.Mode, p.Path, p.Error)
		}
		g.writeTo(w)
	}
	if len(s.Models) > 0 {
		fmt.Fprintln(w)
		g := newGrid("MODEL", "VERSION", "ORGANIZATION")
		for _, m := range s.Models {
			g.row(m.Name, m.Version, m.Organization)
		}
		g.writeTo(w)
	}
	if len(s.Differs) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := newGrid("DIFFERS", "KNOWN", "SWITCH")
	for _, d := range s.Differs {
		g.row(d.Field, d.Want, d.Got)
	}
	g.writeTo(w)
}
