package main

import (
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
)

// foreignOption is an option of simple_switch_grpc that this switch does not use.
type foreignOption struct {
	name    string
	flag    bool // it has no value
	refused bool // or else taken with a warning
	why     string
}

// foreign lists options of BMv2. The switch accepts options that scripts pass as a matter of
// course, and refuses options without which it would not do the requested work.
var foreign = []foreignOption{
	{name: "thrift-port", why: "connections are accepted and closed: there is no Thrift server, use " +
		"P4Runtime, and --queue-depth and --queue-rate"},
	{name: "nanolog", why: "there is no nanomsg log, see weft replay --trace"},
	{name: "notifications-addr",
		why: "there are no nanomsg notifications, use P4Runtime digests and idle timeouts"},
	{name: "debugger", flag: true, why: "there is no debugger, see weft replay --trace"},
	{name: "debugger-addr", why: "there is no debugger, see weft replay --trace"},
	{name: "disable-swap", flag: true, why: "a controller may always replace the program"},
	{name: "max-mc-groups", why: "multicast groups are not limited"},
	{name: "max-l1-entries", why: "replicas are not limited"},
	{name: "max-l2-entries", why: "replicas are not limited"},
	{name: "log-flush", flag: true, why: "the log is never held back"},
	{name: "use-files", refused: true, why: "weft replay reads and writes pcap files"},
	{name: "packet-in", refused: true, why: "there are no nanomsg ports, use --interface"},
	{name: "dp-grpc-server-addr", refused: true, why: "there are no gRPC ports, use --interface"},
	{name: "restore-state", refused: true, why: "state is not saved, a controller writes it again"},
	{name: "log-file-max-size", refused: true, why: "log files are not rotated"},
	{name: "log-file-max-files", refused: true, why: "log files are not rotated"},
	{name: "json-version", flag: true, refused: true, why: "docs/dataplane.md says what is supported"},
}

// foreignHelp names the ignored and the refused options of simple_switch_grpc.
func foreignHelp() string {
	var ignored, refused []string
	for _, o := range foreign {
		if o.refused {
			refused = append(refused, "--"+o.name+": "+o.why)
		} else {
			ignored = append(ignored, "--"+o.name+": "+o.why)
		}
	}
	return "Options of simple_switch_grpc without effect:\n  " + strings.Join(ignored, "\n  ") +
		"\nRefused:\n  " + strings.Join(refused, "\n  ")
}

// registerForeign adds the options to those of a command, where help does not
// show them.
func registerForeign(f *pflag.FlagSet) {
	for _, o := range foreign {
		if o.flag {
			f.Bool(o.name, false, o.why)
		} else {
			f.String(o.name, "", o.why)
		}
		_ = f.MarkHidden(o.name) // it is there
	}
}

// checkForeign refuses options, and warns of those that do nothing.
func checkForeign(f *pflag.FlagSet, log *slog.Logger) error {
	for _, o := range foreign {
		switch {
		case !f.Changed(o.name):
		case o.refused:
			return usagef("switch: --%s of simple_switch_grpc is not supported: %s", o.name, o.why)
		default:
			log.Warn("option of simple_switch_grpc without effect", "option", "--"+o.name, "reason", o.why)
		}
	}
	return nil
}

// switchLog is where the switch's log goes, as simple_switch_grpc's options say.
type switchLog struct {
	logging
	console bool
	file    string
}

func (l *switchLog) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&l.level, "log-level", "L", "info",
		"least log level: trace, debug, info, warn, error or off")
	f.StringVar(&l.format, "log-format", "text", "log format: text or json")
	f.BoolVar(&l.console, "log-console", false, "log to standard output instead of standard error")
	f.StringVar(&l.file, "log-file", "", "file to append the log to, instead of standard error")
}

// open opens the log; closeLog closes the file of the log, if any.
func (l *switchLog) open(env environment) (log *slog.Logger, closeLog func() error, err error) {
	closeLog = func() error { return nil }
	switch l.level {
	case "trace":
		l.level = "debug"
	case "off":
		l.level = "error+1000"
	case "debug", "info", "warn", "error":
	default:
		return nil, nil, usagef("--log-level is %q: want trace, debug, info, warn, error or off", l.level)
	}
	w := env.stderr
	switch {
	case l.console && l.file != "":
		return nil, nil, usagef("switch: --log-console and --log-file: want one of them")
	case l.console:
		w = env.stdout
	case l.file != "":
		file, err := os.OpenFile(l.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, usagef("--log-file: %w", err)
		}
		w, closeLog = io.Writer(file), file.Close
	}
	log, err = l.logging.open(w)
	return log, closeLog, err
}

// queueLimit is a depth or a rate of queues.
type queueLimit struct {
	port     uint32 // engine.NoPort: every port
	priority int    // < 0: every priority
	value    uint64
}

// parseQueueLimit reads "[PORT[/PRIORITY]=]VALUE".
func parseQueueLimit(option, text string, most uint64, priorities int) (queueLimit, error) {
	l := queueLimit{port: engine.NoPort, priority: -1}
	where, value, given := strings.Cut(text, "=")
	if !given {
		where, value = "", text
	}
	var err error
	if l.value, err = strconv.ParseUint(value, 10, 64); err != nil || l.value > most {
		return l, usagef("--%s is %q: want a number up to %d behind PORT= or PORT/PRIORITY=, if that "+
			"is given", option, text, most)
	}
	if !given {
		return l, nil
	}
	port, priority, one := strings.Cut(where, "/")
	n, err := strconv.ParseUint(port, 10, 32)
	if err != nil || n > maxPort {
		return l, usagef("--%s is %q: port %q: want 0 to %d", option, text, port, maxPort)
	}
	l.port = uint32(n)
	if !one {
		return l, nil
	}
	if l.priority, err = strconv.Atoi(priority); err != nil || l.priority < 0 ||
		l.priority >= priorities {
		return l, usagef("--%s is %q: priority %q: want 0 to %d", option, text, priority, priorities-1)
	}
	return l, nil
}

// defaultDepth bounds queues that have a rate, where nothing else does; as in
// BMv2.
const defaultDepth = 64

// queues lists depths and rates for queues, in the order in which they apply.
type queues struct{ depths, rates []queueLimit }

func parseQueues(depths, rates []string, priorities int) (queues, error) {
	var q queues
	if len(depths) == 0 && len(rates) > 0 {
		q.depths = []queueLimit{{engine.NoPort, -1, defaultDepth}}
	}
	for _, text := range depths {
		l, err := parseQueueLimit("queue-depth", text, math.MaxInt32, priorities)
		if err != nil {
			return q, err
		}
		q.depths = append(q.depths, l)
	}
	for _, text := range rates {
		l, err := parseQueueLimit("queue-rate", text, 1e9, priorities)
		if err != nil {
			return q, err
		}
		q.rates = append(q.rates, l)
	}
	return q, nil
}

func (q *queues) set(sw *dataplane.Switch) {
	for _, l := range q.depths {
		sw.SetQueueDepth(l.port, l.priority, int(l.value))
	}
	for _, l := range q.rates {
		sw.SetQueueRate(l.port, l.priority, l.value)
	}
}
