package sonic_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/internal/sonicdb"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/southbound/sonic"
	"github.com/weft-sdn/weft/southbound/sonic/sonictest"
)

// bed is a switch with a session to it, in virtual time.
type bed struct {
	t      *testing.T
	sw     *sonictest.Switch
	s      *sonic.Session
	mu     sync.Mutex
	ready  int
	downs  int
	ports  southbound.Ports
	sids   map[netip.Prefix]gnmi.SID // the last of each
	heard  []southbound.Neighbors
	listen *bufconn.Listener
	server *grpc.Server
}

// serve has the switch answer.
func (b *bed) serve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listen, b.server = bufconn.Listen(1<<20), grpc.NewServer()
	b.sw.Register(b.server)
	go func(l net.Listener, s *grpc.Server) { _ = s.Serve(l) }(b.listen, b.server)
}

func (b *bed) dial(ctx context.Context, _ string) (net.Conn, error) {
	b.mu.Lock()
	l := b.listen
	b.mu.Unlock()
	return l.DialContext(ctx)
}

func (b *bed) counts() (ready, downs int) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready, b.downs
}

// on runs a test on a switch with four ports.
func on(t *testing.T, f func(b *bed)) {
	t.Helper()
	onUpdater(t, sonictest.Updater("master"), f)
}

// onUpdater runs a test on a switch with four ports whose CONFIG_DB an updater makes.
func onUpdater(t *testing.T, updater sonicdb.Updater, f func(b *bed)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		b := &bed{t: t, sids: make(map[netip.Prefix]gnmi.SID)}
		b.sw = sonictest.New("Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24")
		b.sw.SetUpdater(updater)
		b.serve()
		cfg := southbound.DefaultConfig()
		cfg.Name, cfg.Target = "s1", "switch"
		cfg.PortOf = func(iface string) uint32 {
			i := slices.Index([]string{"Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"}, iface)
			return uint32(i + 1)
		}
		cfg.Samples = func(batch []gnmi.Sample) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, s := range batch {
				for _, x := range s.SIDs {
					b.sids[x.Prefix] = x
				}
			}
		}
		cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(b.dial),
			grpc.WithTransportCredentials(insecure.NewCredentials())}
		var err error
		b.s, err = sonic.Open(t.Context(), sonic.Config{Config: cfg},
			func(_ context.Context, e southbound.Event) {
				b.mu.Lock()
				defer b.mu.Unlock()
				switch e := e.(type) {
				case southbound.Ready:
					b.ready++
				case southbound.Down:
					b.downs++
				case southbound.Ports:
					b.ports = e
				case southbound.Neighbors:
					b.heard = append(b.heard, e)
				}
			})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.s.Close(); err != nil {
				t.Error(err)
			}
			b.sw.Close()
			b.server.Stop()
		}()
		if ready, _ := b.counts(); ready != 1 {
			t.Fatalf("ready %d times, want once", ready)
		}
		f(b)
	})
}

// held returns what the switch holds, by key.
func (b *bed) held() map[entry.Key]entry.Entity {
	b.t.Helper()
	c, err := b.s.Read(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(map[entry.Key]entry.Entity)
	for _, e := range c.Entities {
		out[e.Key()] = e
	}
	return out
}

// write carries out updates and confirms them, and returns the messages of refusals by key.
func (b *bed) write(updates ...entry.Update) map[entry.Key]string {
	b.t.Helper()
	refused, err := b.s.Write(b.t.Context(), updates)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(map[entry.Key]string)
	var accepted []entry.Update
	for i := range updates {
		at := slices.IndexFunc(refused, func(r entry.Refusal) bool { return r.Update == i })
		if at < 0 {
			accepted = append(accepted, updates[i])
			continue
		}
		out[updates[i].Entity.Key()] = refused[at].Message
	}
	without, err := b.s.Confirm(b.t.Context(), accepted)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range without {
		out[accepted[r.Update].Entity.Key()] = r.Message
	}
	return out
}

// clean is write, and nothing may be refused.
func (b *bed) clean(updates ...entry.Update) {
	b.t.Helper()
	if refused := b.write(updates...); len(refused) > 0 {
		b.t.Errorf("refused: %v", refused)
	}
}

func put(rows ...entry.Row) (out []entry.Update) {
	for _, r := range rows {
		out = append(out, entry.Update{Type: entry.Insert, Entity: r})
	}
	return out
}

func remove(rows ...entry.Row) (out []entry.Update) {
	for _, r := range rows {
		out = append(out, entry.Update{Type: entry.Delete, Entity: r})
	}
	return out
}

var (
	locator = entry.RowOf("SRV6_MY_LOCATORS", "weft", entry.CellOf("prefix", "fcbb:bbbb:20::"),
		entry.CellOf("block_len", "32"), entry.CellOf("node_len", "16"))
	un = entry.RowOf("SRV6_MY_SIDS", "weft|fcbb:bbbb:20::/48", entry.CellOf("action", "uN"),
		entry.CellOf("decap_dscp_mode", "uniform"))
	udt = entry.RowOf("SRV6_MY_SIDS", "weft|fcbb:bbbb:20:f1::/64", entry.CellOf("action", "uDT46"),
		entry.CellOf("decap_vrf", "default"))
	route = entry.RowOf("STATIC_ROUTE", "default|fcbb:bbbb:30::/48",
		entry.CellOf("nexthop", "fe80::1"), entry.CellOf("ifname", "Ethernet8"))
	host = entry.RowOf("STATIC_ROUTE", "default|2001:db8::1/128", entry.CellOf("nexthop", "::"),
		entry.CellOf("ifname", "Ethernet0"))
	dscp    = entry.RowOf("DSCP_TO_TC_MAP", "weft", entry.CellOf("8", "3"))
	binding = entry.RowOf("PORT_QOS_MAP", "Ethernet8",
		entry.CellOf("dscp_to_tc_map", "weft")).Parts()[0]
	hash = entry.RowOf("SWITCH_HASH", "GLOBAL",
		entry.Cell{Name: "ecmp_hash", List: true, Values: []string{"SRC_IP", "DST_IP"}}).Parts()[0]
	trimming = entry.RowOf("SWITCH_TRIMMING", "GLOBAL", entry.CellOf("size", "256"),
		entry.CellOf("dscp_value", "10")).Parts()
)

// all are rows of every form: of tables with and without rows, whole and in part, with prefixes in
// their keys, and a list.
func all() []entry.Row {
	return append([]entry.Row{locator, un, udt, route, host, dscp, binding, hash}, trimming...)
}

// TestWrite: a change of many tables makes one Set, reads back as written, and leaves foreign rows
// and fields alone; after the removal, the switch is as before.
func TestWrite(t *testing.T) { on(t, rows) }

func rows(b *bed) {
	t := b.t
	before, config := b.held(), make(map[string]sonictest.Table)
	for _, table := range []string{"STATIC_ROUTE", "DSCP_TO_TC_MAP", "PORT_QOS_MAP", "PORT"} {
		config[table] = b.sw.Rows("CONFIG_DB", table)
	}
	b.clean(put(all()...)...)
	if n := b.sw.Sets(); n != 1 {
		t.Errorf("%d Sets, want 1", n)
	}
	held := b.held()
	for _, r := range all() {
		if !entry.Equal(held[r.Key()], r) {
			t.Errorf("%s: %v", r, held[r.Key()])
		}
		delete(held, r.Key())
	}
	delete(before, binding.Key())
	if !maps.EqualFunc(held, before, entry.Equal) {
		t.Errorf("others' rows are %v, were %v", held, before)
	}
	if row := b.sw.Rows("CONFIG_DB", "PORT_QOS_MAP")["Ethernet8"]; row["pfc_enable"] != "3,4" ||
		row["dscp_to_tc_map"] != "weft" {
		t.Errorf("a shared row is %v", row)
	}
	// The same once more is no Set.
	b.clean(put(all()...)...)
	if n := b.sw.Sets(); n != 1 {
		t.Errorf("%d Sets for what is there, want 1", n)
	}
	changed := entry.RowOf(route.Table, route.Name, entry.CellOf("nexthop", "fe80::2"))
	b.clean(entry.Update{Type: entry.Modify, Entity: changed})
	if got := b.held()[changed.Key()]; !entry.Equal(got, changed) {
		t.Errorf("a row with one field less is %v", got)
	}
	back := entry.RowOf("PORT_QOS_MAP", "Ethernet8", entry.CellOf("dscp_to_tc_map", "AZURE")).Parts()
	b.clean(entry.Update{Type: entry.Modify, Entity: back[0]})
	b.clean(remove(append(trimming, locator, un, udt, changed, host, dscp, hash)...)...)
	for table, was := range config {
		is := b.sw.Rows("CONFIG_DB", table)
		if !maps.EqualFunc(is, was, func(a, b map[string]any) bool { return maps.Equal(a, b) }) {
			t.Errorf("%s is %v, was %v", table, is, was)
		}
	}
	for _, table := range []string{"SRV6_MY_SIDS", "SWITCH_TRIMMING", "SWITCH_HASH"} {
		if rows := b.sw.Rows("CONFIG_DB", table); len(rows) > 0 {
			t.Errorf("%s has %v left", table, rows)
		}
	}
	b.clean(remove(binding)...) // a field of a row that has others
	if row := b.sw.Rows("CONFIG_DB", "PORT_QOS_MAP")["Ethernet8"]; len(row) != 1 ||
		row["pfc_enable"] != "3,4" {
		t.Errorf("without the field the row is %v", row)
	}
	b.clean(remove(un)...) // what is not there
}

// TestLostSID: a SID that is in CONFIG_DB and lost in FRR does not count as held; a new write makes
// it new.
func TestLostSID(t *testing.T) { on(t, lostSID) }

func lostSID(b *bed) {
	t := b.t
	b.sw.SetWarts(sonictest.Warts{LoseSIDs: 1})
	begun := time.Now()
	refused := b.write(put(locator, un, udt)...)
	if len(refused) != 1 || !strings.Contains(refused[un.Key()], "APPL_DB has no such SID") {
		t.Errorf("refused: %v", refused)
	}
	if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
		t.Errorf("the switch got %v to take it, want 5 s", took)
	}
	if held := b.held(); held[un.Key()] != nil || held[udt.Key()] == nil {
		t.Errorf("it holds %v", held)
	}
	b.clean(put(un)...)
	if held := b.held(); held[un.Key()] == nil {
		t.Errorf("after the repair it holds %v", held)
	}
}

// TestLastRow: the removal of a table's last row also removes the table, since the switch refuses a
// patch that leaves a table without rows; a table stays if others still have rows in it, or if the
// update replaces all its rows.
func TestLastRow(t *testing.T) { on(t, lastRow) }

func lastRow(b *bed) {
	t := b.t
	b.clean(put(all()...)...)
	before := b.sw.Sets()
	b.clean(remove(un, udt, route, host, dscp, binding, hash)...)
	if n := b.sw.Sets() - before; n != 1 {
		t.Errorf("%d Sets, want 1", n)
	}
	want := map[string]int{"SRV6_MY_SIDS": 0, "SWITCH_HASH": 0, "STATIC_ROUTE": 1,
		"DSCP_TO_TC_MAP": 1, "PORT_QOS_MAP": 4, "SRV6_MY_LOCATORS": 1}
	for table, n := range want {
		if rows := b.sw.Rows("CONFIG_DB", table); len(rows) != n {
			t.Errorf("%s has %v, want %d rows", table, rows, n)
		}
	}
	b.clean(put(un)...)
	b.clean(append(remove(un), put(udt)...)...)
	if rows := b.sw.Rows("CONFIG_DB", "SRV6_MY_SIDS"); len(rows) != 1 || rows[udt.Name] == nil {
		t.Errorf("after all rows were replaced there are %v", rows)
	}
}

// TestOnlySID: the only SID of a switch, lost by FRR, is written anew.
func TestOnlySID(t *testing.T) { on(t, onlySID) }

func onlySID(b *bed) {
	t := b.t
	b.clean(put(locator, un)...)
	b.sw.LoseSID(un.Name)
	b.clean(put(un)...)
	if held := b.held(); held[un.Key()] == nil {
		t.Errorf("after the repair it holds %v", held)
	}
}

// TestRenewRefused: where a switch refuses to remove a lost row, the session reports the refusal in
// the switch's words, and writes the other rows.
func TestRenewRefused(t *testing.T) {
	on(t, func(b *bed) {
		b.clean(put(locator, un, udt)...)
		b.sw.LoseSID(un.Name)
		b.sw.Refuse(func(patch []sonictest.Op) error {
			for _, op := range patch {
				if op.Op == "remove" {
					return errors.New("the table is locked")
				}
			}
			return nil
		})
		refused := b.write(put(un, dscp)...)
		if len(refused) != 1 || !strings.Contains(refused[un.Key()], "the table is locked") ||
			!strings.Contains(refused[un.Key()], "lost the row") {
			t.Errorf("refused: %v", refused)
		}
		if held := b.held(); held[dscp.Key()] == nil {
			t.Errorf("it holds %v", held)
		}
	})
}

// TestChangeWithWrite: the session notices a change by somebody else just before Weft writes other
// rows, or before Weft confirms them.
func TestChangeWithWrite(t *testing.T) {
	for _, before := range []string{"Write", "Confirm"} {
		t.Run(before, func(t *testing.T) {
			on(t, func(b *bed) {
				b.held()
				b.clean(put(all()...)...)
				ready, _ := b.counts()
				foreign := func(now string) {
					if now == before {
						b.sw.Change("CONFIG_DB", "DSCP_TO_TC_MAP", func(t sonictest.Table) {
							t["weft"] = map[string]any{"8": "5"}
						})
					}
				}
				foreign("Write")
				if refused, err := b.s.Write(b.t.Context(), remove(route)); len(refused) > 0 || err != nil {
					b.t.Fatal(refused, err)
				}
				foreign("Confirm")
				if _, err := b.s.Confirm(b.t.Context(), remove(route)); err != nil {
					b.t.Fatal(err)
				}
				time.Sleep(time.Second)
				if now, _ := b.counts(); now != ready+1 {
					b.t.Errorf("told %d times, want once", now-ready)
				}
			})
		})
	}
}

// TestRealUpdater: Weft's writes pass SONiC's generic_config_updater, if available, with the same
// result.
func TestRealUpdater(t *testing.T) {
	updater, release := sonictest.Real(t)
	for _, c := range []struct {
		name string
		f    func(b *bed)
	}{{"rows", rows}, {"lost SID", lostSID}, {"last row", lastRow}, {"only SID", onlySID}} {
		t.Run(release+" "+c.name, func(t *testing.T) { onUpdater(t, updater, c.f) })
	}
}

// TestLostRoute: a route in CONFIG_DB that APPL_DB has lost does not count as held; the next look
// notices the loss, and a new write makes the route new.
func TestLostRoute(t *testing.T) {
	on(t, func(b *bed) {
		b.held()
		b.clean(put(route, host)...)
		b.sw.Change("APPL_DB", "ROUTE_TABLE", func(t sonictest.Table) { delete(t, "2001:db8::1") })
		time.Sleep(6 * time.Second)
		if ready, _ := b.counts(); ready != 2 {
			t.Errorf("ready %d times, want twice", ready)
		}
		if held := b.held(); held[host.Key()] != nil || held[route.Key()] == nil {
			t.Errorf("it holds %v", held)
		}
		b.clean(put(host)...)
		if held := b.held(); held[host.Key()] == nil {
			t.Errorf("after the repair it holds %v", held)
		}
	})
}

// TestErrorAfter: a Set that answers an error and takes effect is done.
func TestErrorAfter(t *testing.T) {
	on(t, func(b *bed) {
		b.sw.SetWarts(sonictest.Warts{ErrorAfter: 1})
		b.clean(put(locator, un)...)
		if n := b.sw.Sets(); n != 1 {
			t.Errorf("%d Sets, want 1", n)
		}
	})
}

// TestRefusal: a row that the switch refuses holds up its table, and no other; the message is the
// switch's.
func TestRefusal(t *testing.T) {
	on(t, func(b *bed) {
		b.sw.Refuse(func(patch []sonictest.Op) error {
			for _, op := range patch {
				if strings.HasPrefix(op.Path, "/STATIC_ROUTE") {
					return errors.New("data loading failed: nexthop")
				}
			}
			return nil
		})
		refused := b.write(put(locator, un, route, host, dscp)...)
		if len(refused) != 2 || !strings.Contains(refused[route.Key()], "nexthop") ||
			!strings.Contains(refused[host.Key()], "nexthop") {
			t.Errorf("refused: %v", refused)
		}
		if held := b.held(); held[un.Key()] == nil || held[dscp.Key()] == nil {
			t.Errorf("it holds %v", held)
		}
		odd := b.write(put(entry.RowOf("VLAN", "Vlan10"))...)
		if len(odd) != 1 || !strings.Contains(odd["VLAN|Vlan10"], "no such table") {
			t.Errorf("a table that is not Weft's: %v", odd)
		}
	})
}

// TestCannotTrim: a switch that says that it cannot trim gets no settings for it.
func TestCannotTrim(t *testing.T) {
	on(t, func(b *bed) {
		b.sw.SetWarts(sonictest.Warts{CannotTrim: true})
		refused := b.write(put(append(trimming, dscp)...)...)
		if len(refused) != 2 || !strings.Contains(refused[trimming[0].Key()], "SWITCH_TRIMMING_CAPABLE") {
			t.Errorf("refused: %v", refused)
		}
		if rows := b.sw.Rows("CONFIG_DB", "SWITCH_TRIMMING"); len(rows) > 0 {
			t.Errorf("it has %v", rows)
		}
	})
}

// TestDrift: after a change by somebody else, the session reports the switch as ready again within
// a second, but not after its own writes.
func TestDrift(t *testing.T) {
	on(t, func(b *bed) {
		b.held()
		b.clean(put(all()...)...)
		time.Sleep(20 * time.Second)
		if ready, _ := b.counts(); ready != 1 {
			t.Fatalf("ready %d times after what it has written itself, want once", ready)
		}
		for i, change := range []func(){
			func() { b.sw.LoseSID(un.Name) },
			func() {
				b.sw.Change("CONFIG_DB", "STATIC_ROUTE", func(t sonictest.Table) { delete(t, host.Name) })
			},
			func() {
				b.sw.Change("CONFIG_DB", "PORT_QOS_MAP", func(t sonictest.Table) {
					t["Ethernet8"]["dscp_to_tc_map"] = "AZURE"
				})
			},
		} {
			change()
			time.Sleep(time.Second)
			if ready, _ := b.counts(); ready != i+2 {
				t.Fatalf("ready %d times after change %d, want %d", ready, i, i+2)
			}
			b.held() // who is told reads it
			b.clean(put(all()...)...)
		}
		b.sw.Change("CONFIG_DB", "PORT", func(t sonictest.Table) { t["Ethernet8"]["fec"] = "rs" })
		time.Sleep(20 * time.Second)
		if ready, _ := b.counts(); ready != 4 {
			t.Errorf("ready %d times after a change of no table of Weft's, want 4", ready)
		}
	})
}

// TestReconnect: a lost connection is reported and made again.
func TestReconnect(t *testing.T) {
	on(t, func(b *bed) {
		b.server.Stop()
		time.Sleep(time.Second)
		if _, downs := b.counts(); downs == 0 {
			t.Error("nobody was told that it is down")
		}
		if _, err := b.s.Read(t.Context()); err == nil {
			t.Error("a switch that does not answer was read")
		}
		if _, err := b.s.Write(t.Context(), put(dscp)); !errors.Is(err, southbound.ErrNotConnected) {
			t.Errorf("a write: %v", err)
		}
		b.serve()
		time.Sleep(time.Minute)
		if ready, _ := b.counts(); ready != 2 {
			t.Errorf("ready %d times, want twice", ready)
		}
		b.clean(put(dscp)...)
	})
}

// TestPorts: the states of ports come by the names of interfaces.
func TestPorts(t *testing.T) {
	on(t, func(b *bed) {
		b.sw.Change("APPL_DB", "PORT_TABLE", func(t sonictest.Table) {
			t["Ethernet16"]["oper_status"] = "down"
		})
		time.Sleep(time.Second)
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		want := map[uint32]bool{1: true, 2: true, 3: false, 4: true}
		if !maps.Equal(b.ports.Up, want) || b.ports.Err != nil {
			t.Errorf("ports are %v, want %v (%v)", b.ports.Up, want, b.ports.Err)
		}
	})
}

// TestNeighbors: the session reports a neighbor seen by lldpd once, and again after a change: the
// first neighbor at the next look, because the table cannot be subscribed to before, and later
// neighbors within a second.
func TestNeighbors(t *testing.T) {
	on(t, func(b *bed) {
		told := func(within time.Duration, n int, want southbound.Neighbors) {
			t.Helper()
			time.Sleep(within)
			b.counts()
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.heard) != n || !maps.Equal(b.heard[n-1], want) {
				t.Errorf("told %v, want %d times, last %v", b.heard, n, want)
			}
		}
		row := func(iface, system string) {
			b.sw.Change("APPL_DB", "LLDP_ENTRY_TABLE", func(t sonictest.Table) {
				delete(t, iface)
				if system != "" {
					t[iface] = map[string]any{"lldp_rem_sys_name": system, "lldp_rem_port_id": "etp2",
						"lldp_rem_port_desc": "Ethernet8", "lldp_rem_chassis_id": "02:00:00:00:00:07",
						"lldp_rem_index": "1"}
				}
			})
		}
		of := func(system string) southbound.Neighbor {
			return southbound.Neighbor{System: system, Chassis: "02:00:00:00:00:07", Port: "etp2",
				PortText: "Ethernet8"}
		}
		told(0, 1, southbound.Neighbors{})
		row("Ethernet0", "s7")
		told(10*time.Second, 2, southbound.Neighbors{"Ethernet0": of("s7")})
		row("Ethernet0", "s8")
		told(time.Second, 3, southbound.Neighbors{"Ethernet0": of("s8")})
		row("Ethernet24", "s9")
		told(time.Second, 4, southbound.Neighbors{"Ethernet0": of("s8"), "Ethernet24": of("s9")})
		row("Ethernet24", "")
		told(time.Second, 5, southbound.Neighbors{"Ethernet0": of("s8")})
		row("Ethernet0", "")
		told(time.Second, 6, southbound.Neighbors{})
		told(time.Minute, 6, southbound.Neighbors{})
		if _, downs := b.counts(); downs > 0 {
			t.Errorf("lost %d times", downs)
		}
	})
}

// TestSIDCounters: SID counters arrive with port counters once the switch has SIDs; the stream that
// the switch refused until then does not disturb other streams.
func TestSIDCounters(t *testing.T) {
	on(t, func(b *bed) {
		want := func(what string, all map[netip.Prefix]gnmi.SID) {
			t.Helper()
			time.Sleep(2 * time.Second)
			b.mu.Lock()
			defer b.mu.Unlock()
			if !maps.Equal(b.sids, all) {
				t.Errorf("%s: %v, want %v", what, b.sids, all)
			}
			clear(b.sids)
		}
		of := func(prefix string, packets, octets uint64) gnmi.SID {
			return gnmi.SID{Prefix: netip.MustParsePrefix(prefix),
				Packets: gnmi.Count{Value: packets, OK: true}, Octets: gnmi.Count{Value: octets, OK: true}}
		}
		first := of("fcbb:bbbb:20::/48", 3, 300)
		want("without SIDs", map[netip.Prefix]gnmi.SID{})
		b.clean(put(locator, un)...)
		b.sw.Carry(first.Prefix, 3, 300)
		time.Sleep(30 * time.Second)
		want("a SID", map[netip.Prefix]gnmi.SID{first.Prefix: first})

		second := of("fcbb:bbbb:20:f1::/64", 1, 80)
		b.clean(put(udt)...)
		b.sw.Carry(second.Prefix, 1, 80)
		want("a SID that the gNMI server does not know yet",
			map[netip.Prefix]gnmi.SID{first.Prefix: first})
		b.sw.RestartGNMI()
		want("both", map[netip.Prefix]gnmi.SID{first.Prefix: first, second.Prefix: second})

		b.clean(remove(un)...)
		want("the first is gone", map[netip.Prefix]gnmi.SID{second.Prefix: second})
		if _, downs := b.counts(); downs > 0 {
			t.Errorf("lost %d times", downs)
		}
	})
}

// TestRowNames: a row whose name has "/" and "~" is written, changed and removed by that name: the
// server takes elements of a Set for parts of a JSON Pointer (RFC 6901, section 3).
func TestRowNames(t *testing.T) {
	on(t, func(b *bed) {
		const name = "a~1b/c~0d"
		first := entry.RowOf("DSCP_TO_TC_MAP", name, entry.CellOf("8", "3"))
		second := entry.RowOf("DSCP_TO_TC_MAP", name, entry.CellOf("8", "4"))
		before := len(b.sw.Rows("CONFIG_DB", "DSCP_TO_TC_MAP"))
		for _, r := range []entry.Row{first, second} {
			b.clean(put(r)...)
			if rows := b.sw.Rows("CONFIG_DB", "DSCP_TO_TC_MAP"); len(rows) != before+1 ||
				!entry.Equal(b.held()[r.Key()], r) {
				t.Errorf("after %s was written there are %v", r, rows)
			}
		}
		b.clean(remove(second)...)
		if rows := b.sw.Rows("CONFIG_DB", "DSCP_TO_TC_MAP"); len(rows) != before {
			t.Errorf("after the removal there are %v", rows)
		}
	})
}

// TestRouteOfVRF: a route outside of the default VRF counts as held without a look at APPL_DB,
// whose table has routes of the default VRF alone.
func TestRouteOfVRF(t *testing.T) {
	on(t, func(b *bed) {
		red := entry.RowOf("STATIC_ROUTE", "Vrf-red|fcbb:bbbb:31::/48",
			entry.CellOf("nexthop", "fe80::1"), entry.CellOf("ifname", "Ethernet8"))
		b.clean(put(red)...)
		if held := b.held(); held[red.Key()] == nil {
			t.Errorf("it holds %v", held)
		}
	})
}
