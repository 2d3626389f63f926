package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/lab"
)

// defaultLab is where "weft lab" serves its API for faults by default.
const defaultLab = "http://127.0.0.1:8081"

// faultHint returns a command that shows all faults, for a lab at a URL.
func faultHint(n *lab.Network, url string) string {
	hint := "weft lab get faults"
	if len(n.Links) > 0 {
		hint = fmt.Sprintf("weft lab fault link %s %s --loss 1%%", n.Links[0].A, n.Links[0].B)
	}
	if url != defaultLab {
		hint += " --lab " + url
	}
	return hint
}

// faulter asks a running lab.
type faulter struct {
	env     environment
	url     string
	timeout time.Duration
	output  format
}

// newFaulter returns a faulter with the flags of a command.
func newFaulter(env environment, c *cobra.Command) *faulter {
	f := &faulter{env: env}
	c.PersistentFlags().StringVar(&f.url, "lab", "",
		"URL of the lab's API for faults (environment WEFT_LAB; default "+defaultLab+")")
	c.PersistentFlags().DurationVar(&f.timeout, "request-timeout", 30*time.Second,
		"longest wait for an answer; 0 is for ever")
	return f
}

// do makes a request and decodes the answer into out.
func (f *faulter) do(ctx context.Context, method, path string, body, out any) (json.RawMessage,
	error) {
	if f.timeout < 0 {
		return nil, usagef("--request-timeout is %v: want 0 or more", f.timeout)
	}
	rest, err := client.New(client.Config{Server: cmp.Or(f.url, f.env.getenv("WEFT_LAB"), defaultLab),
		Timeout: f.timeout, UserAgent: "weft/" + buildVersion()})
	if err != nil {
		return nil, fmt.Errorf("--lab: %w", err)
	}
	defer rest.Close()
	a, err := rest.Do(ctx, method, path, nil, body)
	if err != nil {
		return nil, err
	}
	return a.Body, a.Decode(out)
}

// nodes completes the names of switches and hosts; peers those with a link to the one before.
func (f *faulter) nodes(ctx context.Context, _ []string) (names []string) {
	for _, s := range f.links(ctx) {
		if !slices.Contains(names, s.From) {
			names = append(names, s.From)
		}
	}
	return names
}

func (f *faulter) peers(ctx context.Context, args []string) (names []string) {
	for _, s := range f.links(ctx) {
		if s.From == args[len(args)-1] {
			names = append(names, s.To)
		}
	}
	return names
}

func (f *faulter) links(ctx context.Context) (all []lab.LinkState) {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	_, _ = f.do(ctx, http.MethodGet, lab.LinksPath, nil, &all) // without an answer there are no names
	return all
}

// A probability is a flag such as 1% or 0.01.
type probability struct{ value *float64 }

func (p *probability) String() string {
	if p.value == nil {
		return ""
	}
	return percentText(*p.value)
}

func (p *probability) Set(text string) error {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		v /= 100
	}
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return fmt.Errorf("want 0%% to 100%%, or 0 to 1")
	}
	p.value = &v
	return nil
}

func (p *probability) Type() string { return "percent" }

// percentText is a probability for people.
func percentText(p float64) string {
	return strconv.FormatFloat(math.Round(p*1e8)/1e6, 'f', -1, 64) + "%"
}

func newLabFault(env environment) *cobra.Command {
	c := family("fault", "Make a link of a running lab fail, or lose, delay, corrupt or reorder frames", `Changes what a link of a running "weft lab" does to frames, in both directions or in one.
What one command sets stays until another one changes or clears it.`)
	f := newFaulter(env, c)
	c.AddCommand(f.link(), f.clear())
	return c
}

// linkFlags select a direction or one of several links.
type linkFlags struct {
	direction string
	port      uint32
}

func (l *linkFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&l.direction, "direction", string(lab.DirectionBoth),
		"both, a-b (from the first node to the second) or b-a")
	c.Flags().Uint32Var(&l.port, "port", 0,
		"port of the link at the first node, where several links lead to the second")
	flagValues(c, "direction", values(string(lab.DirectionBoth), string(lab.DirectionAB),
		string(lab.DirectionBA)))
}

// path returns the path of the faults of a link.
func (l *linkFlags) path(a, b string) string {
	q := url.Values{"direction": {l.direction}}
	if l.port != 0 {
		q.Set("port", strconv.FormatUint(uint64(l.port), 10))
	}
	return lab.LinkFaultsPath(a, b) + "?" + q.Encode()
}

func (f *faulter) link() *cobra.Command {
	var at linkFlags
	var down, up bool
	var loss, reorder, duplicate, corrupt probability
	var delay, jitter time.Duration
	c := &cobra.Command{
		Use: "link A B", Short: "Change the faults of a link",
		Long: `Changes the faults of the link between two nodes. Nodes at its ends notice --down: ports go
down, and the switches withdraw the link by BGP-LS. They do not notice anything else: to lose all
frames in silence, use --loss 100%.`,
		Example: `  weft lab fault link P1-T0-1 P1-T1-1 --down
  weft lab fault link P1-T0-1 P1-T1-1 --loss 1% --direction a-b
  weft lab fault link N6 N4 --delay 5ms --jitter 1ms
  weft lab fault link N6 N4 --corrupt 0.1% --reorder 5%`,
		Args: arguments(2, 2), ValidArgsFunction: inTurn(f.nodes, f.peers),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		change := lab.FaultChange{Loss: loss.value, Reorder: reorder.value, Duplicate: duplicate.value,
			Corrupt: corrupt.value}
		set := cmd.Flags().Changed
		if down && up {
			return usagef("--down and --up: want one of them")
		}
		if down || up {
			change.Down = &down
		}
		for _, d := range []struct {
			flag  string
			value time.Duration
			to    **api.Duration
		}{{"delay", delay, &change.Delay}, {"jitter", jitter, &change.Jitter}} {
			if !set(d.flag) {
				continue
			}
			if d.value < 0 || d.value > lab.MaxFaultDelay {
				return usagef("--%s is %v: want 0s to %v", d.flag, d.value, lab.MaxFaultDelay)
			}
			v := api.Duration(d.value)
			*d.to = &v
		}
		if change == (lab.FaultChange{}) {
			return usagef("lab fault link: want at least one of --down, --up, --loss, --delay, --jitter, " +
				"--reorder, --duplicate and --corrupt")
		}
		return f.change(cmd.Context(), http.MethodPatch, at.path(args[0], args[1]), change)
	}
	flags := c.Flags()
	flags.BoolVar(&down, "down", false, "cut it: nothing passes, and the ends see it")
	flags.BoolVar(&up, "up", false, "end --down")
	flags.Var(&loss, "loss", "share of lost frames, such as 1% or 0.01")
	flags.DurationVar(&delay, "delay", 0, "added to the delay of the link")
	flags.DurationVar(&jitter, "jitter", 0,
		"most that is added to that at random; frames stay in order")
	flags.Var(&reorder, "reorder",
		"frames that others may overtake, by the jitter (default of that: the time of ten frames of "+
			"4,096 octets, at least 1ms)")
	flags.Var(&duplicate, "duplicate", "frames that arrive twice")
	flags.Var(&corrupt, "corrupt", "frames with one bit flipped behind the Ethernet header")
	at.register(c)
	return c
}

func (f *faulter) clear() *cobra.Command {
	var at linkFlags
	c := &cobra.Command{
		Use: "clear [A B]", Short: "End all faults of a link, or everything",
		Long: `Ends all faults of the link between two nodes. Without nodes it ends the faults of all links,
and revives everything that was killed.`,
		Args: arguments(0, 2), ValidArgsFunction: inTurn(f.nodes, f.peers),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		path := lab.FaultsPath
		switch len(args) {
		case 1:
			return usagef("usage: %s", cmd.UseLine())
		case 2:
			path = at.path(args[0], args[1])
		default:
			if cmd.Flags().Changed("direction") || cmd.Flags().Changed("port") {
				return usagef("lab fault clear: --direction and --port want the two nodes of a link")
			}
		}
		return f.change(cmd.Context(), http.MethodDelete, path, nil)
	}
	at.register(c)
	return c
}

// change makes a request, and shows what has failed then.
func (f *faulter) change(ctx context.Context, method, path string, body any) error {
	var report lab.FaultReport
	if _, err := f.do(ctx, method, path, body, &report); err != nil {
		return err
	}
	return writeTable(f.env.stdout, faults(&report))
}

func newLabKill(env environment) *cobra.Command {
	return newFaulterOfParts(env, "kill", "Kill a switch, a host or a BGP session of a running lab",
		`Kills something of a running "weft lab". A switch forgets everything, and its links go down. A
host sends and takes nothing, while its links stay up. A switch without its BGP-LS session goes on
forwarding. What is dead stays dead.`, http.MethodPut)
}

func newLabRevive(env environment) *cobra.Command {
	return newFaulterOfParts(env, "revive", "Revive what was killed",
		`Revives something of a running "weft lab". A switch comes back empty, at its addresses, and the
controller programs it. A host goes on with the queue pairs and the memory that it had. A BGP-LS
session is established again. What is alive stays so.`, http.MethodDelete)
}

func newFaulterOfParts(env environment, use, short, long, method string) *cobra.Command {
	c := family(use, short, long)
	f := newFaulter(env, c)
	for _, k := range []struct {
		kind  lab.PartKind
		short string
	}{
		{lab.PartSwitch, "Switches"}, {lab.PartHost, "Hosts"},
		{lab.PartBGP, "BGP-LS sessions, by the names of their switches"},
	} {
		c.AddCommand(&cobra.Command{
			Use: string(k.kind) + " NAME...", Short: k.short, Args: arguments(1, -1),
			ValidArgsFunction: anyNumber(f.nodes),
			RunE: func(cmd *cobra.Command, args []string) error {
				var report lab.FaultReport
				for _, name := range args {
					report = lab.FaultReport{}
					if _, err := f.do(cmd.Context(), method, lab.PartPath(lab.Part{Kind: k.kind, Name: name}), nil,
						&report); err != nil {
						return err
					}
				}
				return writeTable(f.env.stdout, faults(&report))
			},
		})
	}
	return c
}

func newLabGet(env environment) *cobra.Command {
	c := family("get", "Show the links of a running lab and what has failed",
		`Shows the links of a running "weft lab" with what became of the frames on them, and what has
failed by "weft lab fault" and "weft lab kill".`)
	f := newFaulter(env, c)
	f.output.register(c)
	c.AddCommand(&cobra.Command{
		Use: "faults", Short: "Links with faults, and what is dead", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var report lab.FaultReport
			document, err := f.do(cmd.Context(), http.MethodGet, lab.FaultsPath, nil, &report)
			if err != nil {
				return err
			}
			return f.output.write(f.env.stdout, document, faults(&report))
		},
	}, &cobra.Command{
		Use: "links", Short: "Both directions of all links", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var links []lab.LinkState
			document, err := f.do(cmd.Context(), http.MethodGet, lab.LinksPath, nil, &links)
			if err != nil {
				return err
			}
			return f.output.write(f.env.stdout, document, sure(func(w *bytes.Buffer) {
				directionTable(w, links)
			}))
		},
	})
	return c
}

// faults is the table of what has failed.
func faults(r *lab.FaultReport) func(w *bytes.Buffer) error {
	return sure(func(w *bytes.Buffer) { faultTable(w, r) })
}

// faultTable shows what has failed.
func faultTable(w *bytes.Buffer, r *lab.FaultReport) {
	if len(r.Links)+len(r.Dead) == 0 {
		fmt.Fprintln(w, "no faults")
	}
	if len(r.Dead) > 0 {
		g := newGrid("DEAD", "NAME")
		for _, p := range r.Dead {
			g.row(p.Kind, p.Name)
		}
		g.writeTo(w)
	}
	if len(r.Links) == 0 {
		return
	}
	if len(r.Dead) > 0 {
		fmt.Fprintln(w)
	}
	directionTable(w, r.Links)
}

// directionTable shows directions of links.
func directionTable(w *bytes.Buffer, links []lab.LinkState) {
	g := newGrid("FROM", "PORT", "TO", "STATE", "FAULTS", "SENT", "LOST", "REORDERED", "DUPLICATED",
		"CORRUPTED")
	for i := range links {
		s := &links[i]
		state := "up"
		if !s.Up {
			state = "down"
		}
		g.row(s.From, s.FromPort, s.To, state, faultsOf(s), s.Sent, s.Lost, s.Reordered, s.Duplicated,
			s.Corrupted)
	}
	g.writeTo(w)
}

// faultsOf are the faults of a direction in the words of the flags.
func faultsOf(s *lab.LinkState) string {
	var all []string
	if s.Down {
		all = append(all, "down")
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"loss", s.Loss}, {"reorder", s.Reorder}, {"duplicate", s.Duplicate}, {"corrupt", s.Corrupt}} {
		if p.value > 0 {
			all = append(all, p.name+" "+percentText(p.value))
		}
	}
	for _, d := range []struct {
		name  string
		value api.Duration
	}{{"delay", s.Delay}, {"jitter", s.Jitter}} {
		if d.value > 0 {
			all = append(all, d.name+" "+d.value.String())
		}
	}
	return strings.Join(all, ", ")
}
