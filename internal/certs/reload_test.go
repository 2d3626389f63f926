package certs_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// handshake has a client and a server meet, and returns the errors of both.
func handshake(t *testing.T, server *tls.Config, dial func(context.Context, string,
	string) (net.Conn, error)) (clientErr, serverErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			serverErr = err
			return
		}
		defer conn.Close()
		c := tls.Server(conn, server)
		if serverErr = c.Handshake(); serverErr == nil {
			_, serverErr = c.Write([]byte("x"))
		}
	}()
	conn, err := dial(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		_, err = conn.Read(make([]byte, 1)) // a refused certificate shows here (TLS 1.3)
		conn.Close()
	}
	<-done
	return err, serverErr
}

func dialer(t *testing.T, c certs.Client) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	dial, err := c.Dial(tls.VersionTLS13, &net.Dialer{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return dial
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReload renews what both sides have, one file after the other, without a new configuration:
// each next handshake goes by the new files.
func TestReload(t *testing.T) {
	old, young := certstest.New(t), certstest.New(t)
	ctrl := certs.Identity{Kind: certs.KindController, Name: "c1"}
	host := certs.Identity{Kind: certs.KindHost, Name: "h1"}
	dir := t.TempDir()
	at := func(name string) string { return dir + "/" + name }
	install := func(a *certstest.Authority, files ...string) {
		for _, f := range files {
			from, to, _ := strings.Cut(f, ">")
			copyFile(t, a.File(from), at(to))
		}
	}
	for _, a := range []*certstest.Authority{old, young} {
		a.IssueAs(t, "server", ctrl, "127.0.0.1")
		a.IssueAs(t, "client", host)
	}
	install(old, "ca.pem>ca.pem", "server.pem>s.pem", "server.key>s.key", "client.pem>c.pem",
		"client.key>c.key", "ca.pem>clients.pem")
	cache := certs.NewCache()
	server, err := certs.Server{CertFile: at("s.pem"), KeyFile: at("s.key"),
		ClientCAFile: at("clients.pem"), Kinds: certs.KindHost, Place: "s",
		Cache: cache}.Config(tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	dial := dialer(t, certs.Client{Enabled: true, CAFile: at("ca.pem"), CertFile: at("c.pem"),
		KeyFile: at("c.key"), Kinds: certs.KindController, Place: "c", Cache: cache})
	meet := func(when string, clientSays, serverSays string) {
		t.Helper()
		c, s := handshake(t, server, dial)
		for _, side := range []struct {
			who  string
			err  error
			want string
		}{{"client", c, clientSays}, {"server", s, serverSays}} {
			switch {
			case side.want == "" && side.err != nil:
				t.Errorf("%s: %s: %v, want none", when, side.who, side.err)
			case side.want != "" && (side.err == nil || !strings.Contains(side.err.Error(), side.want)):
				t.Errorf("%s: %s: %v, want %q", when, side.who, side.err, side.want)
			}
		}
	}
	meet("at first", "", "")
	install(young, "server.pem>s.pem", "server.key>s.key")
	meet("server renewed by an authority that the client does not know", "certificate",
		"bad certificate")
	install(young, "ca.pem>ca.pem")
	meet("and the client learns it", "", "")
	install(young, "ca.pem>clients.pem")
	meet("the server takes another authority for clients", "unknown certificate authority",
		"certificate")
	install(young, "client.pem>c.pem", "client.key>c.key")
	meet("and the client has one of it", "", "")

	for _, file := range []string{"s.pem", "s.key", "c.pem", "c.key", "ca.pem", "clients.pem"} {
		good, err := os.ReadFile(at(file))
		if err != nil {
			t.Fatal(err)
		}
		for broken, do := range map[string]func() error{
			"garbage":   func() error { return os.WriteFile(at(file), []byte("garbage"), 0o600) },
			"empty":     func() error { return os.WriteFile(at(file), nil, 0o600) },
			"cut short": func() error { return os.WriteFile(at(file), good[:len(good)/2], 0o600) },
			"gone":      func() error { return os.Remove(at(file)) },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
			meet(file+" is "+broken, "", "")
			faults := 0
			for _, c := range cache.List() {
				if c.Fault != "" {
					faults++
				}
			}
			if faults != 1 {
				t.Errorf("%s is %s: %d files have a fault in the listing, want 1: %+v", file, broken, faults,
					cache.List())
			}
			if err := os.WriteFile(at(file), good, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	meet("and repaired", "", "")
	for _, c := range cache.List() {
		if c.Fault != "" {
			t.Errorf("a fault of a repaired file: %+v", c)
		}
	}
}

// TestExpiredKeepsOld: an expired certificate does not replace one that is good.
func TestExpiredKeepsOld(t *testing.T) {
	a := certstest.New(t)
	id := certs.Identity{Kind: certs.KindController, Name: "c1"}
	a.IssueAs(t, "s", id, "127.0.0.1")
	cache := certs.NewCache()
	server, err := certs.Server{CertFile: a.File("s.pem"), KeyFile: a.File("s.key"), Place: "s",
		Cache: cache}.Config(tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := certs.LoadAuthority(a.File("ca.pem"), a.File("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := authority.Issue(certs.Request{Identity: id, Hosts: []string{"127.0.0.1"}},
		time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(a.File("s"), true); err != nil {
		t.Fatal(err)
	}
	if c, s := handshake(t, server,
		dialer(t, certs.Client{Enabled: true, CAFile: a.File("ca.pem")})); c != nil || s != nil {
		t.Errorf("after an expired certificate was installed: %v, %v, want the old one in use", c, s)
	}
	if list := cache.List(); len(list) != 1 || !strings.Contains(list[0].Fault, "expired at") {
		t.Errorf("listing %+v, want the fault", list)
	}
}

// TestKinds: either side refuses a peer with a certificate of another kind, or with two identities.
// Without an identity, names and authority decide.
func TestKinds(t *testing.T) {
	a := certstest.New(t)
	kinds := []certs.Kind{certs.KindController, certs.KindSwitch, certs.KindHost, certs.KindClient}
	for _, k := range kinds {
		a.IssueAs(t, k.String(), certs.Identity{Kind: k, Name: "x"}, "127.0.0.1")
	}
	a.Issue(t, "none", "none", "none")
	config := func(name string, accept certs.Kind) *tls.Config {
		conf, err := certs.Server{CertFile: a.File(name + ".pem"), KeyFile: a.File(name + ".key"),
			ClientCAFile: a.File("ca.pem"), Kinds: accept}.Config(tls.VersionTLS13)
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	client := func(name string, accept certs.Kind) certs.Client {
		return certs.Client{Enabled: true, CAFile: a.File("ca.pem"), CertFile: a.File(name + ".pem"),
			KeyFile: a.File(name + ".key"), Kinds: accept}
	}
	for _, accept := range kinds {
		for _, is := range append([]certs.Kind{0}, kinds...) {
			name := "none"
			if is != 0 {
				name = is.String()
			}
			_, err := handshake(t, config("controller", accept),
				dialer(t, client(name, certs.KindController)))
			// switches connect to nobody
			if want := (is == accept && is != certs.KindSwitch) || is == 0; (err == nil) != want {
				t.Errorf("a server of %ss and a client that is one of %s: %v, want it let in: %t", accept, name,
					err, want)
			}
		}
	}
	for _, accept := range kinds {
		for _, is := range kinds {
			err, _ := handshake(t, config(is.String(), 0), dialer(t, client("controller", accept)))
			serves := is == certs.KindController || is == certs.KindSwitch
			if want := is == accept && serves; (err == nil) != want {
				t.Errorf("a client of %ss and a server that is a %s: %v, want it accepted: %t", accept, is, err,
					want)
			}
		}
	}
}

// TestNames: the client refuses a server with another name or from another authority.
func TestNames(t *testing.T) {
	a, other := certstest.New(t), certstest.New(t)
	a.IssueAs(t, "right", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "127.0.0.1")
	a.IssueAs(t, "wrong", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "127.0.0.2",
		"n2.example")
	other.IssueAs(t, "right", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "127.0.0.1")
	for _, c := range []struct {
		a    *certstest.Authority
		name string
		want error
	}{{a, "right", nil}, {a, "wrong", x509.HostnameError{}},
		{other, "right", x509.UnknownAuthorityError{}}} {
		server, err := certs.Server{CertFile: c.a.File(c.name + ".pem"),
			KeyFile: c.a.File(c.name + ".key")}.Config(tls.VersionTLS13)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := handshake(t, server, dialer(t, certs.Client{Enabled: true, CAFile: a.File("ca.pem"),
			Kinds: certs.KindSwitch}))
		var name x509.HostnameError
		var authority x509.UnknownAuthorityError
		switch c.want.(type) {
		case nil:
			if got != nil {
				t.Errorf("the right certificate: %v", got)
			}
		case x509.HostnameError:
			if !errors.As(got, &name) {
				t.Errorf("a certificate of other names: %v", got)
			}
		default:
			if !errors.As(got, &authority) {
				t.Errorf("a certificate of another authority: %v", got)
			}
		}
	}
}

func TestIdentityOf(t *testing.T) {
	for _, c := range []struct {
		uris []string
		want certs.Identity
		bad  bool
	}{
		{nil, certs.Identity{}, false},
		{[]string{"https://weft/host/h1", "spiffe://example/h1"}, certs.Identity{}, false},
		{[]string{"weft://host/h1"}, certs.Identity{Kind: certs.KindHost, Name: "h1"}, false},
		{[]string{"spiffe://example/h1", "weft://client/a%2Fb"}, certs.Identity{Kind: certs.KindClient,
			Name: "a/b"}, false},
		{[]string{"weft://host/h1", "weft://client/h1"}, certs.Identity{}, true},
		{[]string{"weft://host/"}, certs.Identity{}, true},
		{[]string{"weft://host"}, certs.Identity{}, true},
		{[]string{"weft:host/h1"}, certs.Identity{}, true},
		{[]string{"weft://router/h1"}, certs.Identity{}, true},
		{[]string{"weft://host/h1?x"}, certs.Identity{}, true},
		{[]string{"weft://u@host/h1"}, certs.Identity{}, true},
	} {
		var x x509.Certificate
		for _, text := range c.uris {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			x.URIs = append(x.URIs, u)
		}
		got, err := certs.IdentityOf(&x)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: %+v, %v, want %+v, an error: %t", c.uris, got, err, c.want, c.bad)
		}
	}
}

// TestWrite: files are not replaced by accident, and others cannot read a key.
func TestWrite(t *testing.T) {
	now := time.Now()
	p, err := certs.NewAuthority("ca", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir() + "/ca"
	if err := p.Write(at, false); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(at + ".pem")
	if err != nil {
		t.Fatal(err)
	}
	second, err := certs.NewAuthority("ca", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Write(at, false); !errors.Is(err, certs.ErrExists) {
		t.Errorf("writing again: %v, want ErrExists", err)
	}
	if after, err := os.ReadFile(at + ".pem"); err != nil || string(after) != string(before) {
		t.Errorf("the certificate changed, %v", err)
	}
	if err := second.Write(at, true); err != nil {
		t.Errorf("replacing: %v", err)
	}
	info, err := os.Stat(at + ".key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v, want mode 0600", info.Mode(), err)
	}
	a, err := certs.LoadAuthority(at+".pem", at+".key")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r     certs.Request
		valid time.Duration
		want  string
	}{
		{certs.Request{Identity: certs.Identity{Kind: certs.KindHost}}, time.Minute, `name is ""`},
		{certs.Request{Identity: certs.Identity{Kind: certs.KindHost, Name: "a b"}}, time.Minute,
			`name is "a b"`},
		{certs.Request{Identity: certs.Identity{Name: "a"}}, time.Minute, `kind is ""`},
		{certs.Request{Identity: certs.Identity{Kind: certs.KindSwitch, Name: "a"}}, time.Minute,
			"no DNS name and no address"},
		{certs.Request{Identity: certs.Identity{Kind: certs.KindSwitch, Name: "a"},
			Hosts: []string{"a:1"}}, time.Minute, `DNS name is "a:1"`},
		{certs.Request{Identity: certs.Identity{Kind: certs.KindHost, Name: "a"}}, 2 * time.Hour,
			"the authority expires before"},
		{certs.Request{Identity: certs.Identity{Kind: certs.KindHost, Name: "a"}}, 0, "valid is 0s"},
	} {
		if _, err := a.Issue(c.r, now, c.valid); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v for %v: %v, want %s", c.r, c.valid, err, c.want)
		}
	}
	if err := os.Chmod(at+".key", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.LoadAuthority(at+".pem", at+".key"); err == nil ||
		!strings.Contains(err.Error(), "others cannot use") {
		t.Errorf("a key that others can read: %v", err)
	}
}
