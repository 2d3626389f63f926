package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/test/worktree"
)

// Variables of the environment by which the test starts itself again.
const (
	// why the process has no namespaces of its own; "yes": it has
	insideVariable = "WEFT_LINEAR_INSIDE"
	etcdVariable   = "WEFT_LINEAR_ETCD" // the process is an etcd: address and directory
	// the worktree.Release that controllers begin with, as JSON
	olderVariable = "WEFT_LINEAR_OLDER"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(etcdVariable); what != "" {
		if err := serveEtcd(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(insideVariable) == "" {
		if err := buildOlder(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		runtime.LockOSThread() // the program goes on in the namespaces of the thread that starts it again
		if err := enter(); err != nil {
			failed := make(chan error)
			go func() { failed <- again(err.Error()) }() // by a thread in those that it had
			panic(<-failed)
		}
		panic(again("yes"))
	}
	status := m.Run()
	dirs := []string{built}
	var older worktree.Release
	if json.Unmarshal([]byte(os.Getenv(olderVariable)), &older) == nil {
		dirs = append(dirs, filepath.Dir(older.Path))
	}
	for _, dir := range dirs {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}

// buildOlder builds the release of the commit that worktree.FromVariable names: Go may fetch its
// modules, which takes the network outside.
func buildOlder() error {
	commit := os.Getenv(worktree.FromVariable)
	if commit == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "weft-linear-older-")
	if err != nil {
		return err
	}
	older, err := worktree.Earlier("../..", commit, filepath.Join(dir, "weft"))
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	older.Program = "" // too long for the environment
	text, err := json.Marshal(older)
	if err != nil {
		return err
	}
	return os.Setenv(olderVariable, string(text))
}

// again starts the program again in its place, and says how it is; it returns where that fails.
func again(how string) error {
	if err := os.Setenv(insideVariable, how); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}

// enter puts this thread into a network and a mount namespace of its own: what is made in them goes
// with the process.
func enter() error {
	if os.Geteuid() != 0 {
		return errors.New("the test is not root")
	}
	for _, tool := range []string{"ip", "mount", "mkfs.ext4"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("no namespaces of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("no mounts of its own: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	// Rules of cuts come before the local table, because switches and hosts are local.
	return ip("link set lo up", "rule add priority 32000 lookup local", "rule del priority 0",
		fmt.Sprintf("address add %v/%d dev lo", switchNetwork.Addr().Next(), switchNetwork.Bits()),
		fmt.Sprintf("address add %v/32 dev lo", hostAddress))
}

// isolated reports whether the controllers have networks and disks of their own.
func isolated() bool { return os.Getenv(insideVariable) == "yes" }

// ip runs commands of iproute2.
func ip(commands ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", commands, err, out)
	}
	return nil
}

// serveEtcd runs an etcd until SIGTERM.
func serveEtcd(what string) error {
	address, dir, _ := strings.Cut(what, " ")
	c := embed.NewConfig()
	c.Dir, c.ZapLoggerBuilder = dir, embed.NewZapLoggerBuilder(zap.NewNop())
	at := url.URL{Scheme: "http", Host: address}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls = []url.URL{at}, []url.URL{at}, nil
	s, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.Err():
		return err
	}
}

// bed is three controllers and what they stand on.
type bed struct {
	t         *testing.T
	dir       string
	program   string            // of the controllers
	older     *worktree.Release // that they begin with; nil: none
	outside   bool              // the store is an etcd outside
	nodes     []*node
	etcd      *node // nil: the controllers form one
	rival     *node // of another installation; nil: there was none yet
	authority *certstest.Authority
	fabric    *fabric
	rules     int // that the network has had
}

// node is a controller, or the etcd outside.
type node struct {
	b       *bed
	name    string
	number  int
	ns      *afpackettest.Namespace // nil: it is on a loopback address
	address string
	api     string
	hosts   string // where hosts connect
	dir     string
	disk    *disk // nil: none of its own
	env     []string
	args    []string // with the program

	mu     sync.Mutex
	old    bool      // it starts with the older release
	cmd    *exec.Cmd // nil: it does not run
	ended  chan struct{}
	starts int
}

// built is the directory of the program, after a test has asked for the program.
var built string

// program is the program of the controllers: WEFT_BINARY, or that of this source.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("WEFT_BINARY"); path != "" {
		return path, nil
	}
	var err error
	if built, err = os.MkdirTemp("", "weft-linear-build-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "weft")
	cmd := exec.Command("go", "build", "-o", path, "github.com/weft-sdn/weft/cmd/weft")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// newBed starts three controllers, on an etcd outside or on one that they form, with an older
// release, as olderVariable has it; "": with the present one.
func newBed(t *testing.T, outside bool, older string) *bed {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dir: t.TempDir(), outside: outside, program: path,
		authority: certstest.New(t)}
	if older != "" {
		b.older = new(worktree.Release)
		if err := json.Unmarshal([]byte(older), b.older); err != nil {
			t.Fatal(err)
		}
	}
	if !isolated() {
		t.Logf("controllers are processes on loopback addresses, without faults of network, disk and "+
			"certificates: %s", os.Getenv(insideVariable))
	}
	for i := range 3 {
		n := b.newNode(fmt.Sprintf("c%d", i+1), i+1)
		n.old = b.older != nil
		b.nodes = append(b.nodes, n)
	}
	if outside {
		b.etcd = b.newNode("etcd", 4)
	}
	for _, n := range append(b.nodes[:3:3], b.etcd) {
		if n != nil {
			b.place(n)
		}
	}
	b.fabric = newFabric(t)
	b.configure()
	if b.etcd != nil {
		b.etcd.start()
		b.awaitEtcd()
	}
	for _, n := range b.nodes {
		n.start()
	}
	t.Cleanup(func() {
		for _, n := range append(b.nodes[:3:3], b.etcd) {
			if n != nil {
				n.kill()
			}
		}
	})
	b.connect()
	return b
}

// awaitEtcd waits until the etcd outside takes connections: a controller that starts without one
// ends.
func (b *bed) awaitEtcd() {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", b.etcd.api, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the etcd at %s takes no connection %v after its start: %v", b.etcd.api, patience,
				err)
		}
	}
}

func (b *bed) newNode(name string, number int) *node {
	n := &node{b: b, name: name, number: number, dir: filepath.Join(b.dir, name)}
	if err := os.MkdirAll(filepath.Join(n.dir, "data"), 0o700); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// place gives a node its network and disk.
func (b *bed) place(n *node) {
	t := b.t
	t.Helper()
	if !isolated() {
		n.address = "127.0.0.1"
		return
	}
	var err error
	if n.ns, err = afpackettest.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.ns.Close)
	n.address = fmt.Sprintf("10.83.%d.2", n.number)
	hub, far := fmt.Sprintf("hub%d", n.number), fmt.Sprintf("far%d", n.number)
	if err := ip(fmt.Sprintf("link add %s type veth peer name %s", hub, far),
		fmt.Sprintf("address add 10.83.%d.1/30 dev %s", n.number, hub), "link set "+hub+
			" up"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ip("link delete " + hub) })
	err = n.ns.Do(func() error {
		f, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer f.Close()
		moved := make(chan error)
		go func() { // in the network of the hub
			link, err := netlink.LinkByName(far)
			if err == nil {
				err = netlink.LinkSetNsFd(link, int(f.Fd()))
			}
			moved <- err
		}()
		if err := <-moved; err != nil {
			return err
		}
		return ip(fmt.Sprintf("address add %s/30 dev %s", n.address, far), "link set "+far+" up",
			fmt.Sprintf("route add default via 10.83.%d.1", n.number))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != b.etcd { // which has no faults of disks, and keeps more than is on one
		n.disk = newDisk(t, n.dir)
	}
}

// ports returns a node's addresses: for its API, for other controllers, for other etcd members, and
// for hosts.
func (b *bed) ports(n *node) [4]string {
	if n.ns != nil {
		return [4]string{n.address + ":8080", n.address + ":9443", n.address + ":2380", n.address +
			":9559"}
	}
	var out [4]string
	for i := range out {
		l, err := net.Listen("tcp", n.address+":0")
		if err != nil {
			b.t.Fatal(err)
		}
		out[i] = l.Addr().String()
		if err := l.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

// configure writes the files of all controllers.
func (b *bed) configure() {
	b.t.Helper()
	members, peers := make(map[string]string), make(map[string]string)
	for _, n := range b.nodes {
		at := b.ports(n)
		n.api, peers[n.name], members[n.name], n.hosts = at[0], at[1], at[2], at[3]
	}
	if b.etcd != nil {
		members = nil
		b.etcd.api = b.ports(b.etcd)[0]
		b.etcd.env = []string{etcdVariable + "=" + b.etcd.api + " " + b.etcd.data()}
	}
	for _, n := range b.nodes {
		config, topology := filepath.Join(n.dir, "weft.yaml"), filepath.Join(n.dir, "topology.yaml")
		inv := b.fabric.inventory
		inv.BGP, inv.Topology.File = inventory.Default().BGP, topology
		inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
		inv.API.Listen, inv.MRC.Listen = n.api, n.hosts
		inv.API.LoopbackWebhooks = false // that is newer than older releases
		inv.Cluster.Name, inv.Cluster.Listen, inv.Cluster.Advertise, inv.Cluster.Etcd.Members = n.name,
			peers[n.name], n.address, members
		if n.ns != nil {
			inv.Cluster.TLS = &inventory.TLS{CA: b.authority.File("ca.pem"),
				Cert: b.authority.File(n.name + ".pem"), Key: b.authority.File(n.name + ".key")}
			b.certify(n)
		}
		for name, v := range map[string]any{topology: b.fabric.live.World.Network.Topology(),
			config: inv} {
			text, err := worktree.Changed(v, map[string]any{config: inventory.Default()}[name])
			if err == nil {
				err = os.WriteFile(name, text, 0o600)
			}
			if err != nil {
				b.t.Fatal(err)
			}
		}
		n.args = []string{"controller", "--config", config, "--name", n.name, "--insecure"}
		if b.etcd == nil {
			n.args = append(n.args, "--data-dir", n.data())
		} else {
			n.args = append(n.args, "--store", "etcd://"+b.etcd.api+"/weft?insecure=true")
		}
	}
}

// certify gives a controller a certificate that is good for longer than a run.
func (b *bed) certify(n *node) {
	b.authority.IssueAs(b.t, n.name, certs.Identity{Kind: certs.KindController, Name: n.name},
		n.address)
}

// data is the directory of the node's records.
func (n *node) data() string {
	if n.disk != nil {
		return filepath.Join(n.disk.dir, "data")
	}
	return filepath.Join(n.dir, "data")
}

// start starts the process, in the network of the node. It does nothing when it runs.
func (n *node) start() {
	n.b.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		select {
		case <-n.ended:
		default:
			return
		}
	}
	program := n.b.program
	if n.old {
		program = n.b.older.Path
	}
	if n.args == nil {
		var err error
		if program, err = os.Executable(); err != nil {
			n.b.t.Fatal(err)
		}
	}
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.b.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, n.args...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run := cmd.Start
	if n.ns != nil {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // the thread is the namespace's
		run = func() error { return n.ns.Do(cmd.Start) }
	}
	if err := run(); err != nil {
		n.b.t.Fatal(err)
	}
	n.starts++
	ended := make(chan struct{})
	n.cmd, n.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // it is killed, or has said in its log why it ended
		close(ended)
	}()
}

// incarnation is how often the process was started.
func (n *node) incarnation() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.starts
}

func (n *node) log() string { return filepath.Join(n.dir, "log") }

// signal sends a signal to the process and its member of the store, if they run.
func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = unix.Kill(-n.cmd.Process.Pid, s) // an error means that they have ended
	}
}

// end waits until the process has ended.
func (n *node) end() {
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// kill ends the process as a crash does.
func (n *node) kill() {
	n.signal(syscall.SIGKILL)
	n.end()
}

// running reports whether the process runs.
func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// logs copies what the processes said to a directory.
func (b *bed) logs(dir string) error {
	var errs []error
	for _, n := range b.nodes {
		text, err := os.ReadFile(n.log())
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, n.name+".log"), text, 0o600))
	}
	return errors.Join(errs...)
}

// client returns a client of a node's API.
func (n *node) client(timeout time.Duration) *client.Client {
	n.b.t.Helper()
	c, err := client.New(client.Config{Server: "http://" + n.api, Timeout: timeout})
	if err != nil {
		n.b.t.Fatal(err)
	}
	n.b.t.Cleanup(c.Close)
	return c
}

// decider returns the deciding controller, as reported by any controller, or the first controller
// if no controller reports a decider.
func (b *bed) decider(ctx context.Context) *node {
	for _, asked := range b.nodes {
		c, err := client.New(client.Config{Server: "http://" + asked.api, Timeout: time.Second})
		if err != nil {
			b.t.Fatal(err)
		}
		list, err := c.Controllers().List(ctx, nil)
		c.Close()
		if err != nil {
			continue
		}
		for i := range list {
			if list[i].Role != api.RoleDecider {
				continue
			}
			for _, n := range b.nodes {
				if n.name == list[i].Name {
					return n
				}
			}
		}
	}
	return b.nodes[0]
}
