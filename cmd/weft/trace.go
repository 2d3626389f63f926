package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/replay"
	"github.com/weft-sdn/weft/dataplane/setup"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs"
)

// tracing is the flags of "weft trace".
type tracing struct {
	env       environment
	files     setup.Files
	inputs    []string
	packets   []string
	number    int
	cpu, drop uint32

	address string
	tls     certs.Client
	port    int64
	count   int
	wait    time.Duration

	options trace.Options
}

func newTrace(env environment) *cobra.Command {
	t := &tracing{env: env}
	c := &cobra.Command{
		Use:   "trace --program X.json {--in PORT=FILE.pcap | --packet PORT=HEX} | --switch HOST:PORT",
		Short: "Show each step of packets through an embedded P4 switch",
		Long: `Shows each step of packets and of all their copies: parser, tables with key and
entry, actions with their arguments, branches, state read and written, queues,
transmitted packets, and where and why a packet is dropped.

It starts a switch from files and feeds it packets, as weft replay does, without
writing captures:

  weft trace --program fabric.json --p4info fabric.p4info.txtpb \
    --entries writes.txtpb --in 1=a.pcap --number 3

or it traces the next packets of a running switch (weft switch --http-addr), which
forwards them as usual:

  weft trace --switch 127.0.0.1:9090 --port 1 --count 5

docs/dataplane.md explains the output.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	f := c.Flags()
	registerSetup(c, &t.files)
	f.StringArrayVar(&t.inputs, "in", nil,
		"PORT=FILE: capture of the packets that arrive on a port; may be repeated")
	f.StringArrayVar(&t.packets, "packet", nil,
		"PORT=HEX: a frame that arrives on a port, after the packets before it have left; may be repeated")
	f.IntVar(&t.number, "number", 0,
		"show only the packet with this number, from 1 in the order of arrival")
	f.Uint32Var(&t.cpu, "cpu-port", p4rt.DefaultCPUPort, "port of packet-ins and packet-outs")
	f.Uint32Var(&t.drop, "drop-port", p4rt.DefaultDropPort, "egress port that drops")
	f.StringVar(&t.address, "switch", "",
		"HOST:PORT of a running switch's HTTP listener; of a lab's, HOST:PORT/NAME")
	f.StringVar(&t.tls.CAFile, "ca", "",
		"with --switch: PEM file of the authorities that sign the switch's certificate")
	f.StringVar(&t.tls.CertFile, "cert", "", "with --switch: PEM file of the client's certificate")
	f.StringVar(&t.tls.KeyFile, "key", "", "with --switch: PEM file of the client's private key")
	f.StringVar(&t.tls.ServerName, "server-name", "",
		"with --switch: name in the switch's certificate (default the host)")
	f.Int64Var(&t.port, "port", -1,
		"with --switch: only packets that arrive on this port (default any)")
	f.IntVar(&t.count, "count", 0,
		"with --switch: end after this many packets (default when interrupted)")
	f.DurationVar(&t.wait, "wait", 0,
		"with --switch: longest wait for a switch that does not answer yet")
	f.BoolVar(&t.options.JSON, "json", false, "print one JSON object a line, always complete")
	f.CountVarP(&t.options.Verbose, "verbose", "v",
		"branches not taken, fields of headers, every assignment; -vv: the compiler's temporaries too")
	c.AddCommand(newJourney(env))
	return c
}

// newJourney makes "weft trace journey", which follows a packet from switch to switch.
func newJourney(env environment) *cobra.Command {
	v := &viewer{env: env}
	var from, to, group string
	var wait time.Duration
	var options trace.Options
	c := &cobra.Command{
		Use:   "journey {--from HOST [--to HOST] | --group NAME}",
		Short: "Follow one packet, and every copy of it, from switch to switch",
		Long: `Has the controller catch the next packet of a host, or of the source of a multicast
group, and shows what each switch did with it, in the order of its way:

  weft trace journey --from S1 --to R5
  weft trace journey --group demo --json

The switches must give traces (switches[].trace); those of a lab do.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" && group == "" {
				return usagef("trace journey: want --from or --group")
			}
			query := url.Values{"wait": {wait.String()}}
			for name, value := range map[string]string{"from": from, "to": to, "group": group} {
				if value != "" {
					query.Set(name, value)
				}
			}
			conn, err := v.conn.open(env)
			if err != nil {
				return err
			}
			defer conn.Close()
			a, err := conn.Get(cmd.Context(), client.Path("v1", "journeys"), query)
			if err != nil {
				return err
			}
			if options.JSON {
				_, err := fmt.Fprintf(env.stdout, "%s\n", a.Body)
				return err
			}
			var j api.Journey
			if err := a.Decode(&j); err != nil {
				return err
			}
			return writeJourney(env.stdout, &j, options)
		},
	}
	v.conn.register(c)
	f := c.Flags()
	f.StringVar(&from, "from", "", "host that sends the packet (default the source of --group)")
	f.StringVar(&to, "to", "", "host that it must reach (default any)")
	f.StringVar(&group, "group", "", "multicast group that it is written to")
	f.DurationVar(&wait, "wait", 10*time.Second, "how long to wait for it, at most 25s")
	f.BoolVar(&options.JSON, "json", false, "print the journey as JSON, always complete")
	f.CountVarP(&options.Verbose, "verbose", "v", "as of weft trace")
	return c
}

// writeJourney writes what each switch did with a packet.
func writeJourney(w io.Writer, j *api.Journey, options trace.Options) error {
	for i := range j.Hops {
		h := &j.Hops[i]
		var r trace.Record
		if err := json.Unmarshal(h.Record, &r); err != nil {
			return fmt.Errorf("trace of switch %s: %w", h.Switch, err)
		}
		before := "host " + inLine(j.From)
		if h.Before >= 0 && h.Before < i {
			before = j.Hops[h.Before].Switch
		}
		if _, err := fmt.Fprintf(w, "== %s, port %d, from %s\n", inLine(h.Switch), h.Port,
			inLine(before)); err != nil {
			return err
		}
		if err := trace.Write(w, &r, options); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	switch {
	case len(j.Hops) == 0:
		_, err := fmt.Fprintln(w, "No packet came in time.")
		return err
	case !j.Complete:
		_, err := fmt.Fprintln(w, "The time was over before each copy had an end.")
		return err
	}
	_, err := fmt.Fprintf(w, "Delivered to %s.\n", inLine(cmp.Or(strings.Join(j.Delivered, ", "),
		"no host")))
	return err
}

func (t *tracing) run(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	if t.address != "" {
		for _, name := range []string{"program", "p4info", "entries", "in", "packet", "number",
			"cpu-port", "drop-port"} {
			if set(name) {
				return usagef("trace: --%s and --switch: want one of them", name)
			}
		}
		return t.live(cmd.Context())
	}
	switch {
	case set("port") || set("count") || set("wait") || t.tls != (certs.Client{}):
		return usagef("trace: --port, --count, --wait, --ca, --cert, --key and --server-name go with " +
			"--switch")
	case t.files.Program == "":
		return usagef("trace: want --program, or --switch")
	case len(t.inputs) > 0 == (len(t.packets) > 0):
		return usagef("trace: want --in or --packet")
	case t.number < 0 || t.number == 0 && set("number"):
		return usagef("--number is %d: want 1 or more", t.number)
	}
	return t.offline(cmd.Context())
}

// offline traces packets in a switch of its own.
func (t *tracing) offline(ctx context.Context) error {
	var inputs []replay.Input
	var packets []arrival
	var err error
	if len(t.inputs) > 0 {
		inputs, err = readInputs("trace", t.inputs, t.drop)
	} else {
		packets, err = arrivals(t.packets)
	}
	if err != nil {
		return err
	}
	device, err := startDevice(t.files,
		p4rt.Config{Switch: dataplane.Config{CPUPort: t.cpu, DropPort: t.drop}})
	if err != nil {
		return err
	}
	sw := device.Switch()
	told := traces{out: t.env.stdout, options: t.options}
	tracer := told.tracer()
	seen := 0
	tracer.Select = func(uint32, []byte) bool {
		seen++
		return t.number == 0 || seen == t.number
	}
	sw.SetTracer(tracer)
	if len(packets) > 0 {
		feed(sw, packets)
	} else {
		run, err := replay.Open(replay.Config{Inputs: inputs, Discard: true, CPUPort: t.cpu})
		if err != nil {
			return unusable(err)
		}
		_, err = run.Run(ctx, sw)
		if err := errors.Join(err, run.Close()); err != nil {
			return unusable(err)
		}
	}
	tracer.Forget() // what circulates or waits still
	switch {
	case told.err != nil:
		return told.err
	case seen < t.number:
		return fmt.Errorf("there is no packet %d: %d arrived", t.number, seen)
	}
	return nil
}

// arrival is a frame of --packet.
type arrival struct {
	port  uint32
	frame []byte
}

func arrivals(texts []string) ([]arrival, error) {
	var all []arrival
	for _, text := range texts {
		number, digits, ok := strings.Cut(text, "=")
		port, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || port >= 1<<9 {
			return nil, usagef("--packet is %q: want PORT=HEX with a port of 0 to 511", text)
		}
		frame, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(digits))
		if err != nil {
			return nil, usagef("--packet of port %d: %w", port, err)
		}
		all = append(all, arrival{uint32(port), frame})
	}
	return all, nil
}

// feedFor is how long a packet of --packet may take: in queues, and going round.
const (
	feedFor      = time.Second
	feedAgainFor = time.Millisecond
)

// feed gives packets to a switch, each after the end or the time limit of the packet before.
func feed(sw *dataplane.Switch, packets []arrival) {
	var now time.Duration
	for _, p := range packets {
		began := now
		sw.Receive(now, p.port, p.frame)
		next, pending := sw.Advance(now)
		for pending && next <= began+feedFor {
			if _, again := sw.Waiting(); again > 0 && next > began+feedAgainFor {
				break
			}
			now = next
			next, pending = sw.Advance(now)
		}
		now += time.Microsecond
	}
}

// live shows the traces of a running switch.
func (t *tracing) live(ctx context.Context) error {
	want := trace.Filter{Count: t.count}
	switch {
	case t.port < -1 || t.port >= 1<<32:
		return usagef("--port is %d: want the number of a port", t.port)
	case t.count < 0:
		return usagef("--count is %d: want 1 or more", t.count)
	case t.port >= 0:
		p := uint32(t.port)
		want.Port = &p
	}
	told := traces{out: t.env.stdout, options: t.options}
	url, client := "http://"+t.address, (*http.Client)(nil)
	if t.tls != (certs.Client{}) {
		t.tls.Enabled, t.tls.Kinds = true, certs.KindSwitch
		url, client = "https://"+t.address, run.SecureClient(t.tls)
	}
	err := whileUnready(ctx, t.env, t.wait, func() error {
		return stream.Receive(ctx, client, url, want, func(i trace.Item) error {
			if i.Record != nil {
				return told.take(i.Record)
			}
			if t.options.JSON {
				_, err := fmt.Fprintf(t.env.stdout, "{\"lost\":%d}\n", i.Lost)
				return err
			}
			fmt.Fprintf(t.env.stderr, "weft: too slow: %d traces went by\n", i.Lost)
			return nil
		})
	})
	if interrupted(ctx, err) {
		return nil // what a trace without --count is ended by
	}
	return err
}

// traces writes records, text with an empty line between two.
type traces struct {
	out     io.Writer
	options trace.Options
	some    bool
	err     error // the first; nothing is written after it
}

// tracer returns what puts records together and writes them.
func (t *traces) tracer() *trace.Assembler {
	return trace.NewAssembler(func(r *trace.Record) {
		if t.err == nil {
			t.err = t.take(r)
		}
	})
}

func (t *traces) take(r *trace.Record) error {
	if t.some && !t.options.JSON {
		if _, err := fmt.Fprintln(t.out); err != nil {
			return err
		}
	}
	t.some = true
	return trace.Write(t.out, r, t.options)
}
