package metrics

import (
	"context"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// Switch is the source of a scrape; live.Runner is one.
type Switch interface {
	Snapshot(ctx context.Context) (live.Snapshot, error)
}

// Server is the P4Runtime server; p4rt.Server is one.
type Server interface {
	Stats() p4rt.ServerStats
}

// Config selects the metrics.
type Config struct {
	Switch     Switch
	Server     Server
	DeviceID   uint64
	Version    string            // of the build
	Interfaces map[uint32]string // names of the ports' network interfaces
}

// New returns the handler of scrapes.
func New(cfg Config) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Collectors are handed no context: each scrape has its own.
		scrape := prometheus.NewRegistry()
		scrape.MustRegister(&collector{Config: cfg, ctx: r.Context()})
		promhttp.HandlerFor(prometheus.Gatherers{process, scrape},
			promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
	})
}

// collector reads the switch for one scrape.
type collector struct {
	Config
	ctx context.Context
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	buildDesc = desc("weft_build_info", "Always 1; the labels say what runs.", "version",
		"device_id")
	portPackets = desc("weft_dataplane_port_packets_total",
		"Frames that the switch took from a port (in) or a port took from the switch (out).", "port",
		"interface", "direction")
	portOctets = desc("weft_dataplane_port_octets_total", "Octets of those frames.", "port",
		"interface", "direction")
	portDrops = desc("weft_dataplane_port_drops_total",
		"Frames dropped at a port, before the switch (in) or after it (out).", "port", "interface",
		"direction", "reason")
	portUp = desc("weft_dataplane_port_up", "1 while the port's link is up.", "port",
		"interface")
	portMTU = desc("weft_dataplane_port_mtu_octets",
		"Octets of the longest frame that a port carries; 0 is unknown.", "port", "interface")
	portSpeed = desc("weft_dataplane_port_speed_bits_per_second",
		"Speed of a port's link; 0 is unknown.", "port", "interface")
	switchPackets = desc("weft_dataplane_packets_total",
		"Frames that entered (in) and left (out) the program, the CPU port's included.", "direction")
	switchDrops = desc("weft_dataplane_drops_total", "Packets dropped in the switch.", "reason")
	switchAgain = desc("weft_dataplane_passes_total",
		"Packets and copies that the program made to be processed once more.", "kind")
	multicast = desc("weft_dataplane_multicast_total",
		"Packets that their copies took the place of.")
	noSession = desc("weft_dataplane_clones_without_session_total",
		"Clones that were not made because their session does not exist.")
	runaway = desc("weft_dataplane_runaway_actions_total",
		"Actions cut short because they ran too many statements.")
	outOfRange = desc("weft_dataplane_out_of_range_total",
		"Accesses to a register, counter or meter at an index beyond its size.")
	queuePackets = desc("weft_dataplane_queue_packets",
		"Packets that wait in a priority queue of a port.", "port", "priority")
	queueSent = desc("weft_dataplane_queue_sent_packets_total",
		"Packets of a priority queue that left the switch.", "port", "priority")
	queueSentOctets = desc("weft_dataplane_queue_sent_octets_total", "Octets of those packets.",
		"port", "priority")
	queueDrops = desc("weft_dataplane_queue_dropped_packets_total",
		"Packets that found no room in a priority queue of the traffic manager.", "port", "priority")
	queueDropOctets = desc("weft_dataplane_queue_dropped_octets_total", "Octets of those packets.",
		"port", "priority")
	queueLongest = desc("weft_dataplane_queue_longest_octets",
		"The most octets that have waited in a priority queue at once.", "port", "priority")
	queueDepth = desc("weft_dataplane_queue_depth",
		"Packets that may wait in a priority queue; 0 is no limit.", "port", "priority")
	queueRate = desc("weft_dataplane_queue_rate",
		"Packets a second that may leave a priority queue; 0 is no limit.", "port", "priority")
	tableEntries = desc("weft_dataplane_table_entries", "Entries of a table.", "table")
	tableSize    = desc("weft_dataplane_table_size", "Entries that a table may have.", "table")
	packetIO     = desc("weft_p4runtime_packets_total",
		"Packets from the switch to its controllers (in) and back (out).", "direction")
	packetInShort = desc("weft_p4runtime_packet_in_short_total",
		"Frames to the CPU port dropped because they were shorter than the packet_in header.")
	unheard = desc("weft_p4runtime_unheard_total",
		"Packets, digest lists and idle timeout notifications that no primary controller was there for.")
	digestLists    = desc("weft_p4runtime_digest_lists_total", "Digest lists sent.")
	digestsDropped = desc("weft_p4runtime_digests_dropped_total",
		"Digest messages dropped because too many awaited acknowledgement.")
	streams         = desc("weft_p4runtime_streams", "Open stream channels.")
	messagesDropped = desc("weft_p4runtime_stream_messages_dropped_total",
		"Messages dropped because a controller read too slowly.")
	connections = desc("weft_p4runtime_connections",
		"Open connections of P4Runtime and gNMI clients.")
	unfinished = desc("weft_p4runtime_unfinished_octets",
		"Octets of requests that are not complete yet.")
	unread = desc("weft_p4runtime_unread_octets",
		"Octets of answers to Reads that wait for their clients.")
	turnedAway = desc("weft_p4runtime_clients_turned_away_total",
		"Connections, calls and streams of clients that were refused or ended because a limit was "+
			"reached.", "reason")
	updates = desc("weft_p4runtime_updates_total",
		"Updates in Write requests, refused ones included.")
	calls = desc("weft_p4runtime_calls_total", "P4Runtime calls that have ended.", "method",
		"code")
)

// Describe implements prometheus.Collector. The collector lives for one scrape:
// what it sends need not be known before.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	e := emitter{ch}
	e.gauge(buildDesc, 1, c.Version, strconv.FormatUint(c.DeviceID, 10))
	c.server(e)
	s, err := c.Switch.Snapshot(c.ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(switchPackets, err)
		return
	}
	for _, p := range s.Ports {
		c.port(e, p)
	}
	e.count(switchPackets, s.Switch.Received, "in")
	e.count(switchPackets, s.Switch.Transmitted, "out")
	for reason, n := range s.Switch.Drops.All() {
		e.count(switchDrops, n, reason.String())
	}
	e.count(switchDrops, s.NoSuchPort, drop.NoSuchPort.String())
	e.count(switchAgain, s.Switch.Recirculated, "recirculate")
	e.count(switchAgain, s.Switch.Resubmitted, "resubmit")
	e.count(switchAgain, s.Switch.Cloned, "clone")
	e.count(switchAgain, s.Switch.Replicated, "replicate")
	e.count(multicast, s.Switch.Multicast)
	e.count(noSession, s.Switch.NoSession)
	e.count(runaway, s.Switch.Runaway)
	e.count(outOfRange, s.Switch.OutOfRange)
	for _, q := range s.Queues {
		port, prio := number(q.Port), strconv.Itoa(q.Priority)
		e.gauge(queuePackets, float64(q.Packets), port, prio)
		e.count(queueSent, q.Sent, port, prio)
		e.count(queueSentOctets, q.SentOctets, port, prio)
		e.count(queueDrops, q.Dropped, port, prio)
		e.count(queueDropOctets, q.DroppedOctets, port, prio)
		e.gauge(queueLongest, float64(q.Longest), port, prio)
		e.gauge(queueDepth, float64(q.Depth), port, prio)
		e.gauge(queueRate, float64(q.Rate), port, prio)
	}
	for _, t := range s.Tables {
		e.gauge(tableEntries, float64(t.Entries), t.Name)
		e.gauge(tableSize, float64(t.Size), t.Name)
	}
	e.count(packetIO, s.Device.PacketIns, "in")
	e.count(packetIO, s.Device.PacketOuts, "out")
	e.count(packetInShort, s.Device.PacketInShort)
	e.count(unheard, s.Device.Unheard)
	e.count(digestLists, s.Device.DigestLists)
	e.count(digestsDropped, s.Device.DigestDropped)
}

func (c *collector) port(e emitter, p live.PortSnapshot) {
	port, name := number(p.Port), c.Interfaces[p.Port]
	up := 0.0
	if p.Up {
		up = 1
	}
	e.gauge(portUp, up, port, name)
	e.gauge(portMTU, float64(p.MTU), port, name)
	e.gauge(portSpeed, float64(p.Speed), port, name)
	e.count(portPackets, p.Received, port, name, "in")
	e.count(portPackets, p.Sent, port, name, "out")
	e.count(portOctets, p.RxOctets, port, name, "in")
	e.count(portOctets, p.SentOctets, port, name, "out")
	e.count(portDrops, p.RxDropped, port, name, "in", drop.InputFull.String())
	e.count(portDrops, p.RxLost.Overrun, port, name, "in", drop.Overrun.String())
	e.count(portDrops, p.RxLost.Oversize, port, name, "in", drop.Oversize.String())
	e.count(portDrops, p.TxDropped, port, name, "out", drop.TransmitRefused.String())
}

func (c *collector) server(e emitter) {
	s := c.Server.Stats()
	e.gauge(streams, float64(s.Streams))
	e.count(messagesDropped, s.Dropped)
	e.count(updates, s.Updates)
	e.gauge(connections, float64(s.Clients.Connections))
	e.gauge(unfinished, float64(s.Clients.Unfinished))
	e.gauge(unread, float64(s.Unread))
	for reason, n := range s.Clients.Refused {
		e.count(turnedAway, n, clientlimit.Reason(reason).String())
	}
	for call, n := range s.Calls {
		e.count(calls, n, call.Method, call.Code)
	}
}

// emitter sends metrics.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) count(d *prometheus.Desc, v uint64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
