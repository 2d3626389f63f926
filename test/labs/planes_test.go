//go:build linux

package labs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Two leaves in two planes, and two hosts. Each host has one address, at a port of each leaf.
const (
	planesTopology = `nodes:
- {name: L1, routerId: 10.0.0.1, loopback: "2001:db8:f::1", locator: "5f00:0:1::/48"}
- {name: L2, routerId: 10.0.0.2, loopback: "2001:db8:f::2", locator: "5f00:0:2::/48"}
`
	planesConfig = `topology: {file: topology.yaml}
neighbors: {protocol: nd}
switches:
- {name: L1, address: "127.0.0.1:9559", mac: "02:00:00:00:00:01"}
- {name: L2, address: "127.0.0.1:9560", mac: "02:00:00:00:00:02"}
hosts:
- {name: A, address: "2001:db8:1:1::a", switch: L1, port: 1, planes: [{switch: L2, port: 1}]}
- {name: B, address: "2001:db8:1:2::b", switch: L1, port: 2, planes: [{switch: L2, port: 2}]}
api: {listen: "127.0.0.1:8080"}
`
	// silence is how long a kernel has been asked several times without an answer.
	silence = 4 * time.Second
)

// TestOneAddressOverPlanes: with an address on one kernel interface, neighbor discovery finds the
// address only at that interface. With the address on each interface, or with proxy_ndp entries,
// the leaf of each plane finds the MAC of its port (OCP MRC 1.0 section 11.5).
func TestOneAddressOverPlanes(t *testing.T) {
	if testing.Short() {
		t.Skip("processes in real time: the race detector sees nothing of them")
	}
	require(t, "unshare", "nsenter", "ip")
	dir := t.TempDir()
	for name, text := range map[string]string{"topology.yaml": planesTopology,
		"controller.yaml": planesConfig} {
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
	out, err := run(ctx, dir, []string{"WEFT_LAB_INSIDE=planes", "WEFT_LAB_LOGS=" + dir,
		"WEFT_LAB_PROGRAM=" + program}, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
		"--mount-proc", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", self)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "controller.log")) // where there is one
		t.Fatalf("%v\n%s\ncontroller:\n%s", err, out, log[max(0, len(log)-3000):])
	}
	t.Log(out)
}

// kernelHost is a namespace with an interface a plane.
type kernelHost struct {
	name, address string
	pid           int
}

// sh runs a command of the shell in the namespace.
func (h *kernelHost) sh(ctx context.Context, command string) error {
	_, err := run(ctx, ".", nil, "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", h.pid), "sh", "-ec",
		command)
	return err
}

// newKernelHost makes a namespace, with interfaces to a port of each leaf.
func newKernelHost(ctx context.Context, name, address string, port int) (*kernelHost, error) {
	cmd := exec.CommandContext(ctx, "unshare", "--net", "sh", "-c", "echo ready; exec sleep 3600")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	}
	if err != nil {
		return nil, err
	}
	h := &kernelHost{name, address, cmd.Process.Pid}
	for plane := 1; plane <= 2; plane++ {
		leaf := fmt.Sprintf("L%d-eth%d", plane, port)
		_, err := run(ctx, ".", nil, "sh", "-ec", fmt.Sprintf(`ip link add %s type veth peer name eth%d
			ip link set eth%d netns %d
			ip link set %s addrgenmode none up`, leaf, plane, plane, h.pid, leaf))
		if err != nil {
			return nil, err
		}
		if err := h.sh(ctx, fmt.Sprintf("ip link set eth%d address %s up", plane,
			h.mac(plane))); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *kernelHost) mac(plane int) string {
	return fmt.Sprintf("02:00:00:00:%02x:%02x", h.name[0], plane)
}

// found returns a host's MACs by plane, as the controller has discovered them.
func (h *kernelHost) found(ctx context.Context) (macs []string, err error) {
	var page struct {
		Items []api.Host `json:"items"`
	}
	if err := get(ctx, mininetAPI+"/v1/hosts", &page); err != nil {
		return nil, err
	}
	for _, x := range page.Items {
		if x.Name == h.name {
			for _, p := range x.Ports {
				macs = append(macs, p.Status.MAC)
			}
		}
	}
	return macs, nil
}

// await waits until the planes with an interface have the interface's MAC, and fails if another
// plane has a MAC.
func (h *kernelHost) await(ctx context.Context, what string, planes ...int) error {
	return await(ctx, h.name+" "+what, func() error {
		macs, err := h.found(ctx)
		if err != nil {
			return err
		}
		want := []string{"", ""}
		for _, p := range planes {
			want[p-1] = h.mac(p)
		}
		if got := strings.Join(macs, " "); got != strings.Join(want, " ") {
			return fmt.Errorf("MACs %q, want %q", macs, want)
		}
		return nil
	})
}

// planes is TestOneAddressOverPlanes from inside of its namespace.
func planes(ctx context.Context) error {
	a, err := newKernelHost(ctx, "A", "2001:db8:1:1::a", 1)
	if err != nil {
		return err
	}
	b, err := newKernelHost(ctx, "B", "2001:db8:1:2::b", 2)
	if err != nil {
		return err
	}
	for i, leaf := range []string{"L1", "L2"} {
		if err := startProgram(ctx, leaf, "switch", "--grpc-server-addr",
			fmt.Sprintf("127.0.0.1:%d", 9559+i), "-i", "1@"+leaf+"-eth1", "-i",
			"2@"+leaf+"-eth2"); err != nil {
			return err
		}
	}
	if err := startProgram(ctx, "controller", "controller", "--config", "controller.yaml", "--store",
		"memory"); err != nil {
		return err
	}
	if err := await(ctx, "the controller", func() error {
		return get(ctx, mininetAPI+"/readyz", &struct{}{})
	}); err != nil {
		return err
	}
	for _, h := range []*kernelHost{a, b} {
		if err := h.sh(ctx, "ip address add "+h.address+"/128 dev eth1 nodad"); err != nil {
			return err
		}
		if err := h.await(ctx, "has its address at one interface", 1); err != nil {
			return err
		}
	}
	if err := pause(ctx, silence); err != nil {
		return err
	}
	for _, h := range []*kernelHost{a, b} {
		if err := h.await(ctx, "is silent at the other", 1); err != nil {
			return err
		}
	}
	if err := a.sh(ctx, `sysctl -qw net.ipv6.conf.eth2.proxy_ndp=1 net.ipv6.conf.eth2.forwarding=1
		ip neighbor add proxy `+a.address+` dev eth2`); err != nil {
		return err
	}
	if err := b.sh(ctx, "ip address add "+b.address+"/128 dev eth2 nodad noprefixroute"); err != nil {
		return err
	}
	return errors.Join(a.await(ctx, "has an entry of proxy_ndp at the other", 1, 2),
		b.await(ctx, "has its address at both", 1, 2))
}

// startProgram starts weft, whose output goes to a file, until the context ends.
func startProgram(ctx context.Context, name string, args ...string) error {
	log, err := os.Create(filepath.Join(os.Getenv("WEFT_LAB_LOGS"), name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, os.Getenv("WEFT_LAB_PROGRAM"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	return errors.Join(cmd.Start(), log.Close())
}
