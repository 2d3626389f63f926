package inventory

import (
	"strings"
	"testing"
	"time"
)

func TestCluster(t *testing.T) {
	inv, err := Load([]byte(`
cluster:
  listen: 0.0.0.0:9443
  advertise: c1.example.net
  tls: {cert: c, key: k, ca: a}
  ttl: 5s
  etcd: {members: {c1: "192.0.2.1:2380", c2: "192.0.2.2:2380", c3: "c3:2380"}, listen: "0.0.0.0:2380", election: 2s}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c := inv.Cluster; !c.On() || !c.Etcd.On() || c.Etcd.Members["c2"] != "192.0.2.2:2380" ||
		c.TTL.D() != 5*time.Second || c.Etcd.Election.D() != 2*time.Second {
		t.Errorf("%+v", c)
	}
	if absent := Default(); absent.Cluster.On() || absent.Cluster.Etcd.On() ||
		absent.Validate() != nil {
		t.Errorf("%+v, %v", absent.Cluster, absent.Validate())
	}
}

// TestBadCluster: the error names the wrong field, the value and the values that are allowed.
func TestBadCluster(t *testing.T) {
	three := `members: {a: "127.0.0.1:1", b: "127.0.0.1:2", c: "127.0.0.1:3"}`
	for _, c := range []struct{ text, want string }{
		{"{name: 'a b'}", "cluster.name: "},
		{"{ttl: 500ms}", "cluster.ttl: is 500ms: want 1s to 1m"},
		{"{listen: here}", `cluster.listen: is "here": want host:port`},
		{"{listen: '192.0.2.1:1'}", "cluster.tls: is missing: want cert, key and ca"},
		{"{listen: ':1', tls: {cert: c, key: k}}", "cluster.tls: want cert, key and ca"},
		{"{listen: '127.0.0.1:1', advertise: 'c1:1'}", `cluster.advertise: is "c1:1", which has a port`},
		{"{etcd: {listen: '127.0.0.1:1'}}", "cluster.etcd.members: is missing"},
		{"{etcd: {members: {a: '127.0.0.1:1', b: '127.0.0.1:2'}}}",
			"cluster.etcd.members: has 2: want 3 or more"},
		{`{etcd: {members: {a: "127.0.0.1:1", b: "127.0.0.1:2", c: "127.0.0.1"}}}`,
			`cluster.etcd.members.c: is "127.0.0.1": want host:port`},
		{`{etcd: {members: {a: "127.0.0.1:1", b: "127.0.0.1:2", "c c": "127.0.0.1:3"}}}`,
			"cluster.etcd.members.c c: "},
		{"{etcd: {" + three + ", election: 50ms}}",
			"cluster.etcd.election: is 50ms: want 100ms to 1s, half of cluster.ttl"},
		{"{ttl: 1s, etcd: {" + three + ", election: 600ms}}",
			"cluster.etcd.election: is 600ms: want 100ms to 500ms"},
		{"{etcd: {" + three + ", listen: here}}", `cluster.etcd.listen: is "here": want host:port`},
		{"{name: d, etcd: {" + three + "}}",
			`cluster.name: is "d": want one of cluster.etcd.members: a, b, c`},
	} {
		if _, err := Load([]byte("cluster: " + c.text)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
