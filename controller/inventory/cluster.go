package inventory

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Cluster defines how a controller works together with others that share its store.
type Cluster struct {
	// Name among the controllers; default the name of the machine.
	Name string `yaml:"name"`
	// Listen is address:port for other controllers. Default: none, and the controller is alone.
	Listen string `yaml:"listen"`
	// Advertise is the name or address of this machine for other controllers. Default: the address
	// of Listen, or when that is all addresses, the name of the machine.
	Advertise string `yaml:"advertise"`
	// TLS has Cert, Key and CA, which signs the certificates of all controllers. Only a controller
	// that listens on a loopback address needs none.
	TLS *TLS `yaml:"tls"`
	// TTL is how long a controller that fell silent is taken to be there. Default 2s.
	TTL api.Duration `yaml:"ttl"`
	// Etcd defines how the controllers form an etcd themselves. Default: they do not.
	Etcd Etcd `yaml:"etcd"`
}

// Etcd is an etcd that controllers form, each with a member in its data directory. Its TLS is that
// of the cluster.
type Etcd struct {
	// Members are host:port of all members, by the names of their controllers.
	Members map[string]string `yaml:"members"`
	// Listen is address:port of this controller's member. Default: that of Members.
	Listen string `yaml:"listen"`
	// Election is how long the leader of the etcd may be silent before the others elect one; the same
	// at all controllers. Default 500ms.
	Election api.Duration `yaml:"election"`
}

// On reports whether the controllers form an etcd.
func (e *Etcd) On() bool { return len(e.Members) > 0 }

// On reports whether the controller is one of several.
func (c *Cluster) On() bool { return c.Listen != "" }

func defaultCluster() Cluster {
	return Cluster{TTL: api.Duration(2 * time.Second),
		Etcd: Etcd{Election: api.Duration(500 * time.Millisecond)}}
}

func (v *validator) cluster() {
	c := &v.inv.Cluster
	if c.Name != "" {
		if err := api.ValidateName(c.Name); err != nil {
			v.bad("cluster.name", "%v", err)
		}
	}
	if d := c.TTL.D(); d < time.Second || d > time.Minute {
		v.bad("cluster.ttl", "is %v: want 1s to 1m", d)
	}
	v.etcd()
	if !c.On() {
		return
	}
	v.listener("cluster.listen", c.Listen)
	if _, _, err := net.SplitHostPort(c.Advertise); err == nil {
		v.bad("cluster.advertise", "%q has a port: want a name or an address alone", c.Advertise)
	}
	v.tls("cluster.tls", c.TLS)
	host, _, _ := net.SplitHostPort(c.Listen)
	loopback := host == "localhost"
	if a, err := netip.ParseAddr(host); err == nil {
		loopback = a.IsLoopback()
	}
	switch t := c.TLS; {
	case t == nil && !loopback:
		v.bad("cluster.tls", "is missing: want cert, key and ca, since cluster.listen %s is not a "+
			"loopback address", c.Listen)
	case t != nil && (t.Cert == "" || t.CA == ""):
		v.bad("cluster.tls", "want cert, key and ca: controllers show each other certificates")
	}
}

func (v *validator) etcd() {
	c := &v.inv.Cluster
	if !c.Etcd.On() {
		if c.Etcd.Listen != "" {
			v.bad("cluster.etcd.members", "is missing: want a name and host:port of each controller")
		}
		return
	}
	// etcd grants no lease that is shorter than one and a half elections.
	if d, most := c.Etcd.Election.D(), c.TTL.D()/2; d < 100*time.Millisecond || d > most {
		v.bad("cluster.etcd.election", "is %v: want 100ms to %v, half of cluster.ttl", d, most)
	}
	// Two stop when either stops: worse than one.
	if n := len(c.Etcd.Members); n < 3 {
		v.bad("cluster.etcd.members", "has %d: want 3 or more", n)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Etcd.Members)) {
		field := "cluster.etcd.members." + name
		if err := api.ValidateName(name); err != nil {
			v.bad(field, "%v", err)
		}
		v.listener(field, c.Etcd.Members[name])
	}
	if c.Etcd.Listen != "" {
		v.listener("cluster.etcd.listen", c.Etcd.Listen)
	}
	if c.Name != "" && c.Etcd.Members[c.Name] == "" {
		v.bad("cluster.name", "is %q: want one of cluster.etcd.members: %s", c.Name,
			strings.Join(slices.Sorted(maps.Keys(c.Etcd.Members)), ", "))
	}
}
