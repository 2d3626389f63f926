//go:build linux

package figure1

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/bmv2"
	"github.com/weft-sdn/weft/topology/bgpls/bgplstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bgplstest.LeftByGoBGP()) }

// startTimeout and the other timeouts exceed the longest expected durations, even on a busy
// machine.
const (
	startTimeout    = 60 * time.Second
	programTimeout  = 60 * time.Second
	transferTimeout = 60 * time.Second
	settleTimeout   = 20 * time.Second
)

// TestFigure1OnBMv2 runs the reference topology on BMv2 switches, once in each mode, each time with
// a new controller that has lost its store and finds the last one's group in the switches.
func TestFigure1OnBMv2(t *testing.T) {
	bmv2.Require(t)
	network := lab.Figure1()
	if err := network.Complete(); err != nil {
		t.Fatal(err)
	}
	var topology bmv2.Topology
	for _, s := range network.Switches {
		topology.Switches = append(topology.Switches, bmv2.Switch{Name: s.Name, DeviceID: deviceID})
	}
	for _, h := range network.Hosts {
		sw, port := network.Uplink(h.Name)
		topology.Taps = append(topology.Taps, bmv2.Port{Switch: sw, Port: port})
	}
	for _, l := range network.Links {
		if l.PortA != 0 && l.PortB != 0 {
			topology.Links = append(topology.Links, [2]bmv2.Port{{Switch: l.A, Port: l.PortA},
				{Switch: l.B, Port: l.PortB}})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	switches, err := bmv2.Start(ctx, topology)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := switches.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := &figure{
		network: network, links: topology.Links, switches: switches,
		addresses: map[string]string{}, observers: map[string]*bmv2.Client{}, base: map[string][]string{},
	}
	for _, s := range network.Switches {
		f.addresses[s.Name] = switches.Target(s.Name)
		client, err := bmv2.Observe(f.addresses[s.Name], deviceID)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		f.observers[s.Name] = client
	}
	for i, mode := range []api.GroupMode{api.ModeProvisioned, api.ModeInband} {
		if !t.Run(string(mode), func(t *testing.T) { f.run(t, mode, i) }) {
			return // what the switches are left with is anybody's guess
		}
	}
	t.Run("discovery", func(t *testing.T) { discover(t, f.network, f.addresses) })
}

// figure is the network of BMv2 switches.
type figure struct {
	network   lab.Network
	links     [][2]bmv2.Port
	switches  *bmv2.Network
	addresses map[string]string
	observers map[string]*bmv2.Client
	base      map[string][]string // what the switches hold before there is a group
}

// Octets to transfer, and of a WRITE.
const (
	transferred = 1 << 20
	message     = 128 << 10
)

// run has a new controller make a group, transfers data, and has all sorts of packets pass.
func (f *figure) run(t *testing.T, mode api.GroupMode, round int) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), programTimeout)
	defer cancel()
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: f.network, Listen: "127.0.0.1:0",
		Elsewhere: f.addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	defer f.join(t, live)()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	f.awaitSettled(ctx, t, live)
	t.Logf("%v: six BMv2 switches are programmed", time.Since(begin))

	if round == 0 {
		for name, client := range f.observers {
			entities, err := contents(ctx, client)
			if err != nil {
				t.Fatal(err)
			}
			f.base[name] = digest(entities)
		}
	} else {
		f.deleteOrphans(ctx, t, live)
		f.awaitBase(ctx, t)
		t.Logf("%v: the last controller's group is gone", time.Since(begin))
	}

	var group *lab.Group
	data := make([]byte, transferred)
	seed := [32]byte{byte(round + 1)}
	if _, err := rand.NewChaCha8(seed).Read(data); err != nil {
		t.Fatal(err)
	}
	do(t, live, func() error {
		qp := rc.DefaultQPConfig()
		qp.Window = 8           // more than 30 at once would not fit BMv2's ring of a port
		qp.LocalAckTimeout = 21 // 8.6 s
		group, err = live.World.NewGroup(lab.GroupConfig{
			Proxy: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff,
				15: byte(round + 1)}),
			DesignatedQPN: 0x00beef, Source: "S1",
			Receivers: []string{"R1", "R2", "R3", "R4", "R5"}, InitialPSN: 0xffff80, QP: qp,
			Memory: len(data),
		})
		return err
	})
	made := f.post(ctx, t, live, "figure1", spec(mode, group))
	if mode == api.ModeInband {
		do(t, live, func() error { return group.Encapsulate(made.Status.Tree) })
	}
	t.Logf("%v: the group is programmed, epoch %d", time.Since(begin), made.Status.Epoch)

	c := newComparison()
	cache := new(p4rt.Cache)
	for name, client := range f.observers {
		if c.twins[name], err = newTwin(ctx, name, client, cache); err != nil {
			t.Fatalf("switch %s: %v", name, err)
		}
	}
	recorder, err := f.switches.Record(c.record)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := recorder.Close(); err != nil {
			t.Error(err)
		}
	}()

	traffic := lab.NewTraffic()
	do(t, live, func() error {
		live.World.AddTap(traffic)
		return nil
	})
	f.transfer(t, live, group, data)
	t.Logf("%v: the transfer is over", time.Since(begin))
	settle(t, c)
	t.Logf("%v: %d frames compared", time.Since(begin), c.seen)
	m := &maker{network: &f.network, group: group, mode: mode, tree: made.Status.Tree,
		epoch: made.Status.Epoch}
	do(t, live, func() error {
		m.next = group.SourceQP.UnackedPSN()
		f.check(t, group, traffic)
		for _, h := range f.network.Hosts {
			host, err := live.World.Host(h.Name)
			if err != nil {
				return err
			}
			host.Stop() // from now on the test speaks for them
		}
		return nil
	})
	checkTree(t, m, c)
	f.checkState(t, live, m)

	c.awaited = 0
	rng := rand.New(rand.NewPCG(uint64(round), 1))
	list := m.samples(rng)
	f.play(t, c, list)
	t.Logf("%v: %d samples played, %d frames compared", time.Since(begin), len(list), c.seen)
	f.compare(t, c)
	if mode == api.ModeInband {
		ctx, cancel := context.WithTimeout(t.Context(), programTimeout)
		defer cancel()
		f.congest(ctx, t, live, m, c)
		for _, name := range []string{"figure1", "congested"} {
			f.request(ctx, t, http.MethodDelete, live.URL()+groups+"/"+name, nil, nil)
		}
		f.awaitBase(ctx, t)
		t.Logf("%v: deleted", time.Since(begin))
	}
}

// compare compares what can be read from a switch.
func (f *figure) compare(t *testing.T, c *comparison) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeout)
	defer cancel()
	for _, s := range f.network.Switches {
		c.twins[s.Name].compareCounters(ctx, t)
		c.twins[s.Name].compareEntries(t.Context(), t)
	}
}

// awaitSettled waits until the controller takes the topology for the whole network and every switch
// holds what follows from that. Until then the controller may aggregate routes at any time, and a
// twin has the entries of the moment in which it was made.
func (f *figure) awaitSettled(ctx context.Context, t *testing.T, live *lab.Live) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		var list struct{ Items []api.SwitchStatus }
		f.request(ctx, t, http.MethodGet, live.URL()+"/v1/switches", nil, &list)
		unsettled := slices.IndexFunc(list.Items, func(s api.SwitchStatus) bool {
			return s.Settling || !s.Synced
		})
		if len(list.Items) == len(f.network.Switches) && unsettled < 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the switches are not settled: %+v", list.Items)
		}
	}
}

// deleteOrphans deletes the remains of the last controller's group from the switches. The present
// controller starts without the group's intent and keeps the group until a client deletes the
// remains.
func (f *figure) deleteOrphans(ctx context.Context, t *testing.T, live *lab.Live) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	waiting := map[string]bool{}
	for name := range f.observers {
		waiting[name] = true
	}
	for len(waiting) > 0 {
		var list struct{ Items []api.Orphan }
		f.request(ctx, t, http.MethodGet, live.URL()+"/v1/orphans", nil, &list)
		for _, o := range list.Items {
			if o.Kind != api.OrphanGroup {
				t.Fatalf("an orphan that is no group: %+v", o)
			}
			if waiting[o.Switch] {
				f.request(ctx, t, http.MethodDelete, live.URL()+"/v1/orphans/"+o.Name, nil, nil)
				delete(waiting, o.Switch)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("no orphan is known of %v", slices.Sorted(maps.Keys(waiting)))
		}
	}
}

// awaitBase waits until every switch holds what it held before there was a group.
func (f *figure) awaitBase(ctx context.Context, t *testing.T) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for name, client := range f.observers {
		for {
			entities, err := contents(ctx, client)
			if err != nil {
				t.Fatal(err)
			}
			now := digest(entities)
			if slices.Equal(now, f.base[name]) {
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				t.Fatalf("%s holds %d entities, %d before there was a group; more are\n%v\nfewer are\n%v",
					name, len(now), len(f.base[name]), without(now, f.base[name]), without(f.base[name], now))
			}
		}
	}
}

// without returns the elements of list that other lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		return slices.Contains(other, s)
	})
}

// do runs f on the world's goroutine.
func do(t *testing.T, live *lab.Live, f func() error) {
	t.Helper()
	var err error
	if stopped := live.Clock.Do(t.Context(), func(time.Duration) { err = f() }); stopped != nil {
		t.Fatal(stopped)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, c *comparison) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeout)
	defer cancel()
	if err := c.settle(ctx); err != nil {
		t.Fatal(err)
	}
}

// join connects the hosts of a world to the taps, until leave is called.
func (f *figure) join(t *testing.T, live *lab.Live) (leave func()) {
	t.Helper()
	var readers sync.WaitGroup
	var taps []*bmv2.Tap
	for _, s := range f.network.Switches {
		node, err := live.World.Switch(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		do(t, live, func() error {
			node.RunElsewhere(func(port uint32, frame []byte) {
				if _, err := f.switches.Tap(bmv2.Port{Switch: s.Name, Port: port}).Write(frame); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
	}
	for _, h := range f.network.Hosts {
		sw, port := f.network.Uplink(h.Name)
		node, err := live.World.Switch(sw)
		if err != nil {
			t.Fatal(err)
		}
		tap := f.switches.Tap(bmv2.Port{Switch: sw, Port: port})
		if err := tap.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		taps = append(taps, tap)
		readers.Go(func() {
			frame := make([]byte, bmv2.MaxFrame)
			for {
				n, err := tap.Read(frame)
				if err != nil {
					return
				}
				if live.Clock.Do(context.Background(), func(now time.Duration) {
					node.Transmit(now, port, frame[:n])
				}) != nil {
					return
				}
			}
		})
	}
	return func() {
		for _, tap := range taps {
			if err := tap.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Error(err)
			}
		}
		readers.Wait()
	}
}

// spec asks for what the hosts of a group have.
func spec(mode api.GroupMode, group *lab.Group) api.MulticastGroupSpec {
	s := api.MulticastGroupSpec{
		ProxyAddress: group.Config.Proxy, DesignatedQPN: group.Config.DesignatedQPN,
		InitialPSN: group.Config.InitialPSN, Mode: mode,
		Source: api.GroupSource{Address: group.Source.Config().Addr, QPN: group.SourceQP.Config().QPN},
		// Differences that depend on the time must not show: BMv2's time is the world's, the twins' is
		// not.
		CNPWindow: api.Duration(time.Hour), NackHoldoff: api.Duration(time.Hour),
	}
	for _, r := range group.Receivers {
		s.Receivers = append(s.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	return s
}

const groups = "/v1/multicast-groups"

// post makes a group by one request and waits until it is programmed.
func (f *figure) post(ctx context.Context, t *testing.T, live *lab.Live, name string,
	s api.MulticastGroupSpec) api.MulticastGroup {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "spec": s})
	if err != nil {
		t.Fatal(err)
	}
	var made api.MulticastGroup
	f.request(ctx, t, http.MethodPost, live.URL()+groups, body, &made)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		f.request(ctx, t, http.MethodGet, live.URL()+groups+"/"+name, nil, &made)
		if c := made.Status.Condition(api.Programmed); c != nil && c.Status {
			return made
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the group is not programmed: %+v", made.Status)
		}
	}
}

func (f *figure) request(ctx context.Context, t *testing.T, method, url string, body []byte,
	into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s: %s", method, url, response.Status, answer)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatal(err)
	}
}

// transfer has the source write and waits for the last acknowledgement.
func (f *figure) transfer(t *testing.T, live *lab.Live, group *lab.Group, data []byte) {
	t.Helper()
	do(t, live, func() error { return group.Write(data, message) })
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.NewTimer(transferTimeout)
	defer timeout.Stop()
	for {
		var done bool
		do(t, live, func() error {
			done = group.Done()
			return group.Pump()
		})
		if done {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout.C:
			t.Fatalf("the source has been acknowledged up to %#06x only", group.SourceQP.UnackedPSN())
		}
	}
}

// check looks at what the transfer has left behind; it runs on the world's goroutine.
func (f *figure) check(t *testing.T, group *lab.Group, traffic *lab.Traffic) {
	t.Helper()
	if corrupt := group.Corrupt(); corrupt != nil {
		t.Errorf("%v do not hold what the source wrote", corrupt)
	}
	if n, first := group.EarlyAcks(); n > 0 {
		t.Errorf("%d early ACKs, the first %s", n, first)
	}
	most := uint64(0)
	for _, r := range group.Receivers {
		if refused := r.Host.Counters().Refused; refused != (rc.Counters{}).Refused {
			t.Errorf("%s has refused packets: %v", r.Host.Name, refused)
		}
		edge, _ := f.network.Uplink(r.Host.Name)
		most = max(most, traffic.Responses(r.Host.Name+"-"+edge))
	}
	if got := traffic.Responses("N6-S1"); got == 0 || got > most {
		t.Errorf("%d ACKs at the source, %d from the busiest receiver", got, most)
	}
}

// checkTree holds the data packets of the transfer against the tree: each crosses each of its links
// once, and no other.
func checkTree(t *testing.T, m *maker, c *comparison) {
	t.Helper()
	packets := transferred / m.group.Config.QP.PMTU
	want := map[[2]bmv2.Port]int{{{}, m.uplink("S1")}: packets}
	for _, n := range m.tree.Nodes {
		for _, b := range n.Branches {
			from, to := bmv2.Port{Switch: n.Switch, Port: b.Port}, bmv2.Port{}
			if b.Child != "" {
				to = m.between(n.Switch, b.Child)
			}
			want[[2]bmv2.Port{from, to}] = packets
		}
	}
	if !maps.Equal(c.data, want) {
		t.Errorf("data packets by link are %v, want %v", c.data, want)
	}
}

// checkState asks the switches, by the API, for what they know after the transfer: packet-outs and
// packet-ins for every branch.
func (f *figure) checkState(t *testing.T, live *lab.Live, m *maker) {
	t.Helper()
	var report api.GroupState
	f.request(t.Context(), t, http.MethodGet, live.URL()+groups+"/figure1/state", nil, &report)
	if !report.Complete || len(report.Nodes) != len(m.tree.Nodes) {
		t.Errorf("the state is not complete: %+v", report)
	}
	last := int64(packet.PSNAdd(m.next, -1))
	for _, n := range report.Nodes {
		for _, b := range n.Branches {
			if !b.Valid || b.AckPSN != last || b.NAKPending || b.MSN != transferred/message ||
				b.Epoch != m.epoch {
				t.Errorf("%s: branch %+v, want PSN %#06x and MSN %d acknowledged", n.Switch, b, last,
					transferred/message)
			}
		}
	}
}

// congest makes a group with a short CNP window, and one receiver sends a CNP. No other packet
// follows: the CNP reaches the source only if each switch on the path reports its window to the
// controller, and the controller polls the switch at the end of the window.
func (f *figure) congest(ctx context.Context, t *testing.T, live *lab.Live, m *maker,
	c *comparison) {
	t.Helper()
	s := spec(api.ModeProvisioned, m.group)
	s.ProxyAddress = s.ProxyAddress.Next()
	s.CNPWindow = api.Duration(20 * time.Millisecond)
	s.Source.QPN += 0x1000 // no two groups have a queue pair in common
	for i := range s.Receivers {
		s.Receivers[i].QPN += 0x1000
	}
	f.post(ctx, t, live, "congested", s)
	p := m.frame("R3", packet.CNPHeader(s.DesignatedQPN), 0)
	p.IPv6.Dst = s.ProxyAddress
	if err := f.switches.Inject(m.uplink("R3"), p.Append(nil)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for {
		for _, got := range c.take() {
			p, _, err := packet.ParseRoCE(got.Octets)
			if err != nil || got.From != m.uplink("S1") {
				continue
			}
			if p.BTH.Opcode != packet.OpCongestionNotification || !p.BTH.BECN ||
				p.BTH.DestQPN != s.Source.QPN ||
				p.IPv6.Src != s.ProxyAddress || p.IPv6.Dst != s.Source.Address ||
				packet.CheckICRC(p.Datagram) != nil {
				t.Errorf("the source gets\n%s\nwant a CNP", dissect(got.Octets))
			}
			t.Logf("the CNP reached the source after %v", time.Since(begin))
			return
		}
		select {
		case <-c.notify:
		case <-ctx.Done():
			t.Fatal("the CNP does not reach the source")
		}
	}
}
