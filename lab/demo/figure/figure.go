// Package figure shows the figures and scenarios of the specifications that no other demo shows,
// one at a time and in virtual time, as "weft demo figure NAME" does.
package figure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// A Figure is a figure or scenario of a specification.
type Figure struct {
	Name  string // on the command line
	Where string // document and place
	Shows string // what it promises, in short
	run   func(ctx context.Context, s *sight) error
}

// All are the figures, in the order of the documents.
var All = []Figure{
	{"multicast-acks", "multicast draft, 5.3.1",
		"the source gets the least AckPSN of all branches", acks},
	{"multicast-naks", "multicast draft, 5.3.2",
		"the source gets the least ePSN of all branches", naks},
	{"multicast-cnps", "multicast draft, 5.3.3 and 9",
		"one CNP a window, and a limit for each branch", cnps},
	{"multicast-attacks", "multicast draft, 9",
		"what a forger sends changes nothing", attacks},
	{"mrc-figure1", "MRC, Figure 1",
		"the requestor sends again what SACKs show to be lost", requestorBitmap},
	{"mrc-figure2", "MRC, Figure 2",
		"the example of a SACK bitmap in 7.5.2.2", responderBitmap},
	{"mrc-figure3", "MRC, Figure 3",
		"the packets of table 7-6", packetStack},
	{"mrc-figure4", "MRC, Figure 4",
		"a queue pair in the scheduler", schedule},
	{"mrc-figure5", "MRC, Figure 5",
		"the states of entropy values", states},
	{"mrc-figure6", "MRC, Figure 6",
		"structured EVs over three tiers, with two shortcuts", structured},
	{"mrc-figure7", "MRC, Figure 7",
		"uSIDs over three tiers, with two shortcuts", segments},
	{"mrc-figure8", "MRC, Figure 8",
		"a NIC with four ports", ports},
	{"mrc-probes", "MRC, 7.4.7",
		"EV probes find the paths over a broken link", evProbes},
	{"pfc-figure2", "PFC draft, Figure 2",
		"a lossless tenant by either way of the WAN", figure2},
	{"pfc-scenario2", "PFC draft, section 3, scenario 2",
		"the first packet causes the tunnels", scenario2},
}

// Find returns the figure of a name.
func Find(name string) (Figure, bool) {
	for _, f := range All {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

// Result has what was seen. Broken promises are an error too.
type Result struct {
	Demo     string         `json:"demo"`
	Figure   string         `json:"figure"`
	Where    string         `json:"where"`
	Promises int            `json:"promises"`
	Broken   int            `json:"broken"`
	Seen     map[string]any `json:"seen"`
	Seconds  float64        `json:"seconds"` // wall time
}

// Run shows the figure, with a line to out for each promise. The error says which promises are
// broken.
func (f Figure) Run(ctx context.Context, out io.Writer) (*Result, error) {
	began := time.Now()
	s := &sight{out: out, result: Result{Demo: "figure", Figure: f.Name, Where: f.Where,
		Seen: map[string]any{}}}
	fmt.Fprintf(out, "%s: %s\n", f.Where, f.Shows)
	if err := f.run(ctx, s); err != nil {
		return nil, fmt.Errorf("demo: %s: %w", f.Name, err)
	}
	s.result.Seconds = time.Since(began).Seconds()
	return &s.result, errors.Join(s.broken...)
}

// programs has the program that the switches of all figures run.
var programs = new(p4rt.Cache)

// A sight gathers what is seen of a figure.
type sight struct {
	out    io.Writer
	result Result
	broken []error
}

// see notes a value, and whether it is what the figure promises.
func (s *sight) see(holds bool, key string, value any, promise string) {
	s.result.Promises++
	s.result.Seen[key] = value
	verdict := "holds "
	if !holds {
		verdict = "BROKEN"
		s.result.Broken++
		s.broken = append(s.broken, fmt.Errorf("demo: %s: %s is %v: want that %s", s.result.Figure, key,
			value, promise))
	}
	fmt.Fprintf(s.out, "  %s  %s: %s %v\n", verdict, promise, key, value)
}
