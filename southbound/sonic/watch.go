package sonic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/southbound"
)

// gather is how long changes are gathered before the switch is looked at again.
const gather = 100 * time.Millisecond

// watch looks at the switch whenever it says that something has changed, and every ProbeInterval,
// until it does not answer any more.
func (s *Session) watch(ctx context.Context, client gpb.GNMIClient) error {
	group, ctx := errgroup.WithContext(ctx)
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	tables := make(chan []string, 1) // of CONFIG_DB, that have rows
	group.Go(func() error { return s.compare(ctx, client, changed, tables) })
	group.Go(func() error { return s.follow(ctx, client, tables, wake) })
	return group.Wait()
}

// compare looks at the switch after changes, and every so often, and has it read anew when it holds
// something else than was seen.
func (s *Session) compare(
	ctx context.Context, client gpb.GNMIClient, changed <-chan struct{}, tables chan []string,
) error {
	ticker := time.NewTicker(s.cfg.ProbeInterval)
	defer ticker.Stop()
	var last string
	var told southbound.Neighbors
	for {
		heard, err := s.heard(ctx, client)
		if err != nil {
			return err
		}
		s.writing.Lock() // what is being written is no change
		h, err := s.look(ctx, client)
		again := false
		if err == nil {
			s.mu.Lock()
			known := s.seen != nil // else whoever was told that the switch is ready has yet to read it
			s.mu.Unlock()
			again = known && s.saw(&h)
		}
		s.writing.Unlock()
		if err != nil {
			return err
		}
		if again {
			s.emit(ctx, southbound.Ready{})
		}
		if told == nil || !maps.Equal(heard, told) {
			s.emit(ctx, heard)
			told = heard
		}
		names := h.present()
		if len(heard) > 0 {
			names = append(names, tableLLDP)
		}
		if fmt.Sprint(names) != last {
			last = fmt.Sprint(names)
			select {
			case <-tables:
			default:
			}
			tables <- names
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		case <-changed:
			wait := time.NewTimer(gather)
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return ctx.Err()
			}
		}
	}
}

// present returns the tables of Weft's that have rows, in order.
func (h *held) present() (out []string) {
	for _, r := range h.config.rows() {
		if n := len(out); n == 0 || out[n-1] != r.Table {
			out = append(out, r.Table)
		}
	}
	return out
}

// follow subscribes to the tables that have rows, and again when others have: a subscription to a
// table without rows ends the stream of all of them.
func (s *Session) follow(
	ctx context.Context, client gpb.GNMIClient, tables <-chan []string, wake func(),
) error {
	var names []string
	for {
		if names == nil {
			select {
			case names = <-tables:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		next, err := s.followSome(ctx, client, names, tables, wake)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			names = next
			continue
		case !refusal(err):
			return err
		}
		wait := time.NewTimer(followPause) // a table has lost its rows, or does not have them yet
		select {
		case names = <-tables:
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
	}
}

// followPause lies between attempts to subscribe to tables.
const followPause = time.Second

// followSome subscribes to some tables, and returns when others have rows, or with the error of a
// stream.
func (s *Session) followSome(ctx context.Context, client gpb.GNMIClient, names []string,
	tables <-chan []string, wake func()) (next []string, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var config []*gpb.Path
	failed := make(chan error, 3)
	start := func(paths []*gpb.Path) { go func() { failed <- s.changes(ctx, client, paths, wake) }() }
	for _, t := range names {
		if t != tableLLDP {
			config = append(config, path(configDB, t))
			continue
		}
		start([]*gpb.Path{path(applDB, t)})
	}
	if len(config) > 0 {
		start(config)
	}
	if slices.Contains(names, tableSIDs) { // a request is of one database
		start([]*gpb.Path{path(applDB, "SRV6_MY_SID_TABLE")})
	}
	select {
	case next = <-tables:
		return next, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done(): // there may be nothing to follow
		return nil, ctx.Err()
	}
}

// changes calls wake for each change at some paths of one database.
func (s *Session) changes(
	ctx context.Context, client gpb.GNMIClient, paths []*gpb.Path, wake func(),
) error {
	synced := false
	return s.subscribe(ctx, client, onChange(paths), func(r *gpb.SubscribeResponse) error {
		if synced {
			wake()
		}
		synced = synced || r.GetSyncResponse()
		return nil
	})
}

func onChange(paths []*gpb.Path) *gpb.SubscriptionList {
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_JSON_IETF}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gpb.Subscription{Path: p,
			Mode: gpb.SubscriptionMode_ON_CHANGE})
	}
	return list
}

// subscribe takes what a subscription brings until it ends. The error wraps errRefused when the
// switch has ended it.
func (s *Session) subscribe(ctx context.Context, client gpb.GNMIClient, list *gpb.SubscriptionList,
	take func(*gpb.SubscribeResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Subscribe(ctx)
	if err != nil {
		return fmt.Errorf("gNMI Subscribe: %w", err)
	}
	request := &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
	if err := stream.Send(request); err != nil {
		return fmt.Errorf("gNMI Subscribe: %w", err)
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failed("Subscribe", err)
		}
		if err := take(r); err != nil {
			return err
		}
	}
}
