package sonictest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Capabilities implements gpb.GNMIServer.
func (s *Switch) Capabilities(
	context.Context, *gpb.CapabilityRequest,
) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{GNMIVersion: "0.7.0",
		SupportedEncodings: []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF},
		SupportedModels:    []*gpb.ModelData{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}},
	}, nil
}

// Get implements gpb.GNMIServer.
func (s *Switch) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
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
		panic(err) // never: it is made of strings
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
}

// at returns what is at a path; elements are names as they are. mu is held.
func (s *Switch) at(p *gpb.Path) (any, error) {
	var names []string
	for _, e := range p.GetElem() {
		names = append(names, e.GetName())
	}
	if p.GetOrigin() != "sonic-db" || len(names) < 2 || s.dbs[names[0]] == nil ||
		names[1] != "localhost" || len(names) > 4 {
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

// Subscribe implements gpb.GNMIServer. A change has the whole of the table that has changed.
func (s *Switch) Subscribe(stream gpb.GNMI_SubscribeServer) error {
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

// change returns a channel that is closed with the next change.
func (s *Switch) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// source is what one subscription is to.
type source struct {
	path    *gpb.Path
	sampled bool
	values  func() map[*gpb.Path]any // called with mu held
	last    string
}

func (s *Switch) source(target string, sub *gpb.Subscription) (x source, err error) {
	x = source{path: sub.GetPath(), sampled: sub.GetMode() == gpb.SubscriptionMode_SAMPLE}
	names := make([]string, 0, 4)
	for _, e := range x.path.GetElem() {
		names = append(names, e.GetName())
	}
	at := strings.Join(names, "/")
	switch {
	case target == "OC-YANG" && strings.HasSuffix(at, "state/oper-status"):
		x.values = s.operStatuses
		return x, nil
	case target == "OC-YANG":
		return x, fmt.Errorf("resource not found: %s", at)
	case sub.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED:
		return x, fmt.Errorf("unsupported subscription mode, %v", sub.GetMode())
	case x.sampled && sub.GetSampleInterval() < uint64(time.Second):
		return x, fmt.Errorf("invalid interval: %d", sub.GetSampleInterval())
	case target == "COUNTERS_DB" && at == "COUNTERS/Ethernet*":
		x.values = func() map[*gpb.Path]any { return map[*gpb.Path]any{x.path: s.counters()} }
		return x, nil
	case target != "":
		return x, fmt.Errorf("no virtual path %s in %s", at, target)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *Switch) send(
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

// operStatuses are the states of interfaces by the OpenConfig models.
func (s *Switch) operStatuses() map[*gpb.Path]any {
	out := make(map[*gpb.Path]any)
	for name, fields := range s.dbs["APPL_DB"]["PORT_TABLE"] {
		p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "openconfig-interfaces:interfaces"},
			{Name: "interface", Key: map[string]string{"name": name}}, {Name: "state"},
			{Name: "oper-status"}}}
		out[p] = map[string]any{
			"openconfig-interfaces:oper-status": strings.ToUpper(fmt.Sprint(fields["oper_status"]))}
	}
	return out
}

// counters are those of ports, by the names of SAI. A port that came later has none.
func (s *Switch) counters() map[string]any {
	out := make(map[string]any)
	for _, name := range s.mapped {
		out[name] = maps.Clone(map[string]any{"SAI_PORT_STAT_IF_IN_OCTETS": "1000",
			"SAI_PORT_STAT_IF_OUT_OCTETS": "2000", "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "10",
			"SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "20"})
	}
	return out
}
