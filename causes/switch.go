package causes

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// switchFindings are switches that are lost, refuse what they should hold, or do not hold it yet.
func (v *view) switchFindings() (out []finding) {
	var settling, busy, lost []string
	pending := 0
	for i := range v.Switches {
		s := &v.Switches[i]
		if !s.Managed {
			continue
		}
		if s.Connected && s.Settling {
			settling = append(settling, s.Name)
		}
		if s.Connected && !s.Synced && len(s.Errors) == 0 {
			busy, pending = append(busy, s.Name), pending+s.Pending
		}
		f := finding{at: onPart(api.PartSwitch, s.Name), Finding: api.Finding{ID: "switch/" + s.Name,
			Kind: "switch", Object: "switches/" + s.Name, Since: s.Since, Severity: api.SeverityFault}}
		switch {
		case !s.Connected:
			lost = append(lost, f.ID)
			f.What = fmt.Sprintf("Switch %s is not connected", s.Name)
			reason := s.Reason
			if reason == "" && len(s.Errors) > 0 {
				reason = s.Errors[0]
			}
			f.Detail = Plain(reason)
			f.Means = "The controller cannot program it or see its ports. If it forwards still, its " +
				"traffic goes on as it was programmed last."
			at := ""
			if s.Address != "" {
				at = " at " + s.Address
			}
			f.Todo = fmt.Sprintf("See that %s has power and runs, and that its P4Runtime server is "+
				"reached%s.", s.Name, at)
		case len(s.Errors) > 0:
			f.What = fmt.Sprintf("Switch %s refuses updates", s.Name)
			f.Detail = Plain(s.Errors[0])
			f.Means = "Resources that need these entries do not carry all of their traffic."
			f.Todo = "See the reason, and whether a table of the switch is full. The controller goes on " +
				"trying."
		default:
			continue
		}
		out = append(out, f)
	}
	if len(settling) > 0 {
		out = append([]finding{v.settling(settling)}, out...)
	}
	if len(busy) > 0 {
		f := finding{Finding: api.Finding{
			ID: "programming", Kind: "switch", Object: "switches", Severity: api.SeverityWarning,
			What:   "Switches are being programmed",
			Detail: fmt.Sprintf("%s: %s pending.", named(busy), updates(pending)),
			Means:  "Traffic of what changed goes on by the former entries.",
			Todo:   "Wait: it takes some seconds.",
		}}
		// What fails has the controller program others anew.
		f.because = lost
		for i := range v.links {
			f.because = append(f.because, v.links[i].ID)
		}
		out = append(out, f)
	}
	return out
}

func updates(n int) string {
	if n == 1 {
		return "1 update is"
	}
	return fmt.Sprintf("%d updates are", n)
}

// settling is the finding of switches that keep old routes.
func (v *view) settling(names []string) finding {
	f := finding{Finding: api.Finding{
		ID: "settling", Kind: "switch", Object: "switches", Severity: api.SeverityWarning,
		What: "Switches keep old routes",
		Detail: named(names) + ": the topology may be incomplete, or was until just " +
			"now.",
		Means: "Traffic goes on by the routes that there were.",
		Todo:  "Wait some seconds. If it stays, bring the BGP-LS peers up.",
	}}
	for i := range v.Peers {
		if v.Peers[i].State != topology.PeerEstablished {
			f.because = append(f.because, "peer/"+v.Peers[i].Name)
		}
	}
	return f
}
