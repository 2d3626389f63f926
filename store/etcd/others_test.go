package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/store"
)

// TestOthers: for each member that takes no part, the store reports the reason.
func TestOthers(t *testing.T) {
	t.Parallel()
	ours, theirs := certstest.New(t), certstest.New(t)
	of := func(a *certstest.Authority, name string) certs.Server {
		return certs.Server{CertFile: a.File(name + ".pem"), KeyFile: a.File(name + ".key"),
			ClientCAFile: a.File("ca.pem")}
	}
	id := certs.Identity{Kind: certs.KindController, Name: "c"}
	ours.IssueAs(t, "self", id, "127.0.0.1")
	ours.IssueLater(t, "later", "c", "127.0.0.1")
	theirs.IssueAs(t, "foreign", id, "127.0.0.1")

	listeners := make(map[string]net.Listener)
	p := &Peers{Name: "self", Members: make(map[string]string), TLS: of(ours, "self")}
	for _, name := range []string{"self", "there", "gone", "foreign", "later", "slow-clock",
		"elsewhere", "replaced"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[name], p.Members[name] = l, l.Addr().String()
	}
	var list []string
	for name, at := range p.Members {
		is := name
		if name == "replaced" {
			is = ""
		}
		list = append(list, fmt.Sprintf(`{"id":1,"name":%q,"peerURLs":["https://%s"]}`, is, at))
	}
	for name, l := range listeners {
		if name == "gone" || name == "replaced" {
			_ = l.Close()
			continue
		}
		files, cluster := p.TLS, "a1"
		switch name {
		case "foreign":
			files = of(theirs, "foreign")
		case "later":
			files = of(ours, "later")
		case "elsewhere":
			cluster = "b2"
		}
		conf, err := files.Config(tls.VersionTLS12)
		if err != nil {
			t.Fatal(err)
		}
		if name == "slow-clock" { // by its clock no certificate is valid any more
			of := conf.GetConfigForClient
			conf.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				c, err := of(h)
				c.Time = func() time.Time { return time.Now().Add(24 * time.Hour) }
				return c, err
			}
		}
		s := &httptest.Server{Listener: l, TLS: conf,
			Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Etcd-Cluster-ID", cluster)
				_, _ = fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
			})}}
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.StartTLS()
		t.Cleanup(s.Close)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got := make(map[string]store.Other)
	for _, o := range (&Store{peers: p}).Others(ctx) {
		got[o.Name] = o
		t.Logf("%s: %s %s", o.Name, o.Absence, o.Reason)
	}
	for name, want := range map[string]struct {
		absence store.Absence
		reason  string
	}{
		"there":      {"", ""},
		"gone":       {store.AbsenceUnreachable, "it does not answer at " + p.Members["gone"]},
		"foreign":    {store.AbsenceCertificate, "an authority that is not known here"},
		"later":      {store.AbsenceClock, "look at the clocks"},
		"slow-clock": {store.AbsenceClock, "look at the clocks"},
		"elsewhere":  {store.AbsenceCluster, "a member of another etcd"},
		"replaced":   {store.AbsenceReplaced, "start it with an empty data directory"},
	} {
		if o := got[name]; o.Absence != want.absence || !strings.Contains(o.Reason, want.reason) ||
			o.Address != p.Members[name] {
			t.Errorf("%s: %+v, want %s, %q", name, o, want.absence, want.reason)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d others", len(got))
	}
	// A member that is down, or has never heard of another member, does not call the other member
	// replaced.
	for _, members := range [][]Member{nil, {{Name: "there", Address: p.Members["there"]}},
		{{Name: "gone", Address: p.Members["gone"]}}, {{Address: p.Members["there"]}}} {
		if a, why := p.absence(&told{members: members}, &told{name: "gone"}, time.Now()); a != "" {
			t.Errorf("to one who knows %+v, it is %s: %s", members, a, why)
		}
	}
	if others := (&Store{}).Others(ctx); others != nil {
		t.Errorf("a store of somebody else has %v", others)
	}
}
