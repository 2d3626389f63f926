package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/test/worktree"
)

// fault is something that goes wrong for a time.
type fault struct {
	kind string
	// isolated: it takes networks and disks of one's own.
	isolated bool
	// own: it takes an etcd that the controllers form.
	own bool
	// fabric: it is between a controller and the fabric alone, which converges again.
	fabric bool
	// all: no majority of the controllers is well among itself.
	all bool
	// lacks, when not nil, returns what the fault takes that is not here; "": nothing.
	lacks func(b *bed) string
	// do makes the fault at a controller, and undoes it after a time.
	do func(ctx context.Context, b *bed, n *node, r *rand.Rand, d time.Duration) error
}

// Faults between releases.
const (
	upgrade      = "upgrade" // controllers get the present release
	olderRelease = "older release"
)

// faults are all there are.
var faults = []fault{
	{kind: "kill", do: func(ctx context.Context, _ *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		n.kill()
		wait(ctx, d)
		n.start()
		return nil
	}},
	{kind: "kill all", all: true, do: func(ctx context.Context, b *bed, _ *node, _ *rand.Rand,
		d time.Duration) error {
		for _, n := range b.nodes {
			n.kill()
		}
		wait(ctx, d/4)
		for _, n := range b.nodes {
			n.start()
		}
		return nil
	}},
	{kind: "pause", do: func(ctx context.Context, _ *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		n.signal(syscall.SIGSTOP)
		wait(ctx, d)
		n.signal(syscall.SIGCONT)
		return nil
	}},
	{kind: "restart", do: func(ctx context.Context, _ *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		if !n.terminate(patience) {
			return fmt.Errorf("%s does not end %v after SIGTERM", n.name, patience)
		}
		wait(ctx, d/4)
		n.start()
		return nil
	}},
	// Each controller is down in turn, and from then on has the present release.
	{kind: upgrade, all: true, do: func(ctx context.Context, b *bed, last *node, _ *rand.Rand,
		_ time.Duration) error {
		for i := range b.nodes { // the one that is given comes last
			n := b.nodes[(last.number+i)%len(b.nodes)]
			if !n.terminate(patience) {
				return fmt.Errorf("%s does not end %v after SIGTERM", n.name, patience)
			}
			n.mu.Lock()
			n.old = false
			n.mu.Unlock()
			n.start()
			if !n.answers(ctx, patience) {
				return fmt.Errorf("%s does not answer %v after its upgrade", n.name, patience)
			}
		}
		return nil
	}},
	{kind: "cut", isolated: true, do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, true, true))
	}},
	{kind: "cut out", isolated: true, do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, true, false))
	}},
	{kind: "cut in", isolated: true, do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, false, true))
	}},
	{kind: "cut store", isolated: true, do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.cut(ctx, d, b.storeDrops(n))
	}},
	{kind: "cut controllers", isolated: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, true, true, 9443))
	}},
	{kind: "cut controllers out", isolated: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, true, false, 9443))
	}},
	{kind: "cut controllers in", isolated: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return b.cut(ctx, d, b.drops(n, false, true, 9443))
	}},
	{kind: "cut all", isolated: true, all: true, do: func(ctx context.Context, b *bed, _ *node,
		_ *rand.Rand, d time.Duration) error {
		var drops []string
		for _, n := range b.nodes {
			drops = append(drops, b.drops(n, true, false)...)
		}
		return b.cut(ctx, d, drops)
	}},
	// Longer than others: a session is given up 15 s after it has fallen silent.
	{kind: "cut switches", isolated: true, fabric: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return b.cut(ctx, 4*d, between(n, switchNetwork.String()))
	}},
	{kind: "cut hosts", isolated: true, fabric: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return b.cut(ctx, 4*d, between(n, hostAddress.String()))
	}},
	{kind: "unplug", isolated: true, do: func(ctx context.Context, _ *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		hub := fmt.Sprintf("hub%d", n.number)
		if err := ip("link set " + hub + " down"); err != nil {
			return err
		}
		wait(ctx, d)
		return ip("link set " + hub + " up")
	}},
	{kind: "disk full", isolated: true, own: true, do: func(ctx context.Context, _ *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		return fillDisks(ctx, d, n)
	}},
	{kind: "disks full", isolated: true, own: true, all: true, do: func(ctx context.Context, b *bed,
		_ *node, _ *rand.Rand, d time.Duration) error {
		return fillDisks(ctx, d, b.nodes...)
	}},
	{kind: "disk slow", isolated: true, own: true, do: func(ctx context.Context, _ *bed, n *node,
		r *rand.Rand, d time.Duration) error {
		for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			if err := n.disk.freeze(); err != nil {
				return err
			}
			wait(ctx, time.Duration(20+r.IntN(180))*time.Millisecond)
			n.disk.thaw()
			wait(ctx, time.Duration(1+r.IntN(20))*time.Millisecond)
		}
		return nil
	}},
	{kind: "disk stalled", isolated: true, own: true, do: func(ctx context.Context, _ *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		if err := n.disk.freeze(); err != nil {
			return err
		}
		wait(ctx, d)
		n.disk.thaw()
		return nil
	}},
	{kind: "power cut", isolated: true, own: true, do: func(ctx context.Context, _ *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		n.kill()
		if err := n.disk.losePower(); err != nil {
			return err
		}
		wait(ctx, d)
		n.start()
		return nil
	}},
	{kind: "syncs fail", isolated: true, own: true, lacks: noTracer, do: func(ctx context.Context,
		_ *bed, n *node, _ *rand.Rand, d time.Duration) error {
		return n.failSyncs(ctx, d)
	}},
	{kind: "clock ahead", isolated: true, lacks: noClocks, do: func(ctx context.Context, _ *bed,
		n *node, _ *rand.Rand, d time.Duration) error {
		return n.shiftClocks(ctx, d, time.Hour)
	}},
	{kind: "clock behind", isolated: true, lacks: noClocks, do: func(ctx context.Context, _ *bed,
		n *node, _ *rand.Rand, d time.Duration) error {
		return n.shiftClocks(ctx, d, -time.Hour)
	}},
	{kind: "restored beside others", own: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, _ time.Duration) error {
		return b.restoreBeside(ctx, n)
	}},
	{kind: olderRelease, lacks: noOlder, do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.goBack(ctx, n, d)
	}},
	{kind: "other installation", do: func(ctx context.Context, b *bed, n *node, _ *rand.Rand,
		d time.Duration) error {
		return b.contend(ctx, n, d)
	}},
	{kind: "certificate expired", isolated: true, do: func(ctx context.Context, b *bed, n *node,
		_ *rand.Rand, d time.Duration) error {
		if err := b.expire(n); err != nil {
			return err
		}
		n.kill() // connections that are open stay so: it has to make new ones
		n.start()
		wait(ctx, d)
		b.certify(n)
		wait(ctx, d/4)
		n.start() // where it ended, saying why
		return nil
	}},
}

// possible returns the faults that can be made here.
func (b *bed) possible() []fault {
	b.t.Helper()
	var out []fault
	for _, f := range faults {
		switch {
		case f.isolated && !isolated(), f.own && b.outside: // the bed has said why
		case f.lacks != nil && f.lacks(b) != "":
			b.t.Logf("without the fault %s: %s", f.kind, f.lacks(b))
		default:
			out = append(out, f)
		}
	}
	return out
}

// wait waits for a time, or until ctx ends: what follows undoes a fault.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// terminate ends the process in order, and reports whether it ended in time.
func (n *node) terminate(within time.Duration) bool {
	n.signal(syscall.SIGTERM)
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	select {
	case <-ended:
		return true
	case <-time.After(within):
		n.signal(syscall.SIGKILL)
		<-ended
		return false
	}
}

// answers waits until a controller answers a request.
func (n *node) answers(ctx context.Context, within time.Duration) bool {
	c := n.client(time.Second)
	for end := time.Now().Add(within); time.Now().Before(end) &&
		ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
		if _, err := c.Groups().List(ctx, nil); err == nil {
			return true
		}
	}
	return ctx.Err() != nil
}

// drops returns the rules that lose the packets from a node to the other nodes, or from the other
// nodes to the node. With ports, the rules match only connections to these ports.
func (b *bed) drops(n *node, out, in bool, ports ...int) []string {
	var rules []string
	for _, o := range append(b.nodes[:3:3], b.etcd) {
		if o == nil || o == n || o == b.etcd && len(ports) > 0 {
			continue
		}
		if out {
			rules = append(rules, drop(n, o, ports)...)
		}
		if in {
			rules = append(rules, drop(o, n, ports)...)
		}
	}
	return rules
}

// storeDrops are rules by which a node loses the store alone.
func (b *bed) storeDrops(n *node) []string {
	if b.etcd != nil {
		return between(n, b.etcd.address)
	}
	return b.drops(n, true, true, 2380)
}

// between returns the rules that lose all packets between a node and an address.
func between(n *node, address string) []string {
	return []string{fmt.Sprintf("from %s to %s", n.address, address),
		fmt.Sprintf("from %s to %s", address, n.address)}
}

func drop(from, to *node, ports []int) []string {
	flow := fmt.Sprintf("from %s to %s", from.address, to.address)
	if len(ports) == 0 {
		return []string{flow}
	}
	var rules []string
	for _, p := range ports {
		rules = append(rules, fmt.Sprintf("%s ipproto tcp dport %d", flow, p),
			fmt.Sprintf("%s ipproto tcp sport %d", flow, p))
	}
	return rules
}

// cut has the network lose what rules say for a time.
func (b *bed) cut(ctx context.Context, d time.Duration, rules []string) error {
	var begin, end []string
	for _, rule := range rules {
		b.rules++
		begin = append(begin, fmt.Sprintf("rule add priority %d %s blackhole", 100+b.rules, rule))
		end = append(end, fmt.Sprintf("rule del priority %d", 100+b.rules))
	}
	if err := ip(begin...); err != nil {
		return err
	}
	wait(ctx, d)
	return ip(end...)
}

func fillDisks(ctx context.Context, d time.Duration, nodes ...*node) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.disk.fill(0))
	}
	wait(ctx, d)
	for _, n := range nodes {
		errs = append(errs, n.disk.clear())
	}
	return errors.Join(errs...)
}

// noOlder returns why there is no older release.
func noOlder(b *bed) string {
	if b.older == nil {
		return worktree.FromVariable + " names no release to begin with"
	}
	return ""
}

// noTracer returns why syncs cannot be made to fail here.
func noTracer(*bed) string {
	if _, err := exec.LookPath("strace"); err != nil {
		return err.Error()
	}
	return ""
}

// failSyncs has all syncs of a node's processes fail for a time.
func (n *node) failSyncs(ctx context.Context, d time.Duration) error {
	args := []string{"-f", "-q", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
		"inject=fsync,fdatasync:error=EIO"}
	for _, pid := range n.processes() {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	trace := exec.Command("strace", args...)
	if err := trace.Start(); err != nil {
		return err
	}
	wait(ctx, d)
	_ = trace.Process.Signal(syscall.SIGTERM) // an error, as of Wait: it has ended with the processes
	_ = trace.Wait()
	return nil
}

// expire gives a controller a certificate that has expired.
func (b *bed) expire(n *node) error {
	authority, err := certs.LoadAuthority(b.authority.File("ca.pem"), b.authority.File("ca.key"))
	if err != nil {
		return err
	}
	p, err := authority.Issue(certs.Request{Identity: certs.Identity{Kind: certs.KindController,
		Name: n.name}, Hosts: []string{n.address}},
		time.Now().Add(-time.Minute), time.Second)
	if err != nil {
		return err
	}
	return p.Write(filepath.Join(filepath.Dir(b.authority.File("ca.pem")), n.name), true)
}
