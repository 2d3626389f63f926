package gnmi

import (
	"context"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Version is the gNMI version that Capabilities reports.
const Version = "0.10.0"

// Server is the gRPC service gnmi.gNMI for one switch.
type Server struct {
	gpb.UnimplementedGNMIServer

	system  System
	source  Source
	done    chan struct{} // closed by Close
	setting chan struct{} // holds a token while a Set is carried out

	mu       sync.Mutex
	closed   bool                // guarded by mu
	changed  chan struct{}       // guarded by mu; closed and replaced when a port changes
	settings map[uint32]Settings // guarded by mu; by port, those that clients have set
	links    map[uint32]link     // guarded by mu; by port
	masters  map[string]election // guarded by mu; by role
}

// NewServer makes a server that serves nothing before Register. A System without a time of start
// has that of the call.
func NewServer(system System) *Server {
	if system.Started.IsZero() {
		system.Started = time.Now()
	}
	return &Server{
		system: system, done: make(chan struct{}), setting: make(chan struct{}, 1),
		changed:  make(chan struct{}),
		settings: make(map[uint32]Settings), links: make(map[uint32]link),
		masters: make(map[string]election),
	}
}

// Register adds the service to a gRPC server that does not serve yet.
func (s *Server) Register(at grpc.ServiceRegistrar, source Source) {
	s.source = source
	gpb.RegisterGNMIServer(at, s)
}

// PortChanged must be called when the state of a port has changed; it has the
// form of dataplane.Config.PortChanged. It never waits.
func (s *Server) PortChanged(port uint32, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[port] = link{time.Now(), s.links[port].transitions + 1}
	s.wake()
}

// wake has subscriptions look at the switch. The caller holds s.mu.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// change returns the channel that is closed at the next change.
func (s *Server) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Close ends all subscriptions, those to come too, with UNAVAILABLE.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
}

var errClosed = status.Error(codes.Unavailable, "the switch is closed")

// models are the models of the tree, with the versions of github.com/openconfig/public that the
// values follow.
var models = []*gpb.ModelData{
	{Name: moduleInterfaces, Organization: openConfig, Version: "3.8.1"},
	{Name: moduleEthernet, Organization: openConfig, Version: "2.18.0"},
	{Name: moduleP4RT, Organization: openConfig, Version: "1.0.0"},
	{Name: modulePlatform, Organization: openConfig, Version: "0.32.0"},
	{Name: moduleQoS, Organization: openConfig, Version: "2.2.0"},
	{Name: moduleSystem, Organization: openConfig, Version: "3.1.0"},
	{Name: modulePFC, Organization: "Weft", Version: "0.1.0"},
}

const openConfig = "OpenConfig working group"

// Capabilities implements gnmi.gNMI.
func (s *Server) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse,
	error) {
	return &gpb.CapabilityResponse{SupportedModels: models, SupportedEncodings: encodings,
		GNMIVersion: Version}, nil
}
