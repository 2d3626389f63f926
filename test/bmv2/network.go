//go:build linux

package bmv2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

const (
	program      = "simple_switch_grpc"
	mtu          = 9500
	queueDepth   = 4096 // packets; the default of 64 loses copies of a burst
	firstGRPC    = 9559 // ports inside the namespace: the first switch's, counting up
	firstThrift  = 9090
	startTimeout = 30 * time.Second
	thriftRetry  = 20 * time.Millisecond
)

// MaxFrame is the length of the longest frame a tap can see.
const MaxFrame = mtu + 14

// Require skips the test unless this machine can run BMv2 switches.
func Require(t testing.TB) {
	t.Helper()
	for _, tool := range []string{program, "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped: %s is not on the PATH", tool)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: network namespaces and veth pairs need root")
	}
}

// Network is a running network of BMv2 switches.
type Network struct {
	ns       *afpackettest.Namespace
	switches map[string]*process
	taps     map[Port]*Tap
	cables   []cable
	sender   int // packet socket for Inject; 0 before there is one
}

// process is one running simple_switch_grpc.
type process struct {
	*Process
	name  string
	relay *relay
	stop  sync.Once
}

// Start builds the network and waits until every switch answers P4Runtime. The switches have no
// pipeline yet.
func Start(ctx context.Context, topology Topology) (*Network, error) {
	if err := topology.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ns, err := afpackettest.New()
	if err != nil {
		return nil, err
	}
	n := &Network{ns: ns, switches: map[string]*process{}, taps: map[Port]*Tap{}}
	if err := n.start(ctx, topology); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Network) start(ctx context.Context, topology Topology) error {
	interfaces, err := n.wire(topology)
	if err != nil {
		return err
	}
	for i, s := range topology.Switches {
		if err := n.launch(i, s, interfaces[s.Name]); err != nil {
			return err
		}
	}
	for i, s := range topology.Switches {
		if err := n.await(ctx, n.switches[s.Name], i); err != nil {
			return fmt.Errorf("switch %s: %w", s.Name, err)
		}
	}
	return nil
}

// wire makes the veth pairs and opens the taps. It returns the -i arguments of each switch.
func (n *Network) wire(topology Topology) (map[string][]string, error) {
	var script strings.Builder
	interfaces := map[string][]string{}
	pair := 0
	veth := func(near, far string) {
		fmt.Fprintf(&script, "link add %s mtu %d type veth peer name %s mtu %d\n", near, mtu, far, mtu)
		fmt.Fprintf(&script, "link set %s up\nlink set %s up\n", near, far)
		pair++
	}
	attach := func(p Port, name string) {
		interfaces[p.Switch] = append(interfaces[p.Switch], fmt.Sprintf("%d@%s", p.Port, name))
	}
	// What is at the ends of the pairs, a and b; no port at b is a tap.
	var ends [][2]Port
	for _, l := range topology.Links {
		a, b := fmt.Sprintf("a%d", pair), fmt.Sprintf("b%d", pair)
		veth(a, b)
		attach(l[0], a)
		attach(l[1], b)
		ends = append(ends, l)
	}
	for _, p := range topology.Taps {
		a, b := fmt.Sprintf("a%d", pair), fmt.Sprintf("b%d", pair)
		veth(a, b)
		attach(p, a)
		ends = append(ends, [2]Port{p})
	}
	return interfaces, n.ns.Do(func() error {
		if err := ipBatch(script.String()); err != nil {
			return err
		}
		for i, ports := range ends {
			a, err := net.InterfaceByName(fmt.Sprintf("a%d", i))
			if err != nil {
				return err
			}
			b, err := net.InterfaceByName(fmt.Sprintf("b%d", i))
			if err != nil {
				return err
			}
			n.cables = append(n.cables,
				cable{near: a.Index, far: b.Index, from: ports[1], to: ports[0]},
				cable{near: b.Index, far: a.Index, from: ports[0], to: ports[1]})
			if ports[1] == (Port{}) {
				tap, err := openTap(b)
				if err != nil {
					return err
				}
				n.taps[ports[0]] = tap
			}
		}
		var err error
		n.sender, err = openSender()
		return err
	})
}

func (n *Network) launch(index int, s Switch, interfaces []string) error {
	cpu := s.CPUPort
	if cpu == 0 {
		cpu = defaultCPUPort
	}
	grpcAddress := fmt.Sprintf("127.0.0.1:%d", firstGRPC+index)
	args := []string{"--no-p4", "--log-level", "off", "--device-id", fmt.Sprint(s.DeviceID),
		"--thrift-port", fmt.Sprint(firstThrift + index)}
	for _, i := range interfaces {
		args = append(args, "-i", i)
	}
	args = append(args, "--", "--grpc-server-addr", grpcAddress, "--cpu-port", fmt.Sprint(cpu),
		"--priority-queues", "8")
	cmd := exec.Command(program, args...)
	// when the namespace's thread ends
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	relay, err := newRelay(n.ns, grpcAddress)
	if err != nil {
		return err
	}
	p, err := startProcess(cmd, func() error { return n.ns.Do(cmd.Start) })
	if err != nil {
		relay.close()
		return err
	}
	n.switches[s.Name] = &process{Process: p, name: s.Name, relay: relay}
	return nil
}

// await returns when the switch answers P4Runtime and its queues are deep.
func (n *Network) await(ctx context.Context, p *process, index int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.exited:
			cancel(p.Failure())
		case <-ctx.Done():
		}
	}()
	conn, err := grpc.NewClient(p.relay.listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{
			BaseDelay: 20 * time.Millisecond, Multiplier: 1.2, MaxDelay: time.Second}}))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := p4v1.NewP4RuntimeClient(conn).Capabilities(ctx, &p4v1.CapabilitiesRequest{},
		grpc.WaitForReady(true)); err != nil {
		return fmt.Errorf("waiting for P4Runtime: %w", errors.Join(err, context.Cause(ctx)))
	}
	if err := n.deepen(ctx, index); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// deepen makes the queues of a switch as deep as tests need. Its Thrift server may come up after
// its P4Runtime server, and has the service for it a little later.
func (n *Network) deepen(ctx context.Context, index int) error {
	ticker := time.NewTicker(thriftRetry)
	defer ticker.Stop()
	for {
		conn, err := dial(ctx, n.ns, fmt.Sprintf("127.0.0.1:%d", firstThrift+index))
		if err == nil {
			if deadline, ok := ctx.Deadline(); ok {
				err = conn.SetDeadline(deadline)
			}
			if err == nil {
				err = setQueueDepths(conn, queueDepth)
			}
			conn.Close()
			if !errors.Is(err, errNoService) {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for Thrift: %w", err)
		}
	}
}

// Target returns the host:port of a switch's P4Runtime server, empty for an unknown switch.
func (n *Network) Target(name string) string {
	if p := n.switches[name]; p != nil && p.relay != nil {
		return p.relay.listener.Addr().String()
	}
	return ""
}

// Tap returns the far end of a port, nil for a port that is not among the topology's taps.
func (n *Network) Tap(p Port) *Tap { return n.taps[p] }

// Kill ends a switch at once, as a crash would. Its ports stay wired to nothing.
func (n *Network) Kill(name string) {
	if p := n.switches[name]; p != nil {
		p.end()
	}
}

func (p *process) end() {
	p.stop.Do(func() {
		p.End()
		p.relay.close()
	})
}

// Close ends every switch and takes the network down. It reports switches that had ended before.
func (n *Network) Close() error {
	var errs []error
	for _, p := range n.switches {
		p.stop.Do(func() {
			select {
			case <-p.exited:
				errs = append(errs, fmt.Errorf("switch %s: %w", p.name, p.Failure()))
			default:
				p.End()
			}
			p.relay.close()
		})
	}
	for _, tap := range n.taps {
		errs = append(errs, tap.close())
	}
	if n.sender > 0 {
		errs = append(errs, unix.Close(n.sender))
	}
	n.ns.Close()
	return errors.Join(errs...)
}
