package service

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/service/cluster"
)

// TestPing: reaching a controller takes an accepted connection, certificates that both sides
// accept, and clocks that nearly agree. Otherwise ping reports the reason in words that stay the
// same.
func TestPing(t *testing.T) {
	authority := certstest.New(t)
	issue := func(name string, at time.Time, valid time.Duration) {
		t.Helper()
		signer, err := certs.LoadAuthority(authority.File("ca.pem"), authority.File("ca.key"))
		if err != nil {
			t.Fatal(err)
		}
		pem, err := signer.Issue(certs.Request{Identity: certs.Identity{Kind: certs.KindController,
			Name: name}, Hosts: []string{"127.0.0.1"}}, at, valid)
		if err == nil {
			err = pem.Write(filepath.Join(filepath.Dir(authority.File("ca.pem")), name), true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	issue("good", now, time.Hour)
	issue("expired", now.Add(-2*time.Hour), time.Hour)
	issue("future", now.Add(2*time.Hour), time.Hour)
	section := func(name string) *inventory.Cluster {
		return &inventory.Cluster{TLS: &inventory.TLS{CA: authority.File("ca.pem"),
			Cert: authority.File(name + ".pem"), Key: authority.File(name + ".key")}}
	}
	for name, c := range map[string]struct {
		server, client string // certificates
		ahead          time.Duration
		closed, silent bool
		want           string // "": reached
	}{
		"well":            {server: "good", client: "good"},
		"clock a bit off": {server: "good", client: "good", ahead: access.MaxSkew - 3*time.Second},
		"clock ahead": {server: "good", client: "good", ahead: time.Hour,
			want: "its clock is 1h0m0s ahead of that of controller c1"},
		"clock behind": {server: "good", client: "good", ahead: -time.Hour,
			want: "its clock is 1h0m0s behind that of controller c1"},
		"expired there": {server: "expired", client: "good", want: "its certificate expired at "},
		"future there":  {server: "future", client: "good", want: "its certificate is valid from "},
		"expired here": {server: "good", client: "expired",
			want: "it says that the certificate of this side has expired"},
		"nothing listens": {server: "good", client: "good", closed: true,
			want: "nothing listens at 127.0.0.1:"},
		"nobody takes it out": {server: "good", client: "good", silent: true,
			want: "it does not answer at 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			bare, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := bare.Addr().String()
			defer bare.Close()
			if c.closed {
				bare.Close()
			}
			if !c.silent && !c.closed {
				// A controller does not start with these files: what a handshake shows is what counts.
				l, err := tlsListener(bare, section(c.server))
				if err != nil {
					t.Fatal(err)
				}
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
				})}
				go func() { _ = server.Serve(l) }() // ends with Close
				defer server.Close()
			}
			dial, err := peerDialer(section(c.client))
			if err != nil {
				t.Fatal(err)
			}
			m := &member{self: cluster.Member{Name: "c1"}, scheme: "https", pings: peerTransport(dial)}
			patience := 10 * time.Second
			if c.silent {
				patience = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			switch err := m.ping(ctx, cluster.Member{Name: "c2", Peers: address}); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestReachCheck: a controller is not ready where the decider cannot reach the controller, the
// controller cannot reach the decider, or the controller decides without most controllers; each
// controller reports the faults of every other.
func TestReachCheck(t *testing.T) {
	at := func(name string, lost ...string) cluster.Member {
		m := cluster.Member{Name: name, Instance: int64(name[1]), Reaches: make(map[string]cluster.Reach)}
		for _, o := range []string{"c1", "c2", "c3"} {
			m.Reaches[o] = cluster.Reach{Instance: int64(o[1])}
		}
		for _, o := range lost {
			m.Reaches[o] = cluster.Reach{Instance: int64(o[1]), Fault: "why"}
		}
		return m
	}
	const decides, isNot, advises, well = "decides", "not ready", "advisory", ""
	for name, c := range map[string]struct {
		members [3]cluster.Member // c1 decides
		want    [3]string
	}{
		"well": {[3]cluster.Member{at("c1"), at("c2"), at("c3")}, [3]string{well, well, well}},
		"one does not reach it": {[3]cluster.Member{at("c1"), at("c2", "c1"), at("c3")},
			[3]string{advises, isNot, advises}},
		"it does not reach one": {[3]cluster.Member{at("c1", "c2"), at("c2"), at("c3")},
			[3]string{advises, isNot, advises}},
		"others": {[3]cluster.Member{at("c1"), at("c2", "c3"), at("c3")},
			[3]string{advises, advises, advises}},
		"nobody reaches it": {[3]cluster.Member{at("c1"), at("c2", "c1"), at("c3", "c1")},
			[3]string{isNot, isNot, isNot}},
	} {
		v := cluster.View{Members: c.members[:], Decider: cluster.Decider{Name: "c1", Instance: '1'}}
		for i, want := range c.want {
			m := &member{self: cluster.Member{Name: c.members[i].Name}}
			check, lost := m.reach(&v)
			got := well
			switch {
			case lost && check.Advisory:
				got = advises
			case lost:
				got = isNot
			}
			if got != want || check.OK ||
				lost && !strings.Contains(check.Message, "does not reach it: why") {
				t.Errorf("%s: %s is %q, want %q: %+v", name, m.self.Name, got, want, check)
			}
		}
		old := cluster.View{Members: []cluster.Member{at("c1"), at("c2"), at("c3")}, Instance: 1}
		v.Instance = 1
		began, ended := changes(old, v), changes(v, old)
		if name == "well" {
			if len(began)+len(ended) > 0 {
				t.Errorf("events %v, %v", began, ended)
			}
			continue
		}
		if len(began) != 1 || began[0].Type != api.EventControllerAlarm || len(ended) != 1 ||
			!strings.Contains(ended[0].Message, "reached by all others again") {
			t.Errorf("%s: events %+v, then %+v", name, began, ended)
		}
		o := (&member{}).of(v, c.members[0])
		if (o.Alarm != "") != (unreachedBy(&v, c.members[0]) != "") {
			t.Errorf("%s: c1 has the alarm %q", name, o.Alarm)
		}
	}
}

// TestClusterCertificates: the controller reports certificates between controllers that expire
// soon, both from its own files and from other controllers.
func TestClusterCertificates(t *testing.T) {
	authority := certstest.New(t)
	authority.IssueAs(t, "c1", certs.Identity{Kind: certs.KindController, Name: "c1"}, "127.0.0.1")
	inv, err := inventory.Load(fmt.Appendf(nil,
		"cluster:\n  listen: 127.0.0.1:0\n  tls: {ca: %q, cert: %q, key: %q}",
		authority.File("ca.pem"), authority.File("c1.pem"), authority.File("c1.key")))
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Inventory: *inv}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := tlsListener(l, &o.Inventory.Cluster); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if got := o.certificates(now); got != "" {
		t.Errorf("new ones: %q", got)
	}
	end := o.Inventory.Certificates().List()[0].NotAfter
	for _, later := range []time.Duration{-time.Minute, time.Minute} {
		got := o.certificates(end.Add(later))
		if !strings.Contains(got, "certificate of cluster.tls expire") {
			t.Errorf("%v after its end: %q", later, got)
		}
	}
}
