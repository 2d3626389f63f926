//go:build linux

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	weftapi "github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
)

const (
	// program of the switches: the process is in namespaces of its own
	insideEnv   = "WEFT_INTEROP_INSIDE"
	ipv4Env     = "WEFT_INTEROP_IPV4" // not empty: of hosts whose addresses are IPv4
	imageEnv    = "WEFT_INTEROP_IMAGE"
	programEnv  = "WEFT_INTEROP_WEFT"
	weightsEnv  = "WEFT_INTEROP_WEIGHTS" // octets of a model, in place of the default
	wholeTime   = 25 * time.Minute
	firstPSN    = 0xfffff0 // PSNs wrap
	pathMTU     = 4096
	memory      = 8 << 20
	small       = 1 << 20
	message     = 64 << 10
	depth       = 256
	statusOK    = 0
	stateRTS    = 3 // IBV_QPS_RTS
	lossPerMill = 5000
)

const designated = uint32(0xbeef)

// TestInterop runs the steps below in namespaces of its own, once for each program of switches and
// each family of addresses.
func TestInterop(t *testing.T) {
	if os.Getenv("WEFT_INTEROP") == "" {
		t.Skip("make interop runs it: guests under software emulation take minutes")
	}
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it makes network namespaces and interfaces")
	}
	for _, c := range [][2]string{{"qemu-system-x86_64", "qemu-system-x86"},
		{"mmdebstrap", "mmdebstrap"}, {"cpio", "cpio"}, {"ip", "iproute2"}, {"unshare", "util-linux"}} {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Fatalf("%s is not on the PATH: apt-get install %s", c[0], c[1])
		}
	}
	i := withPrograms(t, makeImage(t))
	weft := filepath.Join(t.TempDir(), "weft")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", weft,
		"github.com/weft-sdn/weft/cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("building weft: %v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weft", "weft IPv4", "simple_switch_grpc",
		"simple_switch_grpc IPv4"} {
		t.Run(name, func(t *testing.T) {
			switches, ipv4, _ := strings.Cut(name, " ")
			if _, err := exec.LookPath(switches); err != nil && switches != "weft" {
				t.Skipf("%s is not on the PATH", switches)
			}
			ctx, cancel := context.WithTimeout(t.Context(), wholeTime)
			defer cancel()
			// The namespaces end with their last process, whatever happens.
			cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
				"--mount-proc", self, "-test.run", "^TestInside$", "-test.timeout", "0")
			cmd.Env = append(os.Environ(), insideEnv+"="+switches, imageEnv+"="+i.kernel+":"+i.initrd,
				programEnv+"="+weft, ipv4Env+"="+ipv4)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestInside is the work of TestInterop in its namespaces.
func TestInside(t *testing.T) {
	switches := os.Getenv(insideEnv)
	if switches == "" {
		t.Skip("TestInterop runs it")
	}
	dir := t.TempDir()
	ipv4 := os.Getenv(ipv4Env) != ""
	f, err := newFabric(t.Context(), dir, os.Getenv(programEnv), switches, ipv4)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{T: t, fabric: f, guests: map[string]*guest{}, name: switches, weights: 64 << 20,
		proxies: netip.MustParseAddr("2001:db8:ffff::")}
	if switches != "weft" {
		s.weights = 4 << 20 // six of them on two processors carry some 200 packets a second
	}
	if ipv4 {
		s.name, s.proxies = switches+" IPv4", netip.MustParseAddr("10.255.0.0")
	}
	defer func() {
		for _, g := range s.guests {
			if err := g.kill(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			for name := range f.processes {
				text, _ := os.ReadFile(filepath.Join(dir, name+".log")) // for the reader
				t.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
			}
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}()
	if text := os.Getenv(weightsEnv); text != "" {
		if s.weights, err = strconv.Atoi(text); err != nil || s.weights < tensors {
			t.Fatalf("%s is %q: want octets, of %d tensors", weightsEnv, text, tensors)
		}
	}
	kernel, initrd, _ := strings.Cut(os.Getenv(imageEnv), ":")
	s.boot(image{kernel, initrd}, "S1", "R1", "R2", "R3", "R4", "R5")
	s.plugged()
	s.connect()
	s.run()
}

// A session is the hosts, their group and what they have sent.
type session struct {
	*testing.T
	*fabric
	name     string     // of the run
	weights  int        // octets of the model that is distributed
	proxies  netip.Addr // before the first proxy address
	guests   map[string]*guest
	members  []string // receivers
	group    weftapi.MulticastGroupSpec
	psn, msn uint32 // next PSN, and messages completed
	fill     int
	result   result
}

// result is the line that the test prints.
type result struct {
	Interop     string   `json:"interop"`
	Kernel      string   `json:"kernel"`
	Steps       []string `json:"steps"`
	Octets      uint64   `json:"octets"`
	Lost        uint64   `json:"framesLost"`
	SequenceNAK uint64   `json:"sequenceNaks"` // received by the source
	Seconds     float64  `json:"seconds"`
}

func (s *session) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// boot starts guests side by side, and makes their ports and memory.
func (s *session) boot(i image, names ...string) {
	s.Helper()
	begin := time.Now()
	booted := make([]*guest, len(names))
	var group errgroup.Group
	for k, name := range names {
		group.Go(func() error {
			sw, port := s.network.Uplink(name)
			at := slices.IndexFunc(s.network.Hosts, func(h lab.Host) bool { return h.Name == name })
			h := s.network.Hosts[at]
			g, err := boot(s.ctx, i, s.dir, name, interfaceOf(sw, port), h.MAC.String())
			if err != nil {
				return err
			}
			booted[k] = g
			if err := g.call("setup", arguments{"address": h.Address, "mtu": 4500}, nil); err != nil {
				return err
			}
			var m struct {
				VA   uint64
				RKey uint32
			}
			if err := g.call("memory", arguments{"octets": memory, "fill": 0}, &m); err != nil {
				return err
			}
			g.va, g.rkey = m.VA, m.RKey
			return nil
		})
	}
	err := group.Wait()
	for k, g := range booted {
		if g != nil {
			s.guests[names[k]] = g
		}
	}
	s.check(err)
	s.Logf("%d guests with rdma_rxe are up after %v", len(names), time.Since(begin).Round(time.Second))
}

// proxy returns a proxy address by its number, below 256.
func (s *session) proxy(n int) netip.Addr {
	b := s.proxies.AsSlice()
	b[len(b)-1] = byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

// queuePair makes the queue pair of a guest, toward the group.
func (s *session) queuePair(name string, psn uint32) {
	s.Helper()
	g := s.guests[name]
	s.check(g.call("create", arguments{"depth": depth}, &g.qpn))
	s.check(g.call("connect", arguments{"peer": s.proxy(1), "qpn": designated, "psn": psn}, nil))
}

func (s *session) receiver(name string) weftapi.GroupReceiver {
	g := s.guests[name]
	at := slices.IndexFunc(s.network.Hosts, func(h lab.Host) bool { return h.Name == name })
	return weftapi.GroupReceiver{Address: s.network.Hosts[at].Address, QPN: g.qpn, VA: &g.va,
		RKey: &g.rkey}
}

// put writes the group and waits until it is programmed.
func (s *session) put() weftapi.MulticastGroup {
	s.Helper()
	var g weftapi.MulticastGroup
	s.check(s.request(http.MethodPut, "/v1/multicast-groups/g1", map[string]any{"spec": s.group}, &g))
	version := g.Version
	s.check(await(s.ctx, programTime, func() error {
		if err := s.request(http.MethodGet, "/v1/multicast-groups/g1", nil, &g); err != nil {
			return err
		}
		for _, c := range g.Status.Conditions {
			if c.Type == weftapi.Programmed && c.Status && g.Version >= version {
				return nil
			}
		}
		return fmt.Errorf("the group is not programmed: %+v", g.Status.Conditions)
	}))
	return g
}

// post makes the source send a number of octets by an operation, and returns the number of
// requests. For SEND the receivers have buffers; with immediate data the receivers have a buffer
// for each message.
func (s *session) post(op string, octets int) (count int) {
	s.Helper()
	s.fill++
	source := s.guests["S1"]
	s.check(source.call("refill", arguments{"octets": octets, "fill": s.fill}, nil))
	for _, name := range s.members {
		g := s.guests[name]
		s.check(g.call("refill", arguments{"octets": octets, "fill": 0}, nil))
		if op == "WRITE" {
			continue
		}
		var offsets []int
		for at := 0; at < octets; at += message {
			offsets = append(offsets, at)
		}
		s.check(g.call("receive", arguments{"offsets": offsets, "octets": message}, nil))
	}
	s.check(source.call("post", arguments{"op": op, "octets": octets, "message": message, "va": 0,
		"rkey": 7, "imm": s.fill}, &count))
	return count
}

// finish waits for what post has begun, and compares the memories.
func (s *session) finish(step, op string, octets, count int) {
	s.Helper()
	source := s.guests["S1"]
	s.completions(source, op, count, false)
	s.psn = (s.psn + uint32((octets+pathMTU-1)/pathMTU)) & 0xffffff
	s.msn += uint32(count)
	var want string
	s.check(source.call("digest", arguments{"octets": octets}, &want))
	for _, name := range s.members {
		g := s.guests[name]
		if op != "WRITE" {
			s.completions(g, op, count, strings.HasSuffix(op, "IMM"))
		}
		var got string
		s.check(g.call("digest", arguments{"octets": octets}, &got))
		if got != want {
			s.Fatalf("%s: the memory of %s differs from that of the source", step, name)
		}
	}
	for name := range s.states() {
		var state int
		s.check(s.guests[name].call("state", nil, &state))
		if state != stateRTS {
			s.Fatalf("%s: the queue pair of %s is in state %d: want RTS, %d", step, name, state, stateRTS)
		}
	}
	s.result.Octets += uint64(octets * len(s.members))
	s.result.Steps = append(s.result.Steps, step)
	fmt.Printf("%-20s  %-36s %8d octets to %s: equal, queue pairs in RTS\n", s.name, step, octets,
		strings.Join(s.members, ", "))
}

// states are the guests that take part.
func (s *session) states() map[string]bool {
	out := map[string]bool{"S1": true}
	for _, m := range s.members {
		out[m] = true
	}
	return out
}

// completions waits for a number of completions. All completions must be good and contain the
// step's immediate data.
func (s *session) completions(g *guest, op string, count int, immediate bool) {
	s.Helper()
	var list [][4]*int64
	s.check(g.call("complete", arguments{"count": count, "seconds": 200}, &list))
	if len(list) != count {
		s.Fatalf("%s of %s: %d completions of %d", op, g.name, len(list), count)
	}
	for _, c := range list {
		if *c[0] != statusOK {
			s.Fatalf("%s of %s: completion status %d", op, g.name, *c[0])
		}
		if immediate && (c[2] == nil || *c[2] != int64(s.fill)) {
			s.Fatalf("%s of %s: immediate data %v: want %d", op, g.name, c[2], s.fill)
		}
	}
}

func (s *session) transfer(step, op string, octets int) {
	s.Helper()
	s.finish(step, op, octets, s.post(op, octets))
}

// run is what happens, in order.
func (s *session) run() {
	begin := time.Now()
	s.psn = firstPSN
	s.members = []string{"R1", "R3", "R4"}
	for _, name := range append([]string{"S1"}, s.members...) {
		s.queuePair(name, firstPSN)
	}
	at := slices.IndexFunc(s.network.Hosts, func(h lab.Host) bool { return h.Name == "S1" })
	s.group = weftapi.MulticastGroupSpec{ProxyAddress: s.proxy(1), DesignatedQPN: designated,
		InitialPSN: firstPSN,
		Source:     weftapi.GroupSource{Address: s.network.Hosts[at].Address, QPN: s.guests["S1"].qpn}}
	for _, name := range s.members {
		s.group.Receivers = append(s.group.Receivers, s.receiver(name))
	}
	made := s.put()
	for _, op := range []string{"WRITE", "SEND", "SEND_WITH_IMM", "WRITE_WITH_IMM"} {
		s.transfer(op, op, small)
	}

	s.lose(lossPerMill)
	s.transfer("WRITE, three links lose 0.5 %", "WRITE", memory)
	s.transfer("SEND, three links lose 0.5 %", "SEND", small)
	s.lose(0)
	if s.result.Lost = s.lost(); s.result.Lost == 0 {
		s.Error("the links lost nothing")
	}

	s.queuePair("R5", s.psn)
	joining := s.receiver("R5")
	joining.StartPSN, joining.StartMSN = &s.psn, s.msn
	s.group.Receivers = append(s.group.Receivers, joining)
	s.members = append(s.members, "R5")
	joined := s.put()
	if joined.Status.Epoch == made.Status.Epoch {
		s.Error("the epoch stays when a receiver joins")
	}
	s.transfer("WRITE after R5 joined", "WRITE", small)

	count := s.post("WRITE", memory)
	s.check(s.kill("controller"))
	s.check(s.startController())
	s.finish("WRITE while the controller restarts", "WRITE", memory, count)
	var after weftapi.MulticastGroup
	s.check(s.request(http.MethodGet, "/v1/multicast-groups/g1", nil, &after))
	if after.Status.Epoch != joined.Status.Epoch {
		s.Errorf("the epoch is %d after the controller's restart, and was %d", after.Status.Epoch,
			joined.Status.Epoch)
	}

	count = s.post("WRITE", memory)
	s.check(s.kill("N5"))
	s.check(s.startSwitch("N5"))
	s.finish("WRITE while switch N5 restarts", "WRITE", memory, count)

	count = s.post("WRITE", memory)
	s.check(s.guests["R4"].kill())
	delete(s.guests, "R4")
	s.group.Receivers = slices.DeleteFunc(s.group.Receivers, func(r weftapi.GroupReceiver) bool {
		return r.Address == s.addressOf("R4")
	})
	s.members = slices.DeleteFunc(s.members, func(name string) bool { return name == "R4" })
	s.put()
	s.finish("WRITE while R4 dies and is removed", "WRITE", memory, count)
	s.transfer("SEND_WITH_IMM at the end", "SEND_WITH_IMM", small)

	counters := map[string]uint64{}
	s.check(s.guests["S1"].call("counters", nil, &counters))
	s.result.Interop, s.result.SequenceNAK = s.name, counters["rcvd_seq_err"]
	if s.result.SequenceNAK == 0 {
		s.Error("the source saw no NAK, although frames were lost")
	}
	s.check(s.guests["S1"].call("kernel", nil, &s.result.Kernel))
	s.result.Seconds = time.Since(begin).Seconds()
	line, err := json.Marshal(s.result)
	s.check(err)
	fmt.Println(string(line))
}

func (s *session) addressOf(name string) netip.Addr {
	return s.network.Hosts[slices.IndexFunc(s.network.Hosts, func(h lab.Host) bool {
		return h.Name == name
	})].Address
}
