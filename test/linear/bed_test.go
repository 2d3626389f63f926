package linear

import (
	"context"
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
	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// Variables of the environment by which the test starts itself again.
const (
	insideVariable = "WEFT_LINEAR_INSIDE" // why the process has no namespaces of its own; "yes": it has
	etcdVariable   = "WEFT_LINEAR_ETCD"   // the process is an etcd: address and directory
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
		runtime.LockOSThread() // the program goes on in the namespaces of the thread that starts it again
		if err := enter(); err != nil {
			failed := make(chan error)
			go func() { failed <- again(err.Error()) }() // by a thread in those that it had
			panic(<-failed)
		}
		panic(again("yes"))
	}
	status := m.Run()
	if built != "" {
		if err := os.RemoveAll(built); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
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

// enter puts this thread into a network and a mount namespace of its own: what is made in them goes with the
// process.
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
	return ip("link set lo up")
}

// isolated says whether the controllers have networks and disks of their own.
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
	program   [2]string // of the controllers, and that which they are upgraded to
	outside   bool      // the store is an etcd outside
	nodes     []*node
	etcd      *node // nil: the controllers form one
	authority *certstest.Authority
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
	dir     string
	disk    *disk // nil: none of its own
	env     []string
	args    []string // with the program

	mu       sync.Mutex
	upgraded bool
	cmd      *exec.Cmd // nil: it does not run
	ended    chan struct{}
	starts   int
}

// built is the directory of the program, once a test has asked for it.
var built string

// program is that of the controllers: WEFT_BINARY, or that of this source.
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

// newBed starts three controllers, on an etcd outside or on one that they form.
func newBed(t *testing.T, outside bool) *bed {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dir: t.TempDir(), outside: outside, program: [2]string{path, path}, authority: certstest.New(t)}
	if other := os.Getenv("WEFT_BINARY_NEXT"); other != "" {
		b.program[1] = other
	}
	if !isolated() {
		t.Logf("controllers are processes on loopback addresses, without faults of network, disk and certificates: %s", os.Getenv(insideVariable))
	}
	for i := range 3 {
		b.nodes = append(b.nodes, b.newNode(fmt.Sprintf("c%d", i+1), i+1))
	}
	if outside {
		b.etcd = b.newNode("etcd", 4)
	}
	for _, n := range append(b.nodes[:3:3], b.etcd) {
		if n != nil {
			b.place(n)
		}
	}
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
	return b
}

// awaitEtcd waits until the etcd outside takes connections: a controller that starts without one ends.
func (b *bed) awaitEtcd() {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", b.etcd.api, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the etcd at %s takes no connection %v after its start: %v", b.etcd.api, patience, err)
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
	if err := ip(fmt.Sprintf("link add %s type veth peer name %s", hub, far), fmt.Sprintf("address add 10.83.%d.1/30 dev %s", n.number, hub), "link set "+hub+" up"); err != nil {
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
		return ip(fmt.Sprintf("address add %s/30 dev %s", n.address, far), "link set "+far+" up", fmt.Sprintf("route add default via 10.83.%d.1", n.number))
	})
	if err != nil {
		t.Fatal(err)
	}
	n.disk = newDisk(t, n.dir)
}

// ports returns addresses of a node: of its API, for other controllers, for other members of the etcd.
func (b *bed) ports(n *node) (string, string, string) {
	if n.ns != nil {
		return n.address + ":8080", n.address + ":9443", n.address + ":2380"
	}
	var out [3]string
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
	return out[0], out[1], out[2]
}

// topology is a network of two switches that nobody reaches.
const topology = `nodes:
- {name: N1, routerId: 10.0.0.1, loopback: "2001:db8:0:1::1", locator: "5f00:0:1::/48", prefixes: ["2001:db8:1:1::1/128"]}
- {name: N2, routerId: 10.0.0.2, loopback: "2001:db8:0:2::1", locator: "5f00:0:2::/48", prefixes: ["2001:db8:1:2::1/128"]}
links:
- {a: N1, portA: 2, b: N2, portB: 2, delay: 10us}
`

// configuration is that of a controller: its topology, its API, for other controllers, its directory, certificates, store.
const configuration = `switches:
- {name: N1, address: "127.0.0.1:1", mac: "02:00:00:00:00:01"}
- {name: N2, address: "127.0.0.1:2", mac: "02:00:00:00:00:02"}
hosts:
- {name: S1, address: "2001:db8:1:1::1", mac: "02:00:00:01:00:01", switch: N1, port: 1}
- {name: R1, address: "2001:db8:1:2::1", mac: "02:00:00:01:00:02", switch: N2, port: 1}
topology: {file: %q}
intervals: {settle: 200ms}
api: {listen: %q}
cluster:
  name: %s
  listen: %q
  advertise: %q
%s`

// configure writes the files of all controllers.
func (b *bed) configure() {
	t := b.t
	t.Helper()
	members := "  etcd:\n    members: {"
	peers := make(map[string]string)
	for _, n := range b.nodes {
		var member string
		n.api, peers[n.name], member = b.ports(n)
		members += fmt.Sprintf("%s: %q, ", n.name, member)
	}
	members = strings.TrimSuffix(members, ", ") + "}\n"
	if b.etcd != nil {
		members = ""
		listen, _, _ := b.ports(b.etcd)
		b.etcd.api = listen
		b.etcd.env = []string{etcdVariable + "=" + listen + " " + b.etcd.data()}
	}
	for _, n := range b.nodes {
		more := members
		if n.ns != nil {
			more += fmt.Sprintf("  tls: {ca: %q, cert: %q, key: %q}\n", b.authority.File("ca.pem"), b.authority.File(n.name+".pem"), b.authority.File(n.name+".key"))
			b.certify(n)
		}
		file := filepath.Join(n.dir, "weft.yaml")
		for name, text := range map[string]string{
			filepath.Join(n.dir, "topology.yaml"): topology,
			file:                                  fmt.Sprintf(configuration, filepath.Join(n.dir, "topology.yaml"), n.api, n.name, peers[n.name], n.address, more),
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		n.args = []string{"controller", "--config", file, "--name", n.name, "--insecure"}
		if b.etcd == nil {
			n.args = append(n.args, "--data-dir", n.data())
		} else {
			n.args = append(n.args, "--store", "etcd://"+b.etcd.api+"/weft?insecure=true")
		}
	}
}

// certify gives a controller a certificate that is good for half an hour.
func (b *bed) certify(n *node) {
	b.authority.IssueAs(b.t, n.name, certs.Identity{Kind: certs.KindController, Name: n.name}, n.address)
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
	program := n.b.program[0]
	if n.upgraded {
		program = n.b.program[1]
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

// decider returns the controller that decides, as one of them says, or the first where none does.
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
