package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// serveEtcd starts an etcd with the limits that one has by default. stop may be called twice.
func serveEtcd(t *testing.T, change ...func(*embed.Config)) (stop func(), endpoint string) {
	t.Helper()
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync, c.ZapLoggerBuilder = t.TempDir(), true,
		embed.NewZapLoggerBuilder(zap.NewNop())
	c.BcryptCost = 4 // the least: with the race detector more takes seconds
	client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls = []url.URL{client}, []url.URL{client},
		nil
	for _, f := range change {
		f(c)
	}
	s, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(s.Close)
	t.Cleanup(stop)
	<-s.Server.ReadyNotify()
	return stop, s.Clients[0].Addr().String()
}

func connect(t *testing.T, r Remote) *Store {
	t.Helper()
	s, err := Connect(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	s.timeout = patience
	return s
}

func TestRemoteContract(t *testing.T) {
	t.Parallel()
	_, endpoint := serveEtcd(t)
	n := 0
	open := func(t *testing.T) *Store {
		n++
		return connect(t, Remote{Endpoints: []string{endpoint}, Prefix: fmt.Sprintf("test%d/", n)})
	}
	storetest.Contract(t, func(t *testing.T) store.Store { return open(t) })
	storetest.SharedContract(t, func(t *testing.T) store.Shared { return open(t) })
}

func TestSharedContract(t *testing.T) {
	t.Parallel()
	storetest.SharedContract(t, func(t *testing.T) store.Shared {
		s := open(t, Config{Dir: t.TempDir()})
		t.Cleanup(func() { closed(t, s) })
		return s
	})
}

// TestPrefixes: two users of an etcd see nothing of each other.
func TestPrefixes(t *testing.T) {
	_, endpoint := serveEtcd(t)
	a, b := connect(t, Remote{Endpoints: []string{endpoint}, Prefix: "a/"}),
		connect(t, Remote{Endpoints: []string{endpoint}, Prefix: "ab/"})
	put(t, a, "x", "1")
	put(t, b, "x", "2")
	list, _, err := a.List(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Key != "x" || string(list[0].Value) != "1" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestDefaultLimits: an etcd with default limits takes writes of any number of records and octets
// at once, and a record of a MiB.
func TestDefaultLimits(t *testing.T) {
	_, endpoint := serveEtcd(t)
	s := connect(t, Remote{Endpoints: []string{endpoint}})
	for what, c := range map[string]struct{ records, octets int }{
		"many": {1000, 10}, "large": {12, 300 << 10}, "one": {1, 1 << 20},
	} {
		var ops []store.Op
		for i := range c.records {
			ops = append(ops, store.Op{Key: fmt.Sprintf("%s/%d", what, i), Value: make([]byte, c.octets)})
		}
		if err := s.Apply(t.Context(), ops); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if list, _, err := s.List(t.Context(), what+"/"); err != nil || len(list) != c.records {
			t.Errorf("%s: %d records, want %d; %v", what, len(list), c.records, err)
		}
	}
}

// TestNoQuorum: an etcd that does not answer holds nobody up: changes are refused with the reason,
// and go on when it is back.
func TestNoQuorum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop, endpoint := serveEtcd(t, func(c *embed.Config) { c.Dir = dir })
	s := connect(t, Remote{Endpoints: []string{endpoint}})
	put(t, s, "x", "1")
	s.timeout = 300 * time.Millisecond
	if err := s.Writable(); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := s.Put(t.Context(), "x", []byte("2"), store.Any); !errors.Is(err,
		store.ErrUnavailable) {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Get(t.Context(), "x"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
	if _, _, err := s.List(t.Context(), ""); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("List: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Get(short, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get of one who waits for less: %v", err)
	}
	await(t, "it takes no writes", func() bool {
		return errors.Is(s.Writable(), store.ErrUnavailable)
	})
	serveEtcd(t, func(c *embed.Config) {
		c.Dir, c.ListenClientUrls = dir, []url.URL{{Scheme: "http", Host: endpoint}}
	})
	await(t, "it takes writes again", func() bool { return s.Writable() == nil })
	s.timeout = patience
	put(t, s, "x", "3")
}

// await waits for something that other goroutines bring about.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestKnockLeavesTheConfig: other users of the TLS configuration see no change.
func TestKnockLeavesTheConfig(t *testing.T) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := knock(t.Context(), "127.0.0.1:1", conf); err == nil {
		t.Error("there is an etcd at port 1")
	}
	if len(conf.NextProtos) != 0 {
		t.Errorf("protocols %q are new", conf.NextProtos)
	}
}

// TestLeaseIsLost: a lease ends if etcd ends it, or if the process cannot renew it in time.
func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	stop, endpoint := serveEtcd(t)
	s := connect(t, Remote{Endpoints: []string{endpoint}})
	gone, err := s.Lease(t.Context(), 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	// Its end does not depend on the wall clock.
	if until := gone.Until(); !strings.Contains(until.String(), " m=") {
		t.Errorf("it lasts until %v, without a reading of the monotonic clock", until)
	}
	if _, err := s.client.Revoke(t.Context(), gone.(*lease).id); err != nil {
		t.Fatal(err)
	}
	<-gone.Done()
	if err := gone.Close(t.Context()); err != nil {
		t.Errorf("Close of a lease that is gone: %v", err)
	}
	late, err := s.Lease(t.Context(), 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-late.Done()
	if left := time.Until(late.Until()); left > 200*time.Millisecond {
		t.Errorf("it is over %v before its time", left)
	}
	s.timeout = 100 * time.Millisecond
	if err := late.Close(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Close while the etcd is gone: %v", err)
	}
}

// TestTLSAndUsers: etcd asks for certificates and passwords, and errors name the fault.
func TestTLSAndUsers(t *testing.T) {
	t.Parallel()
	ca := certstest.New(t)
	ca.Issue(t, "client", "weft")
	cert, key := certstest.SelfSigned(t, "etcd") // for 127.0.0.1
	_, endpoint := serveEtcd(t, func(c *embed.Config) {
		u := url.URL{Scheme: "https", Host: "127.0.0.1:0"}
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{u}, []url.URL{u}
		c.ClientTLSInfo = transport.TLSInfo{CertFile: cert, KeyFile: key,
			TrustedCAFile: ca.File("ca.pem"), ClientCertAuth: true}
	})
	good := Remote{Endpoints: []string{endpoint}, TLS: certs.Client{
		Enabled: true, CAFile: cert, CertFile: ca.File("client.pem"), KeyFile: ca.File("client.key"),
	}}
	root := connect(t, good)
	put(t, root, "x", "1")
	for name, test := range map[string]struct {
		change func(*Remote)
		want   string
	}{
		"no certificate": {func(r *Remote) { r.TLS.CertFile, r.TLS.KeyFile = "", "" },
			"certificate required"},
		"another CA": {func(r *Remote) { r.TLS.CAFile = ca.File("ca.pem") }, "unknown authority"},
		"another name": {func(r *Remote) {
			r.Endpoints = []string{strings.Replace(endpoint, "127.0.0.1", "localhost", 1)}
		}, "not valid for any names"},
		"plain text": {func(r *Remote) { r.TLS = certs.Client{} }, "it may want TLS (etcds://)"},
		"no file":    {func(r *Remote) { r.TLS.CAFile = "nosuch.pem" }, "tls.ca: open nosuch.pem"},
		"nobody":     {func(r *Remote) { r.Endpoints = []string{"127.0.0.1:1"} }, "connection refused"},
	} {
		r := good
		test.change(&r)
		if s, err := Connect(t.Context(), r); err == nil {
			closed(t, s)
			t.Errorf("%s: it is taken", name)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
	ctx := t.Context()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err1 := root.client.UserAdd(ctx, "root", "secret")
	_, err2 := root.client.UserGrantRole(ctx, "root", "root")
	_, err3 := root.client.RoleAdd(ctx, "weft")
	_, err4 := root.client.RoleGrantPermission(ctx, "weft", "weft/", "weft0",
		clientv3.PermissionType(clientv3.PermReadWrite))
	_, err5 := root.client.UserAdd(ctx, "ann", "secret")
	_, err6 := root.client.UserGrantRole(ctx, "ann", "weft")
	_, err7 := root.client.AuthEnable(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		t.Fatal(err)
	}
	ann := good
	ann.User, ann.PasswordFile = "ann", password
	s := connect(t, ann)
	if got := get(t, s, "x"); got != "1" {
		t.Errorf("%q", got)
	}
	elsewhere := ann
	elsewhere.Prefix = "others/"
	if s, err := Connect(ctx, elsewhere); err == nil {
		closed(t, s)
		t.Error("a prefix that the user may not use is taken")
	} else if !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	if err := os.WriteFile(password, []byte("wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Connect(ctx, ann); err == nil {
		closed(t, s)
		t.Error("a wrong password is taken")
	} else if !strings.Contains(err.Error(), "authentication failed") {
		t.Error(err)
	}
	for mode, want := range map[os.FileMode]string{0o644: "0644", 0o600: "is empty"} {
		if err := errors.Join(os.WriteFile(password, []byte("\n"), 0o600),
			os.Chmod(password, mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(ctx, ann); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

func TestParseRemote(t *testing.T) {
	tls := certs.Client{Enabled: true}
	for text, want := range map[string]Remote{
		"etcd://127.0.0.1": {Endpoints: []string{"127.0.0.1:2379"}},
		"etcd://[::1]:23,localhost/a/b/": {Endpoints: []string{"[::1]:23", "localhost:2379"},
			Prefix: "a/b/"},
		"etcds://e1.example.com:2379,e2,[::]": {Endpoints: []string{"e1.example.com:2379", "e2:2379",
			"[::]:2379"}, TLS: tls},
		"etcd://e1?insecure=true": {Endpoints: []string{"e1:2379"}},
		"etcds://ann@e1?ca=ca.pem&cert=c.pem&key=k.pem&password-file=p": {
			Endpoints: []string{"e1:2379"}, User: "ann", PasswordFile: "p",
			TLS: certs.Client{Enabled: true, CAFile: "ca.pem", CertFile: "c.pem", KeyFile: "k.pem"}},
	} {
		if got, err := ParseRemote(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"http://e1": `scheme is "http": want etcd or, with TLS, etcds`, "etcd:///x": "names no host",
		"etcd://":     "names no host",
		"etcds://e1,": `member is ""`, "etcds://ann:secret@e1": "password-file=FILE",
		"etcds://ann@e1":             "go together",
		"etcds://e1?password-file=p": "go together", "etcd://e1": "plain text",
		"etcd://127.0.0.1,e1":   "plain text",
		"etcd://127.0.0.1?ca=x": "want the scheme etcds",
		"etcds://e1?cs=x":       `option "cs" is unknown: want one of ca, `,
		"etcds://e1?ca=":        "ca is empty", "etcd://e1?insecure=yes": "want true or false",
		"etcds://e1:x%zz": `member is "e1:x%zz": want HOST:PORT`, "etcds://e1/%zz": "invalid URL escape",
	} {
		if r, err := ParseRemote(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", text, r, err, want)
		}
	}
}
