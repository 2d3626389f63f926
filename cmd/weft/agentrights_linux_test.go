package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/device"
	"github.com/weft-sdn/weft/internal/netns"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// nobody is a user and group without rights.
const nobody = 65534

// heard is a controller that tells a test what an agent answers.
type heard struct {
	hoststest.Silent
	answers chan string
}

// Applied, Refused and SelfProbeCounts are answers.
func (h heard) Applied(string, hostapi.Version, []hostapi.Refused) { h.say("applied") }
func (h heard) Refused(_ string, r *hostapi.Refused)               { h.say("refused: " + r.Reason) }
func (h heard) SelfProbeCounts(_ string, c *hostapi.SelfProbeCounts) {
	if len(c.Counts) > 0 && c.Counts[0].Lost > 0 {
		h.say("probes")
	}
}

func (h heard) say(what string) {
	select {
	case h.answers <- what:
	default: // nobody waits for so many
	}
}

// TestAgentRights: each back end of "weft agent" works under another user with just the
// capabilities in docs/agent.md, and names a missing capability.
func TestAgentRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("dropping rights needs root")
	}
	ns, err := netns.New()
	if err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	t.Cleanup(ns.Close)
	if err := errors.Join(ns.Veth("p1", "p1x", 9000), ns.Address("p1", "2001:db8:f1::1/64",
		net.ParseIP("fe80::a"), net.HardwareAddr{2, 0, 0, 0, 0, 1})); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe") // whose folder others may not read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = self.Close() })
	routes := func() (n int) {
		if err := ns.Do(func() error {
			all, err := netlink.RouteListFiltered(netlink.FAMILY_V6, &netlink.Route{
				Protocol: device.Weft}, netlink.RT_FILTER_PROTOCOL)
			n = len(all)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	file := func(dir string) string { return filepath.Join(dir, "paths.json") }
	const probing = " --self-probes --gateway-mac 02:00:00:00:00:01"
	for _, c := range []struct {
		name, flags string
		rights      []uintptr
		own         bool     // the folder of the path file is the user's
		want        []string // answers
		says        string   // when the agent ends
	}{
		{"pathfile", "pathfile", nil, true, []string{"applied"}, ""},
		{"pathfile, a folder of others", "pathfile", nil, false, []string{"permission denied"}, ""},
		{"pathfile with probes", "pathfile" + probing, []uintptr{unix.CAP_NET_RAW}, true,
			[]string{"applied", "probes"}, ""},
		{"pathfile with probes, no right", "pathfile" + probing, nil, true, nil, "CAP_NET_RAW"},
		{"seg6", "seg6 --gateway fe80::a", []uintptr{unix.CAP_NET_ADMIN}, false,
			[]string{"applied"}, ""},
		{"seg6, no right", "seg6 --gateway fe80::a", nil, false, nil, "CAP_NET_ADMIN"},
		{"seg6, another right", "seg6 --gateway fe80::a", []uintptr{unix.CAP_NET_RAW}, false, nil,
			"CAP_NET_ADMIN"},
		{"simulator", "simulator --gateway-mac 02:00:00:00:00:01", []uintptr{unix.CAP_NET_RAW}, false,
			[]string{"applied"}, ""},
		{"simulator, no right", "simulator --gateway-mac 02:00:00:00:00:01", nil, false, nil,
			"CAP_NET_RAW"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "rights")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o755); err != nil { // others may look, and not write
				t.Fatal(err)
			}
			if c.own {
				if err := os.Chown(dir, nobody, nobody); err != nil {
					t.Fatal(err)
				}
			}
			answers := make(chan string, 64)
			to := controllerIn(t, ns, answers, strings.HasPrefix(c.flags, "seg6"))
			cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3")
			cmd.Args = append([]string{"weft", "agent", "--name", "h1", "--controller", to, "-i", "p1",
				"--address", "2001:db8:1::1", "--path-file", file(dir), "--backend"},
				strings.Fields(c.flags)...)
			cmd.ExtraFiles = []*os.File{self}
			cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: c.rights,
				Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := ns.Do(cmd.Start); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			end := func() {
				_ = cmd.Process.Kill() // it may have ended
				<-ended
			}
			late := time.After(patience)
			if c.says != "" {
				select {
				case <-ended:
					if !strings.Contains(said.String(), c.says) {
						t.Errorf("it says %q, want %s", &said, c.says)
					}
				case a := <-answers:
					end()
					t.Errorf("it says %s", a)
				case <-late:
					end()
					t.Errorf("it goes on, and says %q, want %s", &said, c.says)
				}
				return
			}
			var mask uint64
			for _, right := range c.rights {
				mask |= 1 << right
			}
			for _, want := range c.want {
				for got := ""; !strings.Contains(got, want); {
					select {
					case got = <-answers:
					case err := <-ended:
						t.Fatalf("it ends, %v: %s", err, &said)
					case <-late:
						end()
						t.Fatalf("want %s: %s", want, &said)
					}
				}
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			for _, of := range []string{fmt.Sprintf("CapEff:\t%016x\n", mask),
				fmt.Sprintf("CapPrm:\t%016x\n", mask), fmt.Sprintf("Uid:\t%d\t", nobody)} {
				if err != nil || !bytes.Contains(status, []byte(of)) {
					t.Errorf("want %s: %s, %v", of, status, err)
				}
			}
			if strings.HasPrefix(c.flags, "seg6") && routes() == 0 {
				t.Error("Linux has no routes")
			}
			if _, err := os.Stat(file(dir)); c.own && err != nil {
				t.Error(err)
			}
			end()
		})
	}
}

// controllerIn serves hosts in a namespace: it gives host h1 a path and, but for back end seg6, a
// plan for probes; its answers go to a channel. The address is returned.
func controllerIn(t *testing.T, ns *netns.Namespace, answers chan string, seg6 bool) string {
	t.Helper()
	cfg := hosts.DefaultConfig()
	cfg.Epoch = 1
	s, err := hosts.New(cfg, heard{answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	if err := ns.Do(func() (err error) {
		l, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	g.Go(func() error { return s.Serve(t.Context(), l) })
	t.Cleanup(func() {
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	v := hostapi.EV{Port: 1}
	outer := netip.MustParseAddr("fcbb:bbbb:1:9::").As16()
	copy(v.Value[:], outer[:])
	p := &hostapi.Profile{Name: "far", Format: hostapi.Format{Mode: hostapi.FormatSRv6,
		Widths: []uint8{128}}, Mode: hostapi.ModeExplicit, EVs: []hostapi.EV{v}, Count: 1,
		Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:9::/64")}}
	state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p}})
	if err == nil {
		err = s.Set("h1", state)
	}
	if err == nil && !seg6 {
		err = s.SetSelfProbes("h1", &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: 1},
			Interval: 10 * time.Millisecond, Timeout: 10 * time.Millisecond, DeadAfter: 3,
			Report: 50 * time.Millisecond, Targets: slices.Clone(p.EVs)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
