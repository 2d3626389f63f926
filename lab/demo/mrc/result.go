package mrc

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// Result has the results of the MRC demo.
type Result struct {
	Demo  string `json:"demo"`
	Mode  string `json:"mode"`
	Hosts int    `json:"hosts"`
	Bytes int    `json:"bytes"` // written, in all phases
	// Corrupt is the number of wrong octets in the receivers' memory.
	Corrupt int `json:"corrupt"`
	// Jain is Jain's index over the octets of the uplinks of a tier of a plane in the all-to-all,
	// the least of all tiers and planes; ECMPJain the same with one entropy value a queue pair.
	Jain     float64 `json:"jain"`
	ECMPJain float64 `json:"ecmpJain"`
	// Packets that switches trimmed, NACKs that senders got, and packets they sent again, in all
	// phases.
	Trimmed     uint64 `json:"trimmed"`
	NACKs       uint64 `json:"nacks"`
	Retransmits uint64 `json:"retransmits"`
	// DroppedUntrimmed are packets that could have been trimmed and were dropped, in the incast.
	DroppedUntrimmed uint64 `json:"droppedUntrimmed"`
	// LinkDownToDeniedMs is from the failure of the link to the last host's applying the denial; 0
	// in mode ecmp, where no one knows which values cross a link.
	LinkDownToDeniedMs float64 `json:"linkDownToDeniedMs"`
	// CapacityKept is the goodput from a second of network time after the last host heard about a
	// failure, as a fraction of the max-min fair shares over the remaining network: the least of all
	// failures; 0 when nothing failed.
	CapacityKept float64 `json:"capacityKept"`
	QPErrors     int     `json:"qpErrors"` // queue pairs in error, of both ends
	Seconds      float64 `json:"seconds"`  // of traffic

	untold string // what hosts should have been told and were not
}

// uplinks is what the uplinks of a stage carried in the all-to-all.
type uplinks struct {
	lab.Stage
	jain, ecmp float64
	fewest     uint64 // packets
}

// sum fills in the result from the phases and setbacks.
func (d *demo) sum() {
	r := &d.result
	for _, p := range d.phases {
		r.Bytes += p.octets
		r.Corrupt += p.corrupt
		r.QPErrors += p.failed
		r.Trimmed += p.classes.Trimmed
		r.NACKs += p.qp.NACKsReceived
		r.Retransmits += p.qp.RequestsResent
		r.Seconds += p.took.Seconds()
		if p.name == incastPhase {
			r.DroppedUntrimmed = p.classes.DroppedUntrimmed
		}
	}
	least := func(index *float64, of float64) {
		if of > 0 && (*index == 0 || of < *index) { // 0: they carried nothing
			*index = of
		}
	}
	for _, u := range d.spread {
		least(&r.Jain, u.jain)
		least(&r.ECMPJain, u.ecmp)
	}
	var untold []string
	for _, s := range d.losses {
		if len(s.loss.Links) > 0 {
			r.LinkDownToDeniedMs = float64(s.last.Microseconds()) / 1e3
		}
		if s.missed > 0 {
			untold = append(untold, fmt.Sprintf("%d hosts were not told within %v of the failure of %s",
				s.missed, tellTime, s.name))
		}
		least(&r.CapacityKept, s.kept)
	}
	r.untold = strings.Join(untold, "; ")
}

// check reports what is not as the demo promises.
func (r *Result) check() error {
	var wrong []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	say(r.Corrupt > 0, "%d octets are not what was written", r.Corrupt)
	say(r.QPErrors > 0, "%d queue pairs are in error", r.QPErrors)
	say(r.DroppedUntrimmed > 0, "%d packets of the incast were dropped and not trimmed",
		r.DroppedUntrimmed)
	say(r.untold != "", "%s", r.untold)
	if len(wrong) > 0 {
		return fmt.Errorf("demo: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// print shows the phases, the spread and the setbacks.
func (d *demo) print() {
	table := func(head string, rows func(row func(format string, args ...any))) {
		fmt.Fprintln(d.Out)
		t := tabwriter.NewWriter(d.Out, 2, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, head)
		rows(func(format string, args ...any) { fmt.Fprintf(t, format+"\t\n", args...) })
		t.Flush()
	}
	table("phase\tqueue pairs\tMiB\tseconds\tMb/s\tof the links\tmarked\ttrimmed\tNACKs\tsent again\t",
		func(row func(string, ...any)) {
			for _, p := range d.phases {
				row("%s\t%d\t%.0f\t%.2f\t%.0f\t%.0f %%\t%d\t%d\t%d\t%d", p.name, p.flows,
					float64(p.octets)/(1<<20), p.took.Seconds(),
					p.goodput()*8/1e6, 100*p.goodput()/p.capacity, p.classes.Marked, p.classes.Trimmed,
					p.qp.NACKsReceived, p.qp.RequestsResent)
			}
		})
	table("uplinks of the all-to-all\tpackets a link\tJain's index\tone entropy a queue pair\t",
		func(row func(string, ...any)) {
			for _, u := range d.spread {
				row("plane %d, T%d to T%d\t%d or more\t%.4f\t%.4f", u.Plane, u.Tier, u.Tier+1, u.fewest, u.jain,
					u.ecmp)
			}
		})
	if len(d.losses) == 0 {
		d.tell()
		return
	}
	table("lost\tEVs denied\thosts told\tthe last after\tcapacity kept\t",
		func(row func(string, ...any)) {
			for _, s := range d.losses {
				after := "-"
				if s.told > 0 {
					after = fmt.Sprintf("%.1f ms", float64(s.last.Microseconds())/1e3)
				}
				kept := "-"
				if s.kept > 0 {
					kept = fmt.Sprintf("%.0f %%", 100*s.kept)
				}
				denied := fmt.Sprint(s.denied)
				// nobody withdraws its links, because all its speakers are gone: hosts see their ports go
				if s.port > 0 {
					denied = fmt.Sprintf("all by port %d", s.port)
				}
				row("%s\t%s\t%d\t%s\t%s", s.name, denied, s.told, after, kept)
			}
		})
	d.tell()
}

// tell sums up.
func (d *demo) tell() {
	r := &d.result
	fmt.Fprintf(d.Out, "\n  %d MiB written in %.1f s, %d octets wrong, %d queue pairs in error.\n",
		r.Bytes>>20, r.Seconds, r.Corrupt, r.QPErrors)
	if d.slipped > r.seconds()/20 {
		fmt.Fprintf(d.Out, "  The machine had too much to do: the network's time ran at %.0f %% of the "+
			"real clock's.\n", 100*r.Seconds/(r.Seconds+d.slipped.Seconds()))
	}
}

func (r *Result) seconds() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// stages puts what two runs of the same traffic have carried side by side.
func stages(with, one map[lab.Stage]float64, fewest map[lab.Stage]uint64) (out []uplinks) {
	for stage, index := range with {
		out = append(out, uplinks{stage, index, one[stage], fewest[stage]})
	}
	slices.SortFunc(out, func(a, b uplinks) int {
		if a.Plane != b.Plane {
			return a.Plane - b.Plane
		}
		return a.Tier - b.Tier
	})
	return out
}
