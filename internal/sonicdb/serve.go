package sonicdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// origin is the origin of paths into the databases, and instance their second element.
const (
	origin   = "sonic-db"
	instance = "localhost"
)

// Capabilities implements gpb.GNMIServer.
func (s *Server) Capabilities(
	context.Context, *gpb.CapabilityRequest,
) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{GNMIVersion: "0.7.0",
		SupportedEncodings: []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF},
		SupportedModels:    []*gpb.ModelData{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}},
	}, nil
}

// Get implements gpb.GNMIServer.
func (s *Server) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &gpb.GetResponse{}
	for _, p := range r.GetPath() {
		v, err := s.at(p)
		if err != nil {
			return nil, status.Error(codes.NotFound, err.Error())
		}
		out.Notification = append(out.Notification, &gpb.Notification{Timestamp: time.Now().UnixNano(),
			Update: []*gpb.Update{{Path: p, Val: val(v)}}})
	}
	return out, nil
}

func val(v any) *gpb.TypedValue {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // never: it is made of strings, numbers and booleans
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
}

// at returns what is at a path; elements are names as they are. mu is held.
func (s *Server) at(p *gpb.Path) (any, error) {
	names := names(p)
	if p.GetOrigin() != origin || len(names) < 2 || s.dbs[names[0]] == nil ||
		names[1] != instance || len(names) > 4 {
		return nil, fmt.Errorf("invalid path %v", names)
	}
	db := s.dbs[names[0]]
	if len(names) == 2 {
		return db, nil
	}
	t := db[names[2]]
	if len(t) == 0 {
		return nil, fmt.Errorf("failed to find %v", names)
	}
	if len(names) == 3 {
		return t, nil
	}
	row, ok := t[names[3]]
	if !ok {
		return nil, fmt.Errorf("no valid entry found for path %v", names)
	}
	return row, nil
}

// Set implements gpb.GNMIServer: one JSON Patch, which is applied whole or not at all.
func (s *Server) Set(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets++
	before := s.dbs[ConfigDB]
	patch, err := patchOf(r, before)
	next := before
	if err == nil {
		next, err = s.update(patch, before)
	}
	if err == nil {
		err = s.daemons.Check(patch, next)
	}
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	s.dbs[ConfigDB] = next
	err = s.daemons.Apply(s.dbs, before)
	s.wake()
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return &gpb.SetResponse{}, nil
}

// Subscribe implements gpb.GNMIServer. A notification carries the whole changed table.
func (s *Server) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	list := r.GetSubscribe()
	if list.GetMode() != gpb.SubscriptionList_STREAM {
		return status.Error(codes.InvalidArgument, "only STREAM")
	}
	var sources []source
	for _, sub := range list.GetSubscription() {
		x, err := s.source(list.GetPrefix().GetTarget(), sub)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		sources = append(sources, x)
	}
	changed := s.change()
	for i := range sources {
		if err := s.send(stream, list.GetPrefix(), &sources[i], false); err != nil {
			return err
		}
	}
	if err := stream.Send(&gpb.SubscribeResponse{
		Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
		return err
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		sampling := false
		select {
		case <-changed:
			changed = s.change() // before what has changed is read
		case <-every.C:
			sampling = true
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.done:
			return status.Error(codes.Unavailable, "the server ends")
		}
		for i := range sources {
			if sources[i].sampled == sampling {
				if err := s.send(stream, list.GetPrefix(), &sources[i], !sampling); err != nil {
					return err
				}
			}
		}
	}
}

// source is the subject of a subscription.
type source struct {
	path    *gpb.Path
	sampled bool
	values  func() map[*gpb.Path]any // called with mu held
	last    string
}

func (s *Server) source(target string, sub *gpb.Subscription) (x source, err error) {
	x = source{path: sub.GetPath(), sampled: sub.GetMode() == gpb.SubscriptionMode_SAMPLE}
	at := strings.Join(names(x.path), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case target == ocTarget:
		x.values = s.interfaces(at)
		if x.values == nil {
			err = fmt.Errorf("resource not found: %s", at)
		}
		return x, err
	case sub.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED:
		return x, fmt.Errorf("unsupported subscription mode, %v", sub.GetMode())
	case x.sampled && sub.GetSampleInterval() < uint64(time.Second):
		return x, fmt.Errorf("invalid interval: %d", sub.GetSampleInterval())
	case target == CountersDB:
		if _, ok := s.daemons.Virtual(at); !ok {
			return x, fmt.Errorf("no virtual path %s in %s", at, target)
		}
		x.values = func() map[*gpb.Path]any {
			v, _ := s.daemons.Virtual(at)
			return map[*gpb.Path]any{x.path: v}
		}
		return x, nil
	case target != "":
		return x, fmt.Errorf("no virtual path %s in %s", at, target)
	}
	if _, err := s.at(x.path); err != nil {
		return x, err
	}
	x.values = func() map[*gpb.Path]any {
		v, err := s.at(x.path)
		if err != nil {
			v = map[string]any{}
		}
		return map[*gpb.Path]any{x.path: v}
	}
	return x, nil
}

// send sends what a source has; fresh: only when it is another than before.
func (s *Server) send(
	stream gpb.GNMI_SubscribeServer, prefix *gpb.Path, x *source, fresh bool,
) error {
	s.mu.Lock()
	n := &gpb.Notification{Timestamp: time.Now().UnixNano(), Prefix: prefix}
	for p, v := range x.values() {
		n.Update = append(n.Update, &gpb.Update{Path: p, Val: val(v)})
	}
	s.mu.Unlock()
	slices.SortFunc(n.Update, func(a, b *gpb.Update) int {
		return strings.Compare(a.GetPath().String(), b.GetPath().String())
	})
	text := fmt.Sprint(n.Update)
	if fresh && text == x.last {
		return nil
	}
	x.last = text
	return stream.Send(&gpb.SubscribeResponse{
		Response: &gpb.SubscribeResponse_Update{Update: n}})
}
