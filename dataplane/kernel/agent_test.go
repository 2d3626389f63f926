//go:build linux

package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-sdn/weft/internal/netns"
	"github.com/weft-sdn/weft/internal/sonicdb"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/sonic"
)

// bed is a namespace with an agent: ports eth1 to eth4 are the interfaces p1 to p4, whose other
// ends are q1 to q4.
type bed struct {
	t    *testing.T
	ns   *netns.Namespace
	a    *Agent
	addr string
	s    *sonic.Session

	mu    sync.Mutex
	ready int
	ports southbound.Ports
}

const ports = 4

func namespace(t *testing.T) *netns.Namespace {
	t.Helper()
	ns, err := netns.New()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(ns.Close)
	return ns
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, ns: namespace(t)}
	lacks, err := b.lacks()
	if err != nil {
		t.Fatal(err)
	}
	if len(lacks) > 0 {
		t.Skipf("this kernel lacks %v", lacks)
	}
	of := make(map[uint32]string)
	for i := 1; i <= ports; i++ {
		of[uint32(i)] = fmt.Sprintf("p%d", i)
		if err := b.ns.Veth(of[uint32(i)], fmt.Sprintf("q%d", i), 4400); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.ns.Do(func() (err error) {
		b.a, err = Open(Config{Ports: of, Hostname: "s1"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	b.a.Register(server)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	b.addr = l.Addr().String()
	t.Cleanup(func() {
		if b.s != nil {
			_ = b.s.Close()
		}
		b.a.Close()
		server.Stop()
		<-served
	})
	return b
}

func (b *bed) lacks() (lacks []string, err error) {
	err = b.ns.Do(func() (err error) {
		lacks, err = Lacks()
		return err
	})
	return lacks, err
}

// session is the controller's end.
func (b *bed) session() *sonic.Session {
	b.t.Helper()
	cfg := southbound.DefaultConfig()
	cfg.Name, cfg.Target = "s1", b.addr
	cfg.PortOf = func(iface string) (port uint32) {
		_, _ = fmt.Sscanf(iface, "eth%d", &port)
		return port
	}
	cfg.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	var err error
	b.s, err = sonic.Open(b.t.Context(), sonic.Config{Config: cfg},
		func(_ context.Context, e southbound.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			switch e := e.(type) {
			case southbound.Ready:
				b.ready++
			case southbound.Ports:
				b.ports = e
			}
		})
	if err != nil {
		b.t.Fatal(err)
	}
	b.until("ready", func() bool { return b.ready == 1 })
	return b.s
}

// until waits in real time: the kernel has no other.
func (b *bed) until(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		b.mu.Lock()
		is := ok()
		b.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("never %s", what)
		}
	}
}

// ip runs iproute2 in the namespace.
func (b *bed) ip(args ...string) string {
	b.t.Helper()
	var out []byte
	if err := b.ns.Do(func() (err error) {
		out, err = exec.Command("ip", args...).CombinedOutput()
		return err
	}); err != nil {
		b.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

var (
	locator = entry.RowOf("SRV6_MY_LOCATORS", "weft", entry.CellOf("prefix", "5f00:0:20::"),
		entry.CellOf("block_len", "32"), entry.CellOf("node_len", "16"),
		entry.CellOf("func_len", "16"), entry.CellOf("arg_len", "0"))
	un = entry.RowOf("SRV6_MY_SIDS", "weft|5f00:0:20::/48", entry.CellOf("action", "uN"),
		entry.CellOf("decap_dscp_mode", "uniform"))
	ua = entry.RowOf("SRV6_MY_SIDS", "weft|5f00:0:e001::/48", entry.CellOf("action", "uA"),
		entry.CellOf("decap_dscp_mode", "uniform"), entry.CellOf("interface", "eth2"),
		entry.CellOf("adj", "fe80::2"))
	udt = entry.RowOf("SRV6_MY_SIDS", "weft|5f00:0:f000::/48", entry.CellOf("action", "uDT46"),
		entry.CellOf("decap_dscp_mode", "uniform"), entry.CellOf("decap_vrf", "default"))
	neighbor = entry.RowOf("STATIC_ROUTE", "default|5f00:0:21::/48",
		entry.CellOf("nexthop", "fe80::2,fe80::3"), entry.CellOf("ifname", "eth2,eth3"))
	host = entry.RowOf("STATIC_ROUTE", "default|2001:db8::1/128", entry.CellOf("nexthop", "::"),
		entry.CellOf("ifname", "eth1"))
)

func put(rows ...entry.Row) (out []entry.Update) {
	for _, r := range rows {
		out = append(out, entry.Update{Type: entry.Insert, Entity: r})
	}
	return out
}

func (b *bed) write(updates ...entry.Update) {
	b.t.Helper()
	refused, err := b.s.Write(b.t.Context(), updates)
	if err != nil || len(refused) > 0 {
		b.t.Fatalf("write: %v, %v", refused, err)
	}
	if refused, err = b.s.Confirm(b.t.Context(), updates); err != nil || len(refused) > 0 {
		b.t.Fatalf("confirm: %v, %v\n%s", refused, err, b.ip("-6", "route"))
	}
}

// held returns what the switch holds.
func (b *bed) held() map[entry.Key]bool {
	b.t.Helper()
	c, err := b.s.Read(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(map[entry.Key]bool)
	for _, e := range c.Entities {
		out[e.Key()] = true
	}
	return out
}

// TestRoutes: the kernel gets the routes that rows ask for, in the form that iproute2 knows, and
// loses them with the rows.
func TestRoutes(t *testing.T) {
	b := newBed(t)
	b.session()
	b.write(put(locator, un, ua, udt, neighbor, host)...)
	got := b.ip("-6", "route", "show", "proto", "87")
	for _, want := range []string{
		"5f00:0:20::/48  encap seg6local action End flavors next-csid lblen 32 nflen 16 dev sr0",
		"5f00:0:f000::/48  encap seg6local action End.DT6 table main dev sr0",
		"2001:db8::1 dev p1 metric 20",
		"via fe80::2 dev p2", "via fe80::3 dev p3",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the kernel has no %q:\n%s", want, got)
		}
	}
	if !strings.Contains(got, "5f00:0:e001::/48  encap seg6local action End.X nh6 fe80::2") {
		t.Errorf("the kernel has no uA:\n%s", got)
	}
	// Another behavior under the same prefix, and fewer next hops.
	other := entry.RowOf("SRV6_MY_SIDS", un.Name, entry.CellOf("action", "uDT46"))
	fewer := entry.RowOf("STATIC_ROUTE", neighbor.Name, entry.CellOf("nexthop", "fe80::3"),
		entry.CellOf("ifname", "eth3"))
	b.write(entry.Update{Type: entry.Modify, Entity: other},
		entry.Update{Type: entry.Modify, Entity: fewer})
	got = b.ip("-6", "route", "show", "proto", "87")
	if !strings.Contains(got, "5f00:0:20::/48  encap seg6local action End.DT6") ||
		!strings.Contains(got, "5f00:0:21::/48 via fe80::3 dev p3") ||
		strings.Contains(got, "fe80::2 dev p2") {
		t.Errorf("after a change:\n%s", got)
	}
	var all []entry.Update
	for _, r := range []entry.Row{other, ua, udt, fewer, host} {
		all = append(all, entry.Update{Type: entry.Delete, Entity: r})
	}
	b.write(all...)
	if got := b.ip("-6", "route", "show", "proto", "87"); got != "" {
		t.Errorf("after all rows have gone:\n%s", got)
	}
}

// TestForeignRoutes: routes of others stay, also when the agent begins and when it writes.
func TestForeignRoutes(t *testing.T) {
	b := newBed(t)
	b.ip("-6", "route", "add", "2001:db8:77::/64", "dev", "p4")
	b.ip("-6", "route", "add", "2001:db8:78::/64", "dev", "p4", "proto", "87", "metric", "20")
	const theirs = "2001:db8::1 dev p1 proto static metric 20"
	b.ip(append([]string{"-6", "route", "add"}, strings.Fields(theirs)...)...)
	b.session()
	// An equal route from another program, for example FRR, does not belong to the agent, and stays.
	if refused, err := b.s.Write(b.t.Context(), put(host)); err != nil || len(refused) > 0 {
		t.Fatalf("write: %v, %v", refused, err)
	}
	if got := b.ip("-6", "route", "show", "2001:db8::1"); !strings.Contains(got, theirs) {
		t.Errorf("the route of somebody else has become %q", got)
	}
	if b.held()[host.Key()] {
		t.Error("the route of somebody else counts as the agent's")
	}
	b.ip("-6", "route", "del", "2001:db8::1/128", "proto", "static")
	b.write(put(host)...)
	// Another program's route with a different metric stands beside the agent's route.
	b.ip("-6", "route", "add", "5f00:0:20::/48", "dev", "p4", "metric", "1024")
	b.write(put(locator, un)...)
	if got := b.ip("-6", "route", "show", "2001:db8:77::/64"); got == "" {
		t.Error("a route of somebody else has gone")
	}
	if got := b.ip("-6", "route", "show", "2001:db8:78::/64"); got != "" {
		t.Errorf("a route that an earlier agent has left stays: %s", got)
	}
}

// TestLostRoutes: a hundred times a route is taken away or changed at the kernel, and the session
// notices, and writes it again.
func TestLostRoutes(t *testing.T) {
	b := newBed(t)
	b.session()
	all := put(locator, un, ua, udt, neighbor, host)
	b.held()
	b.write(all...)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	lossy := []struct {
		row  entry.Row
		does [][]string
	}{
		{un, [][]string{{"-6", "route", "del", "5f00:0:20::/48"}, {"-6", "route", "replace",
			"5f00:0:20::/48", "proto", "87", "metric", "20", "dev", "p4"}}},
		{ua, [][]string{{"-6", "route", "del", "5f00:0:e001::/48"}}},
		{udt, [][]string{{"-6", "route", "del", "5f00:0:f000::/48"}}},
		{neighbor, [][]string{{"-6", "route", "del", "5f00:0:21::/48"}, {"-6", "route", "del",
			"5f00:0:21::/48", "via", "fe80::3", "dev", "p3"}}},
		{host, [][]string{{"-6", "route", "del", "2001:db8::1/128"}}},
	}
	losses := 100
	if testing.Short() {
		losses = 10
	}
	for i := range losses {
		x := lossy[r.IntN(len(lossy))]
		before := 0
		b.until("known", func() bool { before = b.ready; return true })
		b.ip(x.does[r.IntN(len(x.does))]...)
		b.until(fmt.Sprintf("told of loss %d, of %v", i, x.row.Key()),
			func() bool { return b.ready > before })
		if b.held()[x.row.Key()] {
			t.Fatalf("loss %d: %v is held, and the kernel has lost it", i, x.row.Key())
		}
		b.write(all...)
		if !b.held()[x.row.Key()] {
			t.Fatalf("loss %d: %v is not held after the repair", i, x.row.Key())
		}
	}
}

// TestPorts: the agent reports the states of interfaces as states of ports, passes settings on to
// the interfaces, and restores routes over a port that has come up again.
func TestPorts(t *testing.T) {
	b := newBed(t)
	b.session()
	b.until("up", func() bool { return b.ports.Up[3] })
	b.write(put(locator, host, ua)...)
	if err := b.ns.SetUp("q3", false); err != nil {
		t.Fatal(err)
	}
	b.until("down", func() bool { up, known := b.ports.Up[3]; return known && !up })
	b.ip("link", "set", "p1", "down")
	b.until("down", func() bool { return !b.ports.Up[1] })
	if got := b.ip("-6", "route", "show", "2001:db8::1/128"); got != "" {
		t.Errorf("the kernel has a route over a port that is down: %s", got)
	}
	b.ip("link", "set", "p1", "up")
	b.until("back", func() bool { return b.ip("-6", "route", "show", "2001:db8::1/128") != "" })
}

// TestRefused: what the kernel cannot do is refused, with the reason, and changes nothing.
func TestRefused(t *testing.T) {
	b := newBed(t)
	cc, err := grpc.NewClient(b.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	for _, x := range []struct{ table, rows, want string }{
		{"SWITCH_TRIMMING", `{"GLOBAL": {"size": "256"}}`, "Linux does not trim"},
		{"WRED_PROFILE", `{"weft": {"ecn": "ecn_all"}}`, "makes no marks"},
		{"STATIC_ROUTE", `{"default|2001:db8::/64": {"nexthop": "::", "ifname": "eth9"}}`, `"eth9"`},
		{"STATIC_ROUTE", `{"mgmt|2001:db8::/64": {"nexthop": "::", "ifname": "eth1"}}`, "VRF"},
		{"STATIC_ROUTE", `{"default|10.0.0.0/8": {"nexthop": "::", "ifname": "eth1"}}`, "IPv6"},
		{"STATIC_ROUTE", `{"default|2001:db8::/64": {"nexthop": "::,::", "ifname": "eth1"}}`, "entries"},
	} {
		_, err := gpb.NewGNMIClient(cc).Set(t.Context(), &gpb.SetRequest{Update: []*gpb.Update{{
			Path: &gpb.Path{Origin: "sonic-db", Elem: []*gpb.PathElem{{Name: "CONFIG_DB"},
				{Name: "localhost"}, {Name: x.table}}},
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(x.rows)}}}}})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %s: %v, want %s", x.table, x.rows, err, x.want)
		}
	}
	if got := b.ip("-6", "route", "show", "proto", "87"); got != "" {
		t.Errorf("the kernel has %s", got)
	}
}

// TestWanted: rows that no kernel carries out, each with its reason.
func TestWanted(t *testing.T) {
	ports := sonicdb.Table{"eth1": {}}
	locators := sonicdb.Table{"weft": {"block_len": "32", "node_len": "16"},
		"odd": {"block_len": "33"}, "long": {"block_len": "120", "node_len": "16"}}
	for _, x := range []struct{ key, row, want string }{
		{"weft|5f00::/48", `{"action": "uDX6"}`, "uDX6"},
		{"weft|5f00::", `{"action": "uN"}`, "prefix"},
		{"weft|5f00::/48", `{"action": "uA", "interface": "eth1"}`, "adj"},
		{"weft|5f00::/48", `{"action": "uA", "interface": "eth2", "adj": "fe80::1"}`, "eth2"},
		{"weft|5f00::/48", `{"action": "uDT46", "decap_vrf": "Vrf1"}`, "VRF"},
		{"odd|5f00::/48", `{"action": "uN"}`, "multiple of 8"},
		{"long|5f00::/48", `{"action": "uN"}`, "136 together"},
	} {
		var row map[string]any
		if err := json.Unmarshal([]byte(x.row), &row); err != nil {
			t.Fatal(err)
		}
		_, err := wanted(sonicdb.Database{tablePorts: ports, tableLocators: locators,
			tableSIDs: {x.key: row}})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %s: %v, want %s", x.key, x.row, err, x.want)
		}
	}
}
