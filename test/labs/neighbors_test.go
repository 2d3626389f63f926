//go:build linux

package labs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api"
)

// Two leaves with a host each, of which the configuration knows nothing but the prefixes of their
// ports.
const (
	neighborsTopology = `nodes:
- name: L1
  routerId: 10.0.0.1
  loopback: "2001:db8:f::1"
  locator: "5f00:0:1::/48"
  prefixes: ["2001:db8:0:1::/64"]
- name: L2
  routerId: 10.0.0.2
  loopback: "2001:db8:f::2"
  locator: "5f00:0:2::/48"
  prefixes: ["2001:db8:0:2::/64"]
links:
- {a: L1, portA: 2, b: L2, portB: 2}
`
	neighborsConfig = `topology: {file: topology.yaml}
neighbors: {protocol: nd, mtu: 8976}
switches:
- name: L1
  address: "127.0.0.1:9559"
  mac: "02:00:00:00:00:01"
  subnets: [{port: 1, prefix: "2001:db8:0:1::/64", learn: true}]
- name: L2
  address: "127.0.0.1:9560"
  mac: "02:00:00:00:00:02"
  subnets: [{port: 1, prefix: "2001:db8:0:2::/64", learn: true}]
api: {listen: "127.0.0.1:8080"}
`
	// within is how long a host may take from link up until it reaches another leaf.
	within = 3 * time.Second
	hostA  = "2001:db8:0:1:0:ff:fe00:a001"
	hostB  = "2001:db8:0:2:0:ff:fe00:b001"
)

// TestNeighbors plugs two Linux hosts in that know nothing of the fabric: they get address, route
// and MTU, and reach each other; also after the controller was killed, for as long as it is gone.
func TestNeighbors(t *testing.T) {
	if testing.Short() {
		t.Skip("processes in real time: the race detector sees nothing of them")
	}
	require(t, "unshare", "ip")
	dir := t.TempDir()
	for name, text := range map[string]string{"topology.yaml": neighborsTopology,
		"controller.yaml": neighborsConfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := weft(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := run(ctx, dir, []string{"WEFT_LAB_INSIDE=neighbors", "WEFT_LAB_LOGS=" + dir,
		"WEFT_LAB_PROGRAM=" + program}, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
		"--mount-proc", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", self)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "controller.log")) // where there is one
		t.Fatalf("%v\n%s\ncontroller:\n%s", err, out, log[max(0, len(log)-3000):])
	}
	t.Log(out)
}

// plugIn is TestNeighbors from inside of its namespace.
func plugIn(ctx context.Context) (err error) {
	ip := func(args string) {
		if err == nil {
			_, err = run(ctx, ".", nil, "ip", strings.Fields(args)...)
		}
	}
	for _, name := range []string{"L1-eth2", "L1-eth1", "L2-eth1"} {
		peer := map[string]string{"L1-eth2": "L2-eth2", "L1-eth1": "A-eth0", "L2-eth1": "B-eth0"}[name]
		ip("link add " + name + " mtu 9000 type veth peer name " + peer + " mtu 9000")
	}
	for _, name := range []string{"L1-eth1", "L1-eth2", "L2-eth1", "L2-eth2"} {
		ip("link set " + name + " addrgenmode none up")
	}
	ip("link set A-eth0 address 02:00:00:00:a0:01")
	ip("link set B-eth0 address 02:00:00:00:b0:01")
	if err != nil {
		return err
	}
	hosts := make(map[string]int) // process that holds the namespace
	for _, name := range []string{"A", "B"} {
		// The kernel's defaults: accept_ra is 1 where nothing forwards.
		cmd := exec.CommandContext(ctx, "unshare", "--net", "sh", "-c", "echo ready; exec sleep 3600")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = io.ReadFull(out, make([]byte, 6))
		}
		if err != nil {
			return err
		}
		hosts[name] = cmd.Process.Pid
		if _, err := run(ctx, ".", nil, "ip", "link", "set", name+"-eth0", "netns",
			fmt.Sprint(cmd.Process.Pid)); err != nil {
			return err
		}
	}
	program := os.Getenv("WEFT_LAB_PROGRAM")
	start := func(name string, args ...string) (*exec.Cmd, error) {
		log, err := os.Create(filepath.Join(os.Getenv("WEFT_LAB_LOGS"), name+".log"))
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout, cmd.Stderr = log, log
		return cmd, errors.Join(cmd.Start(), log.Close())
	}
	for i, name := range []string{"L1", "L2"} {
		if _, err := start(name, "switch", "--grpc-server-addr", fmt.Sprintf("127.0.0.1:%d", 9559+i),
			"-i", "1@"+name+"-eth1", "-i", "2@"+name+"-eth2"); err != nil {
			return err
		}
	}
	controller, err := start("controller", "controller", "--config", "controller.yaml", "--store",
		"memory")
	if err != nil {
		return err
	}
	if err := await(ctx, "the controller", func() error {
		return get(ctx, mininetAPI+"/readyz", &struct{}{})
	}); err != nil {
		return err
	}

	up := time.Now()
	for name, pid := range hosts {
		if _, err := run(ctx, ".", nil, "nsenter", "--net=/proc/"+fmt.Sprint(pid)+"/ns/net", "ip", "link",
			"set", name+"-eth0", "up"); err != nil {
			return err
		}
	}
	reach := func(limit time.Duration) error {
		var last error
		for begin := time.Now(); time.Since(begin) < limit; {
			if last = ping(hosts["A"], hostA, hostB, 100*time.Millisecond); last == nil {
				return nil
			}
			if err := pause(ctx, 10*time.Millisecond); err != nil { // it may have no address yet
				return err
			}
		}
		return fmt.Errorf("A does not reach B in %v: %w", limit, last)
	}
	if err := reach(2 * within); err != nil {
		return err
	}
	took := time.Since(up)
	fmt.Printf("A reached B %v after link up\n", took.Round(10*time.Millisecond))
	if took > within {
		return fmt.Errorf("A reached B after %v: want %v", took, within)
	}
	in := func(args ...string) (string, error) {
		return run(ctx, ".", nil, "nsenter", append([]string{
			fmt.Sprintf("--net=/proc/%d/ns/net", hosts["A"])}, args...)...)
	}
	route, err := in("ip", "-6", "route", "show", "default")
	if err != nil {
		return err
	}
	if want := "default via fe80::ff:fe00:1 dev A-eth0 proto ra"; !strings.HasPrefix(route, want) ||
		!strings.Contains(route, "mtu 8800") {
		return fmt.Errorf("route %q: want %q and mtu 8800", route, want)
	}
	if err := ping(hosts["A"], hostA, "2001:db8:0:1::1", time.Second); err != nil {
		return fmt.Errorf("the gateway: %w", err)
	}
	var page struct {
		Items []api.Host `json:"items"`
	}
	if err := get(ctx, mininetAPI+"/v1/hosts", &page); err != nil {
		return err
	}
	for _, a := range []string{hostA, hostB} {
		i := slices.IndexFunc(page.Items, func(h api.Host) bool {
			return h.Address == netip.MustParseAddr(a)
		})
		if i < 0 || len(page.Items[i].Ports) != 1 ||
			page.Items[i].Ports[0].Status.FoundBy != "neighbor" ||
			page.Items[i].Ports[0].Status.Seen.IsZero() {
			return fmt.Errorf("%s is not among the hosts: %+v", a, page.Items)
		}
	}

	// Without a controller: what the kernel has resolved is forgotten again and again, and the switch
	// answers.
	if err := controller.Process.Kill(); err != nil {
		return err
	}
	_ = controller.Wait() // it was killed
	alone := 5 * time.Second
	if d, err := time.ParseDuration(os.Getenv("WEFT_ALONE")); err == nil {
		alone = d
	}
	pings := 0
	for begin := time.Now(); time.Since(begin) < alone; pings++ {
		if pings%50 == 49 {
			if _, err := in("ip", "-6", "neigh", "flush", "dev", "A-eth0"); err != nil {
				return err
			}
		}
		if err := ping(hosts["A"], hostA, hostB, 2*time.Second); err != nil {
			return fmt.Errorf("without a controller, after %v: %w", time.Since(begin), err)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	fmt.Printf("%d pings without a controller, none lost\n", pings)
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d) // the kernel's timers are the real ones
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ping sends an echo request from the namespace of a process, and waits for the reply.
func ping(pid int, from, to string, limit time.Duration) error {
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		done <- pingHere(pid, from, to, limit)
	}()
	return <-done
}

func pingHere(pid int, from, to string, limit time.Duration) error {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	c, err := net.DialIP("ip6:ipv6-icmp", &net.IPAddr{IP: net.ParseIP(from)},
		&net.IPAddr{IP: net.ParseIP(to)})
	if err != nil {
		return err
	}
	defer c.Close()
	const request, reply = 128, 129
	// The kernel makes the checksum.
	if _, err = c.Write([]byte{request, 0, 0, 0, 0x12, 0x34, 0, 1, 'w', 'e', 'f', 't'}); err != nil {
		return err
	}
	if err = c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	b := make([]byte, 64)
	for {
		n, err := c.Read(b)
		if err != nil {
			return err
		}
		if n == 12 && b[0] == reply {
			return nil
		}
	}
}
