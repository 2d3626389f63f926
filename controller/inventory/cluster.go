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
	Name      string       `yaml:"name" doc:"name among the controllers; '--name' overrides it" default:"the machine's name"`
	Listen    string       `yaml:"listen" doc:"address:port for other controllers; '--peer-listen' overrides it" default:"nowhere"`
	Advertise string       `yaml:"advertise" doc:"name or address of this machine for other controllers" default:"the address of 'listen', or the machine's name when that is all addresses"`
	TLS       *TLS         `yaml:"tls" doc:"controllers show each other certificates that 'ca' has signed, for the name or address that they advertise ([certificates](#certificates))" default:"required unless 'listen' is a loopback address"`
	TTL       api.Duration `yaml:"ttl" doc:"how long a controller that fell silent is taken to be there, 1s to 1m"`
	// Etcd defines how the controllers form an etcd themselves. Default: they do not.
	Etcd Etcd `yaml:"etcd"`
}

// Etcd is an etcd that controllers form, each with a member in its data directory. Members use the
// TLS settings of the cluster.
type Etcd struct {
	Members  map[string]string `yaml:"members" doc:"the controllers form an etcd: the name of each controller, three or more, and host:port where the others reach its member of the etcd, '{c1: \"192.0.2.1:2380\", …}'. It uses 'tls'" default:"none"`
	Listen   string            `yaml:"listen" doc:"address:port of this controller's member" default:"that of members"`
	Election api.Duration      `yaml:"election" doc:"how long the leader of the etcd may be silent before the others elect one, which takes up to as long again; 100ms to half of 'ttl', the same at all controllers. Ten round trips between them, or more"`
}

// On reports whether the controllers form an etcd.
func (e *Etcd) On() bool { return len(e.Members) > 0 }

// On reports whether the controller is one of several.
func (c *Cluster) On() bool { return c.Listen != "" }

// Host returns the name or address at which other controllers reach this controller: Advertise, or
// the host of Listen, as written there; "" when that is all addresses.
func (c *Cluster) Host() string {
	if c.Advertise != "" {
		return c.Advertise
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		return ""
	}
	return host
}

func defaultCluster() Cluster {
	return Cluster{TTL: api.Duration(2 * time.Second),
		Etcd: Etcd{Election: api.Duration(500 * time.Millisecond)}}
}

func (v *validator) cluster() {
	c := &v.inv.Cluster
	if c.Name != "" {
		v.name("cluster.name", c.Name)
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
		v.bad("cluster.advertise", "is %q, which has a port: want a name or an address alone",
			c.Advertise)
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
		v.name(field, name)
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
