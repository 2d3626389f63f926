package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/store"
)

// All members apply equal writes, so a difference between contents means that a disk or a fault
// changed some. Each member compares hashes of contents with every member. Weft leaves etcd's own
// checks off. The periodic check blames a follower for damage at the leader, the initial check
// refuses a sound member beside a damaged member, and the alarm of both stops every change.

const (
	// compareEvery is the pause between two comparisons. A comparison reads the whole database.
	compareEvery = 10 * time.Minute
	// compareAgain is the longest pause after a comparison found a difference.
	compareAgain = 10 * time.Second
	// compareTime bounds a comparison after the start.
	compareTime = time.Minute
	// A comparison asks compareTries times, with comparePause between, until members catch up.
	compareTries = 10
	comparePause = 50 * time.Millisecond
)

// ErrDiffers reports a member whose contents differ from the contents of more than half of all
// members.
var ErrDiffers = errors.New("its contents differ from those of the other members")

// errCorrupt explains etcd's alarm CORRUPT.
var errCorrupt = errors.New("the contents of its members differ (alarm CORRUPT): start the " +
	"members that are missing, or have those replaced that differ")

// contents holds the hashes of members' contents at one revision, by the names of the members.
type contents map[string]uint32

// most returns the sorted names of the members that share the contents of more than half of all
// members; nil: no contents have so many members.
func (c contents) most(all int) []string {
	sharing := make(map[uint32][]string)
	for name, hash := range c {
		sharing[hash] = append(sharing[hash], name)
	}
	for _, names := range sharing {
		if len(names) > all/2 {
			slices.Sort(names)
			return names
		}
	}
	return nil
}

// contents asks the members for hashes of contents, and leaves out silent members and members at
// different revisions.
func (s *server) contents(ctx context.Context, p *Peers) (contents, error) {
	round, err := transport.NewTransport(p.info(), dialTimeout)
	if err != nil {
		return nil, err
	}
	defer round.CloseIdleConnections()
	client := &http.Client{Transport: round}
	for try := 1; ; try++ {
		own, _, err := s.Server.KV().HashStorage().HashByRev(0)
		if err != nil {
			return nil, err
		}
		out := contents{p.Name: own.Hash}
		var mu sync.Mutex
		var asked sync.WaitGroup
		var moves atomic.Bool
		for _, m := range s.Server.Cluster().Members() {
			if m.ID == s.Server.MemberID() || m.Name == "" || len(m.PeerURLs) == 0 {
				continue
			}
			asked.Go(func() {
				has, err := etcdserver.HashByRev(ctx, s.Server.Cluster().ID(), client, m.PeerURLs[0],
					own.Revision)
				switch {
				case errors.Is(err, rpctypes.ErrFutureRev), errors.Is(err, rpctypes.ErrCompacted),
					err == nil && has.CompactRevision != own.CompactRevision:
					moves.Store(true)
				case err == nil:
					mu.Lock()
					defer mu.Unlock()
					out[m.Name] = has.Hash
				}
			})
		}
		asked.Wait()
		if !moves.Load() || try == compareTries {
			return out, ctx.Err()
		}
		select {
		case <-time.After(comparePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// compare compares the members' contents. If more than half of all members agree and this member
// differs, compare returns an [ErrDiffers] with the names of the agreeing members. settled is false
// while members differ or an alarm is on. The leader sets the alarm CORRUPT when members differ and
// no majority agrees, and clears the alarm when a majority agrees.
func (s *server) compare(ctx context.Context, p *Peers) (settled bool, err error) {
	found, err := s.contents(ctx, p)
	if err != nil {
		return true, err
	}
	most, alarms := found.most(len(p.Members)), s.Server.Alarms()
	alarms = slices.DeleteFunc(alarms, func(a *etcdserverpb.AlarmMember) bool {
		return a.Alarm != etcdserverpb.AlarmType_CORRUPT
	})
	var others []string
	for name, hash := range found {
		if hash != found[p.Name] {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	switch {
	case most != nil && !slices.Contains(most, p.Name):
		return false, fmt.Errorf("%w (%s), which agree: have it replaced at one of them (\"weft replace "+
			"controller %s\"), and start it with an empty directory", ErrDiffers, strings.Join(most, ", "),
			p.Name)
	case len(others) > 0:
		s.log.log.Error("the contents of members differ", "members", strings.Join(others, ", "))
	}
	switch {
	case !s.leads():
	case most != nil:
		for _, a := range alarms {
			if err := s.alarm(ctx, etcdserverpb.AlarmRequest_DEACTIVATE, a.MemberID); err != nil {
				return false, err
			}
		}
		alarms = nil
	case len(others) > 0 && len(alarms) == 0:
		return false, s.alarm(ctx, etcdserverpb.AlarmRequest_ACTIVATE, 0)
	}
	return len(others) == 0 && len(alarms) == 0, nil
}

// alarm sets or ends the alarm CORRUPT of a member; 0: of all.
func (s *server) alarm(ctx context.Context, do etcdserverpb.AlarmRequest_AlarmAction,
	member uint64) error {
	_, err := s.Server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: do, MemberID: member,
		Alarm: etcdserverpb.AlarmType_CORRUPT})
	return err
}

// watchContents compares the members' contents until the server stops. After an [ErrDiffers],
// watchContents calls differs and returns.
func (s *server) watchContents(p *Peers, every time.Duration, differs func(error)) {
	ctx, cancel := context.WithCancel(context.Background())
	s.Server.GoAttach(func() { <-s.Server.StoppingNotify(); cancel() })
	s.Server.GoAttach(func() {
		settled := s.settled
		for {
			pause := every
			if !settled {
				pause = min(every, compareAgain)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			bound, end := context.WithTimeout(ctx, compareTime)
			var err error
			settled, err = s.compare(bound, p)
			end()
			switch {
			case errors.Is(err, ErrDiffers):
				differs(err)
				return
			case err != nil && ctx.Err() == nil:
				s.log.log.Warn("comparing the members' contents", "reason", err)
			}
		}
	})
}

// refusedFor explains alarms that refuse writes, given the errors in an etcd's status; nil: no
// alarm is on.
func refusedFor(status []string) error {
	for _, text := range status {
		var a etcdserverpb.AlarmMember
		if prototext.Unmarshal([]byte(text), &a) != nil {
			continue
		}
		switch a.Alarm {
		case etcdserverpb.AlarmType_CORRUPT:
			return fmt.Errorf("%w: etcd: %w", store.ErrUnavailable, errCorrupt)
		case etcdserverpb.AlarmType_NOSPACE:
			return fmt.Errorf("%w: the etcd's quota is used up (alarm NOSPACE)", store.ErrNoRoom)
		}
	}
	return nil
}
