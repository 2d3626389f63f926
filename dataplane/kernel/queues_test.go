//go:build linux

package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/internal/sonicdb"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Rows of queues: DSCP 43 is a class of its own, whose queue is strict.
var (
	classes = entry.RowOf(tableClasses, "weft", entry.CellOf("7", "0"), entry.CellOf("43", "6"))
	queueOf = entry.RowOf(tableQueueOf, "weft", entry.CellOf("0", "0"), entry.CellOf("6", "7"))
	strict  = entry.RowOf("SCHEDULER", "weft_strict", entry.CellOf("type", "STRICT"))
)

// queued returns the rows that give a port queues.
func queued(port string) (out []entry.Row) {
	for _, r := range []entry.Row{
		entry.RowOf(tableBindings, port, entry.CellOf("dscp_to_tc_map", "weft"),
			entry.CellOf("tc_to_queue_map", "weft")),
		entry.RowOf(tableQueues, port+"|7", entry.CellOf("scheduler", "weft_strict")),
	} {
		out = append(out, r.Parts()...)
	}
	return out
}

// tc runs iproute2's command for qdiscs in the namespace.
func (b *bed) tc(args ...string) string {
	b.t.Helper()
	var out []byte
	if err := b.ns.Do(func() (err error) {
		out, err = exec.Command("tc", args...).CombinedOutput()
		return err
	}); err != nil {
		b.t.Fatalf("tc %v: %v: %s", args, err, out)
	}
	return string(out)
}

// packets is a socket of an interface, for whole frames.
func (b *bed) packets(name string) (fd int, at *net.Interface) {
	b.t.Helper()
	if err := b.ns.Do(func() (err error) {
		if at, err = net.InterfaceByName(name); err != nil {
			return err
		}
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0xdd86, Ifindex: at.Index})
	}); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, at
}

// frame returns a frame to an interface, of a packet of a class from 2001:db8::1 to 2001:db8::2.
func frame(to net.HardwareAddr, dscp uint8, payload int) []byte {
	f := append(append([]byte{}, to...), 2, 0, 0, 0, 0, 9, 0x86, 0xdd)
	f = append(f, 0x60|dscp>>2, dscp<<6, 0, 0, byte(payload>>8), byte(payload), 59, 64)
	for _, last := range []byte{1, 2} {
		f = append(f, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last)
	}
	return append(f, make([]byte, payload)...)
}

// arrivals returns the DSCPs of so many packets to 2001:db8::2 that come out of a socket, in order.
func (b *bed) arrivals(fd, n int) (dscps []uint8) {
	b.t.Helper()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO,
		&unix.Timeval{Sec: 20}); err != nil {
		b.t.Fatal(err)
	}
	for buf := make([]byte, 2000); len(dscps) < n; {
		k, from, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue // with a timeout the kernel does not go on after signals of the runtime
		}
		if err != nil {
			b.t.Fatalf("%v after %d of %d packets", err, len(dscps), n)
		}
		if at, _ := from.(*unix.SockaddrLinklayer); k < 54 || buf[20] != 59 ||
			at != nil && at.Pkttype == unix.PACKET_OUTGOING {
			continue // of the kernel itself
		}
		dscps = append(dscps, buf[14]<<2&0x3c|buf[15]>>6)
	}
	return dscps
}

// TestStrictQueue: a packet of a strict queue overtakes packets waiting at a port with an
// administrator's rate. Without rows the port keeps its original single queue.
func TestStrictQueue(t *testing.T) {
	b := newBed(t)
	b.session()
	far := entry.RowOf("STATIC_ROUTE", "default|2001:db8::2/128", entry.CellOf("nexthop", "::"),
		entry.CellOf("ifname", "eth2"))
	b.write(put(far)...)
	in, _ := b.packets("q1")
	out, _ := b.packets("q2")
	_, p1 := b.packets("p1")
	// The address belongs to no interface of this kernel, which would otherwise forward the packet
	// again.
	b.ip("-6", "neigh", "add", "2001:db8::2", "lladdr", "02:00:00:00:00:02", "dev", "p2")
	rows := append([]entry.Row{classes, queueOf, strict}, queued("eth2")...)
	const data = 20
	for _, with := range []bool{false, true, false} {
		var updates []entry.Update
		if with {
			updates = put(rows...)
		} else {
			for _, r := range rows {
				updates = append(updates, entry.Update{Type: entry.Delete, Entity: r})
			}
		}
		// The next packet after the first would take a minute.
		b.tc("qdisc", "replace", "dev", "p2", "root", "handle", "1:", "tbf", "rate", "128bit", "burst",
			"1100", "limit", "1000000")
		b.write(updates...)
		b.until("queues", func() bool {
			return strings.Contains(b.tc("qdisc", "show", "dev", "p2"), "htb") == with
		})
		for i := range data + 1 {
			f := frame(p1.HardwareAddr, 7, 1000)
			if i == data {
				f = frame(p1.HardwareAddr, 43, 100)
			}
			if _, err := unix.Write(in, f); err != nil {
				t.Fatal(err)
			}
		}
		b.until("packets wait", func() bool {
			n := 0
			_, at, _ := strings.Cut(b.tc("-s", "qdisc", "show", "dev", "p2", "root"), "backlog ")
			_, _ = fmt.Sscanf(at, "%s %dp", new(string), &n)
			return n >= data // and what the kernel itself has sent
		})
		b.tc("qdisc", "change", "dev", "p2", "root", "handle", "1:", "tbf", "rate", "100mbit", "burst",
			"5000", "limit", "1000000")
		// The kernel looks at the rate again with the next packet: one that arrivals leaves out.
		next := frame(p1.HardwareAddr, 7, 100)
		next[20] = unix.IPPROTO_ICMPV6
		if _, err := unix.Write(in, next); err != nil {
			t.Fatal(err)
		}
		got := b.arrivals(out, data+1)
		// One packet has left, and one is about to.
		least, most := data, data
		if with {
			least, most = 0, 2
		}
		if at := slices.Index(got, 43); at < least || at > most {
			t.Fatalf("queues %t: DSCPs arrive as %v, want 43 at place %d to %d", with, got, least, most)
		}
	}
}

// TestQueuesComeBack: the agent remakes queues that somebody removed, even together with their
// token bucket filter. The agent leaves other queues alone.
func TestQueuesComeBack(t *testing.T) {
	b := newBed(t)
	b.session()
	rows := append([]entry.Row{classes, queueOf, strict}, queued("eth1")...)
	rows = append(rows, queued("eth2")...)
	b.tc("qdisc", "replace", "dev", "p1", "root", "handle", "9:", "htb")
	b.write(put(rows...)...)
	has := func(what string) func() bool {
		return func() bool { return strings.Contains(b.tc("qdisc", "show", "dev", "p2"), what) }
	}
	b.until("at the root", has("htb 5757: root"))
	b.tc("qdisc", "del", "dev", "p2", "root")
	b.until("again", has("htb 5757: root"))
	b.tc("qdisc", "replace", "dev", "p2", "root", "handle", "1:", "tbf", "rate", "1mbit", "burst",
		"5000", "limit", "100000")
	b.until("in the filter", has("htb 5757: parent 1:1"))
	classed := func(want ...string) func() bool {
		return func() bool {
			got := b.tc("class", "show", "dev", "p2")
			return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got, w) })
		}
	}
	b.until("classes", classed("5757:8 root prio 0", "5757:1 root prio 7"))
	// The agent replaces the map by another map, and skips a port without a queue.
	b.write(entry.Update{Type: entry.Modify, Entity: entry.RowOf(tableQueueOf, "weft",
		entry.CellOf("0", "0"), entry.CellOf("6", "5"))})
	b.until("the other", has("htb 5758: parent 1:1"))
	b.until("its class", classed("5758:6 root prio 7"))
	if got := b.tc("qdisc", "show", "dev", "p1"); !strings.Contains(got, "htb 9: root") ||
		strings.Contains(got, "5757") {
		t.Errorf("somebody else's queues became\n%s", got)
	}
}

// TestQueuings: rows of queues that the agent does not carry out, each with its reason.
func TestQueuings(t *testing.T) {
	good := map[string]string{
		tablePorts: `{"eth1": {}}`, tableClasses: `{"m": {"43": "6"}}`,
		tableQueueOf: `{"m": {"6": "7"}}`, "SCHEDULER": `{"s": {"type": "STRICT"}}`,
		tableBindings: `{"eth1": {"dscp_to_tc_map": "m", "tc_to_queue_map": "m"}}`,
		tableQueues:   `{"eth1|7": {"scheduler": "s"}}`,
	}
	read := func(table, rows string) (out sonicdb.Table) {
		if err := json.Unmarshal([]byte(rows), &out); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		return out
	}
	for _, x := range []struct{ table, rows, want string }{
		{tableClasses, good[tableClasses], ""},
		{tableClasses, `{"m": {"64": "6"}}`, "for one below 64"},
		{tableClasses, `{"m": {"43": "8"}}`, "want one below 8"},
		{tableClasses, `{}`, `DSCP_TO_TC_MAP has no map "m"`},
		{tableQueueOf, `{"m": {"6": "x"}}`, `has x for "6"`},
		{tableQueueOf, `{}`, `TC_TO_QUEUE_MAP has no map "m"`},
		{"SCHEDULER", `{"s": {"type": "DWRR", "weight": "5"}}`, "STRICT alone"},
		{"SCHEDULER", `{"s": {"type": "STRICT", "pir": "5"}}`, "STRICT alone"},
		{tableBindings, `{"eth9": {"dscp_to_tc_map": "m"}}`, "no such port"},
		{tableBindings, `{"global": {"dscp_to_tc_map": "m"}}`, "no such port"},
		{tableBindings, `{"eth1": {"dscp_to_tc_map": "m", "tc_to_queue_map": "m", "pfc_enable": "3"}}`,
			"tc_to_queue_map alone"},
		{tableQueues, `{"eth1|8": {"scheduler": "s"}}`, "a queue below 8"},
		{tableQueues, `{"eth9|7": {"scheduler": "s"}}`, "want a port"},
		{tableQueues, `{"eth1|7": {"scheduler": "t"}}`, "type STRICT alone"},
		{tableQueues, `{"eth1|7": {"scheduler": "s", "wred_profile": "w"}}`, "and no marks"},
	} {
		config := make(sonicdb.Database)
		for table, rows := range good {
			config[table] = read(table, rows)
		}
		config[x.table] = read(x.table, x.rows)
		got, err := queuings(config)
		if x.want == "" {
			if q := got["eth1"]; err != nil || q.of[43] != 7 || !q.strict[7] || q.strict[0] {
				t.Errorf("%v, %v: want DSCP 43 in queue 7, which is strict", got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), x.want) ||
			!strings.Contains(err.Error(), tableBindings+"|eth") && x.table != "SCHEDULER" &&
				!strings.Contains(err.Error(), x.table+"|") {
			t.Errorf("%s %s: %v, want %s", x.table, x.rows, err, x.want)
		}
	}
}
