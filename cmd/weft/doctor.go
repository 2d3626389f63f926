package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
)

// A machine is what weft doctor looks at.
type machine interface {
	// Find returns an error if a program is not on the PATH.
	Find(program string) error
	// Run returns an error if a command fails.
	Run(ctx context.Context, name string, args ...string) error
	// Read returns the text of a file.
	Read(path string) (string, error)
	// Sockets returns an error if this process may not open packet sockets.
	Sockets() error
	// Root reports whether this process is root.
	Root() bool
	// Lacks returns what the kernel lacks to be a switch, or an error if it cannot be asked.
	Lacks() ([]string, error)
}

// A need is something that a use of Weft takes.
type need struct {
	what  string
	check func(ctx context.Context, m machine) error
	fix   string // a command, or advice
}

// A use is a way to use Weft on this machine.
type use struct {
	name, what string
	needs      []need
}

// doctorTime bounds each command that the doctor runs.
const doctorTime = 20 * time.Second

func onPath(program, fix string) need {
	return need{program, func(_ context.Context, m machine) error { return m.Find(program) }, fix}
}

func works(what, fix, name string, args ...string) need {
	return need{what, func(ctx context.Context, m machine) error {
		return m.Run(ctx, name, args...)
	}, fix}
}

var (
	needSockets = need{"packet sockets (CAP_NET_RAW)", func(_ context.Context, m machine) error {
		return m.Sockets()
	}, "sudo, or: sudo setcap cap_net_raw+ep $(command -v weft)"}
	needRoot = need{"root", func(_ context.Context, m machine) error {
		if !m.Root() {
			return errors.New("another user")
		}
		return nil
	}, "sudo"}
	needRDMA = need{"an RDMA device", func(ctx context.Context, m machine) error {
		return m.Run(ctx, "sh", "-c", hasRDMA)
	}, "a NIC with RDMA, or Linux's soft-RoCE: modprobe rdma_rxe, and rdma link add rxe0 type rxe " +
		"netdev eth0"}
	needSRv6 = need{"a kernel with uSIDs", func(_ context.Context, m machine) error {
		lacks, err := m.Lacks()
		if err == nil && len(lacks) > 0 {
			err = errors.New(strings.Join(lacks, ", "))
		}
		return err
	}, "Linux 6.17 or later with CONFIG_IPV6_SEG6_LWTUNNEL"}
	needDocker = works("a Docker daemon", "apt-get install docker.io, and start it: systemctl start "+
		"docker, or dockerd where there is no systemd", "docker", "info")
	needImage   = works("image weft", "make image", "docker", "image", "inspect", "weft")
	needMininet = works("Mininet", "apt-get install mininet", "/usr/bin/python3", "-c",
		"import mininet.net")
	needBridges = need{"bridges that pass IPv6", func(ctx context.Context, m machine) error {
		// Without the module br_netfilter there is no such file, and nothing is filtered.
		text, err := m.Read("/proc/sys/net/bridge/bridge-nf-call-ip6tables")
		if err != nil || strings.TrimSpace(text) != "1" || m.Run(ctx, "sh", "-c", dropsForwarded) != nil {
			return nil
		}
		return errors.New("rules of ip6tables drop what passes the links of a lab")
	}, "sysctl net.bridge.bridge-nf-call-ip6tables=0"}
	needCompose = need{"docker-compose", func(ctx context.Context, m machine) error {
		if m.Find("docker-compose") == nil {
			return nil
		}
		return m.Run(ctx, "docker", "compose", "version")
	}, "apt-get install docker-compose"}
)

// dropsForwarded succeeds where the policy for forwarded IPv6 packets is to drop them.
const dropsForwarded = "ip6tables -S FORWARD 2>/dev/null | grep -qx -- '-P FORWARD DROP'"

// hasRDMA succeeds where the kernel has an RDMA device.
const hasRDMA = "ls /sys/class/infiniband/* >/dev/null 2>&1"

// uses are all uses, the least demanding first.
func uses() []use {
	linux := need{"Linux", func(context.Context, machine) error {
		if runtime.GOOS != "linux" {
			return fmt.Errorf("this is %s", runtime.GOOS)
		}
		return nil
	}, "a virtual machine with Linux"}
	return []use{
		{"lab", "weft lab and weft demo: a network in one process", nil},
		{"interfaces", "weft switch and weft host on network interfaces", []need{linux, needSockets}},
		{"kernel", "weft switch --datapath linux: the kernel as a switch",
			[]need{linux, needRoot, needSRv6}},
		{"mininet", "weft lab export --to mininet", []need{linux, needRoot, needMininet}},
		{"compose", "weft lab export --to compose, make lab-up",
			[]need{linux, onPath("docker", "apt-get install docker.io"), needDocker, needCompose, needImage,
				needBridges}},
		{"containerlab", "weft lab export --to containerlab",
			[]need{linux, needRoot, onPath("docker", "apt-get install docker.io"), needDocker,
				onPath("containerlab", "see containerlab.dev/install"), needImage}},
		{"bmv2", "BMv2 as the switch",
			[]need{linux, onPath("simple_switch_grpc",
				"build p4lang/PI and p4lang/behavioral-model, or use the image p4lang/behavioral-model")}},
		{"interop", "make interop: Linux's soft-RoCE under qemu",
			[]need{linux, needRoot, onPath("qemu-system-x86_64", "apt-get install qemu-system-x86"),
				onPath("mmdebstrap", "apt-get install mmdebstrap"), onPath("cpio", "apt-get install cpio")}},
		{"rdma", "programs of RDMA on this machine, as hosts of groups", []need{linux, needRDMA}},
		{"wireshark", "captures of MRC in Wireshark", []need{onPath("tshark", "apt-get install tshark")}},
	}
}

func newDoctor(env environment) *cobra.Command {
	var names []string
	for _, u := range uses() {
		names = append(names, u.name)
	}
	return &cobra.Command{
		Use: "doctor [USE]...", Short: "Say what this machine lacks for each kind of lab",
		Long: fmt.Sprintf(
			`Checks what this machine has for each use of Weft, and names what is missing with the
command that installs it (Debian's packages). USE is one of %s; by
default all are shown. With a USE the exit status is 1 when something is missing for it.`, strings.Join(names, ", ")),
		Args: cobra.ArbitraryArgs, ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, a := range args {
				if !slices.Contains(names, a) {
					return usagef("doctor: %q: want one of %s", a, strings.Join(names, ", "))
				}
			}
			return doctor(cmd.Context(), env, thisMachine{}, args)
		},
	}
}

func doctor(ctx context.Context, env environment, m machine, asked []string) error {
	g := newGrid("USE", "READY", "MISSING", "WHAT HELPS, OR WHAT IT IS")
	var lacking []string
	known := map[string]error{} // of needs that several uses have
	for _, u := range uses() {
		if len(asked) > 0 && !slices.Contains(asked, u.name) {
			continue
		}
		ready := true
		for _, n := range u.needs {
			err, checked := known[n.what]
			if !checked {
				err = n.check(ctx, m)
				known[n.what] = err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				what := n.what
				if n.what == needSRv6.what {
					what = n.what + ": " + err.Error()
				}
				g.row(u.name, "no", what, n.fix)
				ready = false
			}
		}
		if ready {
			g.row(u.name, "yes", "", u.what)
		} else {
			lacking = append(lacking, u.name)
		}
	}
	if err := writeTable(env.stdout, sure(g.writeTo)); err != nil {
		return err
	}
	if len(asked) > 0 && len(lacking) > 0 {
		return fmt.Errorf("this machine is not ready for %s", strings.Join(lacking, ", "))
	}
	return nil
}

// thisMachine is the machine that the process runs on.
type thisMachine struct{}

func (thisMachine) Find(program string) error {
	_, err := exec.LookPath(program)
	return err
}

func (thisMachine) Run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	return exec.CommandContext(ctx, name, args...).Run()
}

func (thisMachine) Read(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

func (thisMachine) Sockets() error { return afpacket.Allowed() }

func (thisMachine) Root() bool { return os.Geteuid() == 0 }

func (thisMachine) Lacks() ([]string, error) { return kernel.Lacks() }
