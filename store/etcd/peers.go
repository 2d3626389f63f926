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

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"

	"github.com/weft-sdn/weft/internal/certs"
)

// Peers describes the members of an etcd that several processes form. Each member keeps the records
// on its disk; a write needs more than half of the members.
type Peers struct {
	// Name is this process's among Members.
	Name string
	// Listen is host:port at which the others connect. Default: as in Members.
	Listen string
	// Members maps the name of each member, including this member, to its host:port.
	Members map[string]string
	// TLS names this member's certificate, for both server and client, and the authorities that sign
	// the other members' certificates. The zero value means plain text.
	TLS certs.Server
	// Election is how long the leader may be silent before the others elect a new leader. The election
	// takes up to the same time again. All members must use the same value. Default 500 ms.
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

// ErrRestored reports a directory that was made of a backup, beside members whose data were not.
var ErrRestored = errors.New("it was restored from a backup")

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

// listen returns where the member listens for the others.
func (p *Peers) listen() url.URL { return p.url(cmp.Or(p.Listen, p.Members[p.Name])) }

// configure has a server be the member.
func (p *Peers) configure(s *config.ServerConfig) {
	s.Name, s.InitialPeerURLsMap = p.Name, make(types.URLsMap)
	for name, address := range p.Members {
		s.InitialPeerURLsMap[name] = types.URLs{p.url(address)}
	}
	s.PeerURLs, s.PeerTLSInfo = s.InitialPeerURLsMap[p.Name], p.info()
	s.TickMs = uint((cmp.Or(p.Election, defaultElection) / heartbeats).Milliseconds())
	// Nothing listens for clients. A published client address tells the other members that this member
	// took part before.
	s.ClientURLs = s.PeerURLs
}

// initial returns the cluster and member ids that a member's directory has on its first start.
func initial(s *config.ServerConfig) (*content, error) {
	all, err := membership.NewClusterFromURLsMap(zap.NewNop(), s.InitialClusterToken,
		s.InitialPeerURLsMap)
	if err != nil {
		return nil, err
	}
	return &content{cluster: uint64(all.ID()), member: uint64(all.MemberByName(s.Name).ID),
		empty: true, fresh: true}, nil
}

// join reports whether a member starts for the first time together with the others, or with its own
// data, which must match the expectation of the others; otherwise it takes the place of a member
// with lost data.
func (p *Peers) join(ctx context.Context, has *content) (own bool, err error) {
	if len(p.Members) == 1 {
		return true, nil
	}
	answers := p.askAll(ctx)
	if has.empty {
		for i := range answers {
			if m := answers[i].member(p.Members[p.Name]); m.ID != 0 && m.Name == "" {
				return false, nil // it takes the place of one
			}
		}
	}
	if err := p.judge(has, answers); err != nil {
		return false, err
	}
	// Any member that knows nothing of this member's start lost its data. A quorum with that member
	// would let fewer than half of the members with the data decide on the data.
	unknown := ""
	for i := range answers {
		switch m := answers[i].member(p.Members[p.Name]); {
		case m.Started:
			return true, nil
		case m.ID == has.member && has.started():
			unknown = answers[i].name
		}
	}
	if unknown != "" {
		return false, fmt.Errorf("%w: %s at %s began anew, from an empty directory or a backup that was "+
			"restored twice: end it, start this one, and have %s replaced (\"weft replace controller %s\")",
			ErrForeign, unknown, p.Members[unknown], unknown, unknown)
	}
	return true, nil
}

// judge returns why a member may not take part with the members that have answered. A member that
// has taken part before waits while it may belong to more than half of the members. A new member
// waits for nobody.
func (p *Peers) judge(has *content, answers []told) error {
	if has == nil {
		return nil
	}
	replace := fmt.Sprintf("have it replaced at one of them (\"weft replace controller %s\"), and "+
		"start it with an empty directory", p.Name)
	var foreign []string
	for i := range answers {
		o := &answers[i]
		m := o.member(p.Members[p.Name])
		switch {
		case o.err != nil: // it has not started either, or is away
		case has.empty && m.ID == 0:
			return fmt.Errorf("peers: the members that %s knows do not include %s at %s", o.name, p.Name,
				p.Members[p.Name])
		case has.empty && m.Started:
			return fmt.Errorf("%w, and the others still count on it: %s", ErrDataLost, replace)
		case o.cluster != has.cluster:
			foreign = append(foreign, o.name+" at "+p.Members[o.name])
		case m.ID != has.member:
			return ErrReplaced
		case has.fresh && m.Started:
			return fmt.Errorf("%w: the others still count on what it had before: %s", ErrRestored, replace)
		}
	}
	all, names := len(p.Members), strings.Join(foreign, " and ")
	switch {
	case len(foreign) == 0, !has.fresh && all-len(foreign) > all/2:
		return nil
	case has.empty:
		return fmt.Errorf("%w: %s began with the data of a backup: restore the same one here, or %s",
			ErrDataLost, names, replace)
	case has.fresh && has.restored != "":
		return fmt.Errorf("%w (%.12s), unlike %s: if the others run on, %s; if not, end all, and "+
			"restore the same backup at each", ErrRestored, has.restored, names, replace)
	}
	return fmt.Errorf("%w than that of %s, which another backup may have made: take the right "+
		"directory, or %s", ErrForeign, names, replace)
}

// told is the answer of another member.
type told struct {
	name    string
	cluster uint64
	members []Member
	err     error
}

// member returns the answering member's entry for the member at an address; the zero value if the
// entry is missing.
func (o *told) member(at string) Member {
	if i := slices.IndexFunc(o.members, func(m Member) bool { return m.Address == at }); i >= 0 {
		return o.members[i]
	}
	return Member{}
}

// others returns the names of the other members, in order.
func (p *Peers) others() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Members)), func(name string) bool {
		return name == p.Name
	})
}

// askAll asks all other members, sorted by name, for the members that they know.
func (p *Peers) askAll(ctx context.Context) []told { return p.askThese(ctx, p.others()) }

// askThese asks members for the members that they know.
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

// missing reports which other members do not answer a member with some data, and why.
func (p *Peers) missing(has *content, answers []told) string {
	var out []string
	for _, o := range answers {
		at := o.name + " at " + p.Members[o.name]
		switch {
		case o.err == nil && has != nil && o.cluster != has.cluster:
			out = append(out, at+": has the data of another etcd, or of a backup")
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

// ask returns the members that one member knows.
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

// Replace lets a member that lost its data start again without data: the etcd forgets the old
// member, and accepts a new member at its address. The others must be more than half of the
// members. After a failure, Replace can be called again.
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
		if members[i].Name == "" {
			return s.endAlarm(ctx) // it waits for the one that takes its place
		}
		err := again(ctx, func() error { return s.removeMember(ctx, members[i].ID) },
			rpctypes.ErrUnhealthy)
		if err != nil {
			return fmt.Errorf("%s was not removed: %w", name, err)
		}
	}
	// etcd makes the ID of a member from its address and the second: the ID of a member that came and
	// was removed within the same second is refused.
	err = again(ctx, func() error { return s.addMember(ctx, at.String()) },
		rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotFound)
	if err != nil {
		return fmt.Errorf("%s was removed, and not added again: %w", name, err)
	}
	return s.endAlarm(ctx)
}

// endAlarm ends the alarm that members differ. The leader sets the alarm again if members still do.
func (s *Store) endAlarm(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	list, err := s.client.AlarmList(ctx)
	if err != nil {
		return unavailable(ctx, err)
	}
	for _, a := range list.Alarms {
		if a.Alarm != etcdserverpb.AlarmType_CORRUPT {
			continue
		}
		if _, err := s.client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(a)); err != nil {
			return unavailable(ctx, err)
		}
	}
	return nil
}

// again calls change each second as long as etcd refuses the change with one of some errors.
// ErrUnhealthy says that too few members have been connected for some seconds: a member counts as
// unconnected just after its start, and etcd may notice the lost connections of an ended member
// late.
func again(ctx context.Context, change func() error, refusals ...error) error {
	for {
		err := change()
		if !slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
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
