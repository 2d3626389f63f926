package etcd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/certs"
)

// newPair returns the two ends of the socket between a controller and its server.
func newPair(t *testing.T) (p *process, s *served) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		if ends[i], err = unixConn(fd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return &process{control: ends[0], log: slog.New(slog.DiscardHandler), ready: make(chan struct{}),
			ended: make(chan struct{}), yielded: make(chan error, 1)},
		&served{control: ends[1], conns: make(chan net.Conn), stopping: make(chan struct{})}
}

// TestWords: the controller accepts each valid word of its server and nothing else; an answer for
// which nobody waited does not count as the answer to a later order.
func TestWords(t *testing.T) {
	p, s := newPair(t)
	var listening sync.WaitGroup
	listening.Go(p.listen)
	yes, no := true, false
	if _, err := s.control.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	s.say(word{Yielded: true, Fault: "stale"})
	s.say(word{Yielded: true, Fault: "stale too"})
	s.say(word{Leads: &yes})
	s.say(word{Ready: true})
	<-p.ready
	if !p.leads.Load() || !p.isReady {
		t.Errorf("leads %v, ready %v; want both", p.leads.Load(), p.isReady)
	}
	s.say(word{Leads: &no})
	for _, fault := range []string{"", "no other member"} {
		go func() {
			if o, conn, err := s.read(); o.Do != "yield" || conn != nil || err != nil {
				t.Errorf("the server is told %+v, %v, %v", o, conn, err)
			}
			s.say(word{Yielded: true, Fault: fault})
		}()
		err := p.yield(t.Context())
		if (err == nil) != (fault == "") || err != nil && err.Error() != fault {
			t.Errorf("the server could not yield: %v, want %q", err, fault)
		}
	}
	if p.leads.Load() {
		t.Error("it leads still")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.yield(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for an answer: %v", err)
	}
	if o, _, err := s.read(); o.Do != "yield" || err != nil {
		t.Errorf("the server is told %+v, %v", o, err)
	}
	s.say(word{Ended: true, Fault: "over", Is: 2})
	_ = s.control.Close()
	listening.Wait()
	if err := p.said.err(); !errors.Is(err, ErrDamaged) || err.Error() != "over" {
		t.Errorf("its last word: %v", err)
	}
	close(p.ended)
	if err := p.yield(t.Context()); err == nil {
		t.Error("a server that has ended yields")
	}
}

// TestOrders: the server accepts an order with its connection, and refuses anything else; without
// the controller, no more orders arrive.
func TestOrders(t *testing.T) {
	p, s := newPair(t)
	conn, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	o, theirs, err := s.read()
	if err != nil || o.Do != "connect" || theirs == nil {
		t.Fatalf("%+v, %v, %v", o, theirs, err)
	}
	go func() {
		_, _ = theirs.Write([]byte("hello"))
		_ = theirs.Close()
	}()
	if text, err := io.ReadAll(conn); string(text) != "hello" || err != nil {
		t.Errorf("%q, %v by the connection", text, err)
	}
	_ = conn.Close()
	if _, err := p.control.Write([]byte("stop")); err != nil {
		t.Fatal(err)
	}
	if o, _, err := s.read(); err == nil {
		t.Errorf("%+v of what is no order", o)
	}
	_ = p.control.Close()
	if o, _, err := s.read(); err == nil {
		t.Errorf("%+v of nobody", o)
	}
}

// TestReasons: the kind of an error survives the transfer from the server to the controller; an
// unknown number gives an error without a kind.
func TestReasons(t *testing.T) {
	for is, want := range reasons {
		err := (&word{Fault: "so", Is: is}).err()
		for _, kind := range reasons[1:] {
			if errors.Is(err, kind) != (kind == want) {
				t.Errorf("error %d is %v: %v", is, kind, !(kind == want))
			}
		}
	}
	for _, is := range []int{-1, len(reasons)} {
		if err := (&word{Fault: "so", Is: is}).err(); errors.Unwrap(err) != nil || err.Error() != "so" {
			t.Errorf("error %d: %v", is, err)
		}
	}
}

// TestServed: a server carries out its controller's orders, and notices when the controller is
// gone.
func TestServed(t *testing.T) {
	t.Parallel()
	p, s := newPair(t)
	gone := make(chan struct{})
	s.gone = func() { close(gone) }
	c := (&Config{Dir: t.TempDir(), NoSync: true}).order().config(nil)
	ended := make(chan error)
	go func() { ended <- s.run(c) }()
	var listening sync.WaitGroup
	listening.Go(p.listen)
	<-p.ready
	dial := func(context.Context, string) (net.Conn, error) { return p.connect() }
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"etcd"},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	if r, err := client.Get(t.Context(), "a"); err != nil || string(r.Kvs[0].Value) != "1" {
		t.Errorf("%v, %v", r, err)
	}
	await(t, "the only member leads", p.leads.Load)
	if err := p.yield(t.Context()); err != nil && !strings.Contains(err.Error(), "member") {
		t.Errorf("the only member cannot yield: %v", err)
	}
	if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.send(order{Do: "stop"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended: %v", err)
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("one that stops takes connections: %v", err)
	}
	_ = p.control.Close()
	<-gone
	_ = s.control.Close()
	listening.Wait()
}

// TestServeRefuses: a server is started by an order that can be read whole, and by no other; its
// last word is why it cannot run.
func TestServeRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, ended := range map[string]bool{
		"start": false, "{}": false, `{"do":"stop"}`: false,
		`{"start":{"dir":"` + dir + `","noSync":"yes"}}`: false,
		`{"start":{"dir":"` + dir + `"}}`:                true,
	} {
		p, s := newPair(t)
		gone := make(chan struct{})
		s.gone = func() { close(gone) }
		if _, err := p.control.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if status := s.serve(nil); status != 1 {
			t.Errorf("%s: status %d, want 1", text, status)
		}
		if ended { // it follows orders then
			_ = p.control.CloseWrite()
			<-gone
		}
		_ = s.control.Close()
		p.listen()
		if (p.said != nil) != ended || ended && (p.said.Fault == "" || p.said.Is != 0) {
			t.Errorf("%s: its last word is %+v", text, p.said)
		}
	}
}

// TestStartOrder: a server is started with what its controller was configured with.
func TestStartOrder(t *testing.T) {
	for _, c := range []*Config{
		{Dir: "d"}, {Dir: "d", NoSync: true, compare: time.Second},
		{Dir: "d", Peers: &Peers{Name: "a", Listen: "127.0.0.1:1", Members: map[string]string{"a": "b"},
			Election: time.Second,
			TLS:      certs.Server{CertFile: "cert", KeyFile: "key", ClientCAFile: "ca"}}},
	} {
		if got := c.order().config(nil); !reflect.DeepEqual(got, c) {
			t.Errorf("%+v, want %+v", got, c)
		}
	}
}
