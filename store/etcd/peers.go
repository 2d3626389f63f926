package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/weft-sdn/weft/internal/certs"
)

// Peers are the members of an etcd that several processes form. Each has the records on its disk;
// more than half of them must be there for a write.
type Peers struct {
	// Name is this process's among Members.
	Name string
	// Listen is host:port at which the others connect. Default: as in Members.
	Listen string
	// Members are host:port of all members by name, this one's too.
	Members map[string]string
	// TLS has the certificate of this member, which it shows as server and as client, and the
	// authorities that sign those of the others. The zero value is plain text.
	TLS certs.Server
	// Election is how long the leader may be silent before the others elect one, which takes up to
	// as long again. The same at all members. Default 500 ms.
	Election time.Duration
}

const (
	defaultElection = 500 * time.Millisecond
	// askTimeout bounds a question to another member.
	askTimeout = 3 * time.Second
	// heartbeats is how many of the leader are missed before an election.
	heartbeats = 10
)

// ErrDataLost reports that a member has no data although the others know it. It must not take part
// as if nothing had happened: it may have acknowledged writes, and voted.
var ErrDataLost = errors.New("this member has lost its data")

// Member is a member of an etcd that several processes form.
type Member struct {
	ID uint64
	// Name is empty for a member that was added and has never started.
	Name string
	// Address is host:port.
	Address string
	// Started reports whether the member has taken part.
	Started bool
}

// validate returns an error that names the field.
func (p *Peers) validate() error {
	if _, ok := p.Members[p.Name]; !ok {
		return fmt.Errorf("peers: this member is %q: want one of %s", p.Name,
			strings.Join(slices.Sorted(maps.Keys(p.Members)), ", "))
	}
	taken := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(p.Members)) {
		address := p.Members[name]
		if e, err := endpoint(address); err != nil || e != address {
			return fmt.Errorf("peers: address of %s is %q: want HOST:PORT", name, address)
		}
		if other, twice := taken[address]; twice {
			return fmt.Errorf("peers: %s and %s have the address %s", other, name, address)
		}
		taken[address] = name
		if p.TLS.IsZero() && isRemote(address) {
			return fmt.Errorf("peers: %s at %s is reached in plain text: want TLS", name, address)
		}
	}
	if !p.TLS.IsZero() && p.TLS.ClientCAFile == "" {
		return errors.New("peers: TLS has no ca: members show each other certificates")
	}
	_, err := p.TLS.Config(tls.VersionTLS12)
	return err
}

func (p *Peers) url(address string) url.URL {
	u := url.URL{Scheme: "http", Host: address}
	if !p.TLS.IsZero() {
		u.Scheme = "https"
	}
	return u
}

func (p *Peers) info() transport.TLSInfo {
	if p.TLS.IsZero() {
		return transport.TLSInfo{}
	}
	info := transport.TLSInfo{CertFile: p.TLS.CertFile, KeyFile: p.TLS.KeyFile,
		TrustedCAFile: p.TLS.ClientCAFile, ClientCertAuth: true}
	for _, address := range p.Members {
		if host, _, err := net.SplitHostPort(address); err == nil {
			// the authorities may have signed others' certificates
			info.AllowedHostnames = append(info.AllowedHostnames, host)
		}
	}
	return info
}

// configure has a server be the member.
func (p *Peers) configure(e *embed.Config) {
	self := p.url(p.Members[p.Name])
	e.Name, e.AdvertisePeerUrls, e.ListenPeerUrls = p.Name, []url.URL{self}, []url.URL{self}
	if p.Listen != "" {
		e.ListenPeerUrls = []url.URL{p.url(p.Listen)}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.Members)) {
		u := p.url(p.Members[name])
		all = append(all, name+"="+u.String())
	}
	e.InitialCluster = strings.Join(all, ",")
	e.PeerTLSInfo = p.info()
	election := cmp.Or(p.Election, defaultElection)
	e.ElectionMs, e.TickMs = uint(election.Milliseconds()),
		uint((election / heartbeats).Milliseconds())
	// Nothing listens for clients. That a member has published an address for them shows others that
	// it has taken part.
	e.AdvertiseClientUrls = []url.URL{self}
}

// join reports how a member starts: with the others for the first time, in the place of one whose
// data was lost, or with the data that it has, which must be those that the others count on.
func (p *Peers) join(ctx context.Context, has *content) (state string, err error) {
	if len(p.Members) == 1 {
		return embed.ClusterStateFlagNew, nil
	}
	self := p.Members[p.Name]
	for _, o := range p.askAll(ctx) {
		if o.err != nil {
			continue // it has not started either, or is away
		}
		i := slices.IndexFunc(o.members, func(m Member) bool { return m.Address == self })
		switch {
		case has != nil && o.cluster != has.cluster:
			return "", fmt.Errorf("%w than that of %s at %s: take the right directory, or an empty one",
				ErrForeign, o.name, p.Members[o.name])
		case has != nil && (i < 0 || o.members[i].ID != has.member):
			return "", ErrReplaced
		case has != nil:
			return embed.ClusterStateFlagNew, nil // what is on the disk counts
		case i < 0:
			return "", fmt.Errorf("peers: the members that %s knows do not include %s at %s", o.name, p.Name,
				self)
		case o.members[i].Started:
			return "", fmt.Errorf("%w, and the others still count on it: have it replaced at one of them "+
				"first (\"weft replace controller %s\")", ErrDataLost, p.Name)
		case o.members[i].Name == "":
			return embed.ClusterStateFlagExisting, nil // it takes the place of one
		}
		return embed.ClusterStateFlagNew, nil // they start for the first time
	}
	return embed.ClusterStateFlagNew, nil
}

// told is what another member answers.
type told struct {
	name    string
	cluster uint64
	members []Member
	err     error
}

// others returns the names of the other members, in order.
func (p *Peers) others() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Members)), func(name string) bool {
		return name == p.Name
	})
}

// askAll asks all other members which ones they know, in the order of their names.
func (p *Peers) askAll(ctx context.Context) []told { return p.askThese(ctx, p.others()) }

// askThese asks members which ones they know.
func (p *Peers) askThese(ctx context.Context, names []string) []told {
	out := make([]told, len(names))
	for i, name := range names {
		out[i].name = name
	}
	round, err := transport.NewTransport(p.info(), dialTimeout)
	if err != nil {
		for i := range out {
			out[i].err = err
		}
		return out
	}
	defer round.CloseIdleConnections()
	var asked sync.WaitGroup
	for i := range out {
		asked.Go(func() {
			o := &out[i]
			o.cluster, o.members, o.err = ask(ctx, &http.Client{Transport: round}, p.url(p.Members[o.name]))
		})
	}
	asked.Wait()
	return out
}

// missing reports which other members do not answer, and why.
func (p *Peers) missing(ctx context.Context) string {
	var out []string
	for _, o := range p.askAll(ctx) {
		at := o.name + " at " + p.Members[o.name]
		switch {
		case o.err == nil:
			out = append(out, at+": is there")
		case certs.Fault(o.err) != "":
			out = append(out, at+": "+certs.Fault(o.err))
		default:
			out = append(out, at+": "+rootCause(o.err))
		}
	}
	return strings.Join(out, "; ")
}

// rootCause leaves the URL out of an error of an HTTP client.
func rootCause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// ask returns the members that one of them knows.
func ask(ctx context.Context, c *http.Client, at url.URL) (cluster uint64, members []Member,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	at.Path = "/members"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	w, err := c.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer w.Body.Close()
	if cluster, err = strconv.ParseUint(w.Header.Get("X-Etcd-Cluster-ID"), 16, 64); err != nil {
		return 0, nil, fmt.Errorf("%s is no etcd: it answers %s", at.Host, w.Status)
	}
	var list []struct {
		ID      uint64   `json:"id"`
		Name    string   `json:"name"`
		Peers   []string `json:"peerURLs"`
		Clients []string `json:"clientURLs"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, w.Body, 1<<20)).Decode(&list); err != nil {
		return 0, nil, err
	}
	out := make([]Member, 0, len(list))
	for _, m := range list {
		out = append(out, member(m.ID, m.Name, m.Peers, m.Clients))
	}
	return cluster, out, nil
}

func member(id uint64, name string, peers, clients []string) Member {
	m := Member{ID: id, Name: name, Started: len(clients) > 0}
	if len(peers) > 0 {
		if u, err := url.Parse(peers[0]); err == nil {
			m.Address = u.Host
		}
	}
	return m
}

// Members returns the members of the etcd.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r, err := s.client.MemberList(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	out := make([]Member, 0, len(r.Members))
	for _, m := range r.Members {
		out = append(out, member(m.ID, m.Name, m.PeerURLs, m.ClientURLs))
	}
	return out, nil
}

// ErrNoMember reports that an etcd has no member of a name.
var ErrNoMember = errors.New("no such member")

// Replace has a member that lost its data start again with none: the etcd forgets the old one, and
// takes a new one at its address. The others must be more than half of the members. It can be
// called again when it failed in between.
func (s *Store) Replace(ctx context.Context, name string) error {
	if s.peers == nil || s.peers.Members[name] == "" {
		return fmt.Errorf("%w: %s", ErrNoMember, name)
	}
	at := s.peers.url(s.peers.Members[name])
	members, err := s.Members(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(members, func(m Member) bool { return m.Address == at.Host }); i >= 0 {
		if !members[i].Started {
			return nil
		}
		err := whenHealthy(ctx, func() error { return s.removeMember(ctx, members[i].ID) })
		if err != nil {
			return fmt.Errorf("%s was not removed: %w", name, err)
		}
	}
	if err := whenHealthy(ctx, func() error { return s.addMember(ctx, at.String()) }); err != nil {
		return fmt.Errorf("%s was removed, and not added again: %w", name, err)
	}
	return nil
}

// whenHealthy calls change each second until etcd no longer refuses it because too few members have
// been connected for some seconds: those that have just started, and the one that has just ended,
// whose connections etcd may not have missed yet.
func whenHealthy(ctx context.Context, change func() error) error {
	for {
		err := change()
		if !errors.Is(err, rpctypes.ErrUnhealthy) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Store) removeMember(ctx context.Context, id uint64) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	_, err := s.client.MemberRemove(ctx, id)
	if err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

func (s *Store) addMember(ctx context.Context, url string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	_, err := s.client.MemberAdd(ctx, []string{url})
	if err != nil {
		return unavailable(ctx, err)
	}
	return nil
}
