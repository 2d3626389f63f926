package causes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// switchFindings returns findings for switches that are lost, refuse entries, or do not hold their
// entries yet.
func (v *view) switchFindings() (out []finding) {
	var settling, busy, lost, foreign []string
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
		out = append(out, switchConditions(s)...)
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
			f.Detail = sentence(reason)
			f.Means = "The controller cannot program it or see its ports. If it forwards still, its " +
				"traffic goes on as it was programmed last."
			at := ""
			if s.Address != "" {
				at = " at " + s.Address
			}
			if c := s.Conditions.Find(api.Contested); c != nil && c.Status {
				foreign = append(foreign, s.Name)
				f.because = []string{installation}
			}
			f.Todo = fmt.Sprintf("See that %s has power and runs, and that its P4Runtime server is "+
				"reached%s.", s.Name, at)
		case len(s.Errors) > 0:
			f.What = fmt.Sprintf("Switch %s refuses updates", s.Name)
			f.Detail = sentence(s.Errors[0])
			f.Means = "Resources that need these entries do not carry all of their traffic."
			f.Todo = "See the reason, and whether a table of the switch is full. The controller goes on " +
				"trying."
		default:
			continue
		}
		if !s.Connected {
			f.because = v.add(v.add(f.because, "node/"+s.Name), "node/"+s.Node)
		}
		out = append(out, f)
	}
	if len(foreign) > 0 {
		out = append(out, v.foreign(foreign))
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

// installation is the id of the finding "another installation programs switches".
const installation = "installation"

// foreign returns the finding for switches that another installation programs.
func (v *view) foreign(names []string) finding {
	f := finding{Finding: api.Finding{
		ID: installation, Kind: "switch", Object: "switches", Severity: api.SeverityFault,
		What: fmt.Sprintf("Another installation programs %s", Count(len(names), "switch")),
		Means: "The controllers here can neither program these switches nor see their ports. Traffic " +
			"goes on as the other installation programs them.",
		Todo: "End the controllers of the other installation, or take these switches out of its " +
			"configuration. Where these controllers are to have the switches at once, start them with " +
			"--take-over.",
	}}
	for i := range v.Switches {
		s := &v.Switches[i]
		if !slices.Contains(names, s.Name) {
			continue
		}
		f.at = append(f.at, onPart(api.PartSwitch, s.Name)...)
		if f.Detail == "" {
			f.Detail, f.Since = named(names)+". At "+s.Name+": "+s.Reason+".", s.Since
		}
		if s.Since.Before(f.Since) {
			f.Since = s.Since
		}
	}
	return f
}

// ofSwitches has meaning and remedy for conditions of switches; %s is the name of the switch.
var ofSwitches = map[api.ConditionType]api.Finding{
	api.Undescribed: {
		What: "The topology lacks something of switch %s",
		Means: "Groups, policies and tenants over it are refused, and links without a port carry " +
			"nothing.",
		Todo: "See what its BGP-LS speaker advertises, and that no route reflector in between drops " +
			"attributes of SRv6.",
	},
	api.Miscabled: {
		What:  "Switch %s is cabled otherwise than is known",
		Means: "Traffic may go where nobody expects it.",
		Todo:  "Compare the cables with the configuration and the topology.",
	},
	api.InventoryDiffers: {
		What:  "Switch %s has other ports than are configured",
		Means: "What the configuration says of these ports counts.",
		Todo:  "Correct the configuration, or the switch.",
	},
	api.OrphansKept: {
		What:  "Switch %s holds entries that nothing explains",
		Means: "They are kept, and may carry traffic that no resource of this controller asks for.",
		Todo:  "See the orphans: another controller may program the switch. Remove or keep them.",
	},
	api.Unsupported: {
		What:  "Switch %s cannot do all that it should",
		Means: "What it cannot do is left out there.",
		Todo:  "See its page for what that is.",
	},
}

// switchConditions returns the problems of a switch, from its conditions, that do not keep the
// controller from programming the switch.
func switchConditions(s *api.SwitchStatus) (out []finding) {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		f, ok := ofSwitches[c.Type]
		if !ok || !c.Status {
			continue
		}
		f.ID, f.Kind = strings.ToLower(string(c.Type))+"/"+s.Name, "switch"
		f.Object, f.Severity, f.Since = "switches/"+s.Name, api.SeverityWarning, c.LastTransition
		f.What, f.Detail = fmt.Sprintf(f.What, s.Name), sentence(c.Message)
		x := finding{Finding: f, at: onPart(api.PartSwitch, s.Name)}
		if !s.Connected {
			x.because = []string{"switch/" + s.Name}
		}
		out = append(out, x)
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
		Todo:  "Wait some seconds.",
	}}
	for i := range v.Peers {
		switch p := &v.Peers[i]; {
		case p.State != topology.PeerEstablished:
			f.because = append(f.because, "peer/"+p.Name)
			f.Todo = "Wait some seconds. If it stays, bring the BGP-LS peers up."
		case p.Kept != nil:
			f.because = append(f.because, "kept/"+p.Name)
		}
	}
	return f
}
