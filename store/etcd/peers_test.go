package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// trio is three members, each with a directory of its own.
type trio struct {
	t       *testing.T
	members map[string]string
	tls     certs.Server
	dirs    map[string]string
	stores  map[string]*Store
	apart   bool          // each in a process of its own
	compare time.Duration // see Config
}

// newTrio returns members that have not started, on exclusive loopback addresses.
func newTrio(t *testing.T) *trio {
	w := &trio{t: t, members: make(map[string]string), dirs: make(map[string]string),
		stores: make(map[string]*Store)}
	for _, name := range []string{"a", "b", "c"} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", rand.IntN(250)+2, rand.IntN(250),
			rand.IntN(250)+1))
		if err != nil {
			t.Fatal(err)
		}
		w.members[name], w.dirs[name] = l.Addr().String(), t.TempDir()
		_ = l.Close()
	}
	t.Cleanup(func() {
		for name := range w.stores {
			w.stop(name)
		}
	})
	return w
}

func (w *trio) config(name string) Config {
	return Config{
		Dir: w.dirs[name], NoSync: true, Release: "weft test",
		Log:   slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Peers: &Peers{Name: name, Members: w.members, TLS: w.tls}, Apart: w.apart,
		compare: w.compare,
	}
}

// start starts members at once.
func (w *trio) start(names ...string) {
	w.t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, name := range names {
		wg.Go(func() {
			s, err := Open(w.t.Context(), w.config(name))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.t.Errorf("%s: %v", name, err)
				return
			}
			w.stores[name] = s
		})
	}
	wg.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

func (w *trio) stop(names ...string) {
	w.t.Helper()
	for _, name := range names {
		closed(w.t, w.stores[name])
		delete(w.stores, name)
	}
}

// refuses checks that a member lets in other members, by their certificates, and nobody else.
func refuses(t *testing.T, a *certstest.Authority, address string) {
	t.Helper()
	a.IssueAs(t, "switch", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "192.0.2.1")
	a.IssueAs(t, "host", certs.Identity{Kind: certs.KindHost, Name: "h1"})
	a.IssueExpired(t, "expired", "peer")
	stranger, strangerKey := certstest.SelfSigned(t, "stranger")
	for _, c := range []struct {
		name, cert, key string
		in              bool
	}{
		{"a member", a.File("peer.pem"), a.File("peer.key"), true},
		{"no certificate", "", "", false},
		{"another authority", stranger, strangerKey, false},
		{"an expired certificate", a.File("expired.pem"), a.File("expired.key"), false},
		{"a switch", a.File("switch.pem"), a.File("switch.key"), false},
		{"a host", a.File("host.pem"), a.File("host.key"), false},
	} {
		dial, err := certs.Client{Enabled: true, CAFile: a.File("ca.pem"), CertFile: c.cert,
			KeyFile: c.key}.Dial(tls.VersionTLS12, new(net.Dialer))
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialTLSContext: dial,
			DisableKeepAlives: true}}
		answer, err := client.Get("https://" + address + "/version")
		if err == nil {
			err = answer.Body.Close()
		}
		if (err == nil) != c.in {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMember: a member's address is its first peer URL, and a member with client URLs has started.
func TestMember(t *testing.T) {
	for _, c := range []struct {
		peers, clients []string
		want           Member
	}{
		{nil, nil, Member{ID: 7, Name: "a"}},
		{[]string{"http://192.0.2.1:2380", "http://192.0.2.2:2380"}, []string{"unix://x"},
			Member{ID: 7, Name: "a", Address: "192.0.2.1:2380", Started: true}},
		{[]string{":"}, nil, Member{ID: 7, Name: "a"}},
	} {
		if got := member(7, "a", c.peers, c.clients); got != c.want {
			t.Errorf("%q, %q: %+v, want %+v", c.peers, c.clients, got, c.want)
		}
	}
}

// TestMissing: a waiting member reports for each missing member why that member is missing.
func TestMissing(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	address := other.Listener.Addr().String()
	p := &Peers{Name: "a", Members: map[string]string{"a": "127.0.0.1:2", "b": address,
		"c": "127.0.0.1:1"}}
	got := p.missing(nil, p.askAll(t.Context()))
	for _, want := range []string{"b at " + address + ": " + address + " is no etcd: it answers 404",
		"c at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s; want %s in it", got, want)
		}
	}
}

func TestPeersContract(t *testing.T) {
	t.Parallel()
	storetest.SharedContract(t, func(t *testing.T) store.Shared {
		w := newTrio(t)
		w.start("a", "b", "c")
		return w.stores["b"]
	})
}

// TestQuorum: what one member has acknowledged the others have; with one of three members away
// writes go on, with two away the store refuses writes until one returns.
func TestQuorum(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	authority := certstest.New(t)
	authority.IssueAs(t, "peer", certs.Identity{Kind: certs.KindController, Name: "peer"}, "127.0.0.1")
	for name := range w.members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w.members[name] = l.Addr().String()
		_ = l.Close()
	}
	w.tls = certs.Server{CertFile: authority.File("peer.pem"), KeyFile: authority.File("peer.key"),
		ClientCAFile: authority.File("ca.pem")}
	w.start("a", "b", "c")
	refuses(t, authority, w.members["a"])
	put(t, w.stores["a"], "x", "1")
	if got := get(t, w.stores["c"], "x"); got != "1" {
		t.Errorf("c has %q", got)
	}
	w.stop("a")
	put(t, w.stores["b"], "x", "2")
	w.stop("b")
	c := w.stores["c"]
	c.timeout = 500 * time.Millisecond
	if _, err := c.Put(t.Context(), "x", []byte("3"), store.Any); !errors.Is(err,
		store.ErrUnavailable) {
		t.Errorf("Put without quorum: %v", err)
	}
	await(t, "writes are refused", func() bool {
		err := c.Writable()
		return errors.Is(err, store.ErrUnavailable) &&
			strings.Contains(err.Error(), "fewer than half of its members")
	})
	w.start("b")
	await(t, "writes are taken again", func() bool { return c.Writable() == nil })
	c.timeout = patience
	put(t, c, "x", "4")
	w.start("a")
	if got := get(t, w.stores["a"], "x"); got != "4" {
		t.Errorf("a has %q", got)
	}
}

// TestYield: a member that yields no longer leads, and no request that began meanwhile at that
// member is refused. Yield changes nothing at a member that does not lead, or at a single member.
func TestYield(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	leading := func() (name string) {
		t.Helper()
		await(t, "a member leads", func() bool {
			for n, s := range w.stores {
				if s.Leads() {
					name = n
				}
			}
			return name != ""
		})
		return name
	}
	l, err := w.stores["a"].Lease(t.Context(), storetest.TTL)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 10 {
		before := leading()
		s := w.stores[before]
		yielded := make(chan error, 1)
		go func() { yielded <- s.Yield(t.Context()) }()
		for during := true; during; n++ {
			select {
			case err := <-yielded:
				during = false
				if err != nil {
					t.Fatal(err)
				}
			default:
			}
			put(t, s, "x", fmt.Sprint(n))
		}
		if s.Leads() {
			t.Fatalf("%s leads after it yielded", before)
		}
		if err := s.Yield(t.Context()); err != nil {
			t.Errorf("%s, which does not lead: %v", before, err)
		}
		after := leading()
		if after == before {
			t.Errorf("%s leads again", after)
		}
	}
	t.Logf("%d records written", n)
	for name, s := range w.stores {
		if got := get(t, s, "x"); got != fmt.Sprint(n-1) {
			t.Errorf("%s has %q, want %d", name, got, n-1)
		}
	}
	select {
	case <-l.Done():
		t.Error("a lease was lost")
	default:
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	alone, err := Open(t.Context(), Config{Dir: t.TempDir(), NoSync: true, Release: "weft test"})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, alone)
	if err := alone.Yield(t.Context()); err != nil || !alone.Leads() {
		t.Errorf("alone: %v", err)
	}
}

// TestReplace: a member that lost its disk takes part again only after the others have agreed.
func TestReplace(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	put(t, w.stores["a"], "x", "1")
	w.stop("c")
	w.dirs["c"] = t.TempDir()
	if s, err := Open(t.Context(), w.config("c")); err == nil {
		closed(t, s)
		t.Fatal("a member without data took part")
	} else if !errors.Is(err, ErrDataLost) || !strings.Contains(err.Error(), w.dirs["c"]) {
		t.Fatal(err)
	}
	if err := w.stores["a"].Replace(t.Context(), "nosuch"); !errors.Is(err, ErrNoMember) {
		t.Error(err)
	}
	if err := w.stores["a"].Replace(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := w.stores["b"].Replace(t.Context(), "c"); err != nil {
		t.Errorf("again: %v", err)
	}
	put(t, w.stores["b"], "x", "2")
	w.start("c")
	if got := get(t, w.stores["c"], "x"); got != "2" {
		t.Errorf("c has %q", got)
	}
	members, err := w.stores["c"].Members(t.Context())
	if err != nil || len(members) != 3 {
		t.Errorf("%v, %v", members, err)
	}
	for _, m := range members {
		if m.Address != w.members[m.Name] {
			t.Errorf("%+v, want one of %v", m, w.members)
		}
	}
}

// TestInterruptedStart: a member that waits for the others can be stopped.
func TestInterruptedStart(t *testing.T) {
	w := newTrio(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		s, err := Open(ctx, w.config("a"))
		if err == nil {
			err = errors.Join(errors.New("it started alone"), s.Close())
		}
		ended <- err
	}()
	await(t, "it listens", func() bool {
		c, err := net.Dial("tcp", w.members["a"])
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(w.dirs["a"], "LOCK")); err != nil {
		t.Error(err)
	}
}

func TestPeersAreChecked(t *testing.T) {
	good := map[string]string{"a": "127.0.0.1:1", "b": "127.0.0.1:2"}
	for want, p := range map[string]Peers{
		`this member is "c": want one of a, b`: {Name: "c", Members: good},
		`address of b is "b:x": want HOST:PORT`: {Name: "a",
			Members: map[string]string{"a": "127.0.0.1:1", "b": "b:x"}},
		"a and b have the address 127.0.0.1:1": {Name: "a",
			Members: map[string]string{"a": "127.0.0.1:1", "b": "127.0.0.1:1"}},
		"b at b.example.com:2 is reached in plain text: want TLS": {Name: "a",
			Members: map[string]string{"a": "127.0.0.1:1", "b": "b.example.com:2"}},
		"TLS has no ca": {Name: "a", Members: good, TLS: certs.Server{CertFile: "a", KeyFile: "a"}},
	} {
		if _, err := Open(t.Context(), Config{Dir: t.TempDir(), Peers: &p}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestRestoreOfPeers: a backup of one member makes the directories of all.
func TestRestoreOfPeers(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	put(t, w.stores["a"], "x", "1")
	backup := w.backup("b")
	put(t, w.stores["a"], "x", "2")
	_, before, err := w.stores["c"].List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.stop("a", "b", "c")
	w.restore(backup, "a", "b", "c")
	w.start("a", "b", "c")
	w.has("1", "a", "b", "c")
	if after, err := w.stores["a"].Put(t.Context(), "x", []byte("3"), store.Any); err != nil ||
		after <= before {
		t.Errorf("revision %d after %d, %v", after, before, err)
	}
	if members, err := w.stores["c"].Members(t.Context()); err != nil || len(members) != 3 {
		t.Errorf("%v, %v", members, err)
	}
}
