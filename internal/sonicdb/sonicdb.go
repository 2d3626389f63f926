package sonicdb

import (
	"maps"
	"sync"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
)

// Names of databases.
const (
	ConfigDB   = "CONFIG_DB"
	ApplDB     = "APPL_DB"
	StateDB    = "STATE_DB"
	CountersDB = "COUNTERS_DB"
)

// Table is a table of a database: rows by key, fields by name. A field is a string, or a list.
type Table map[string]map[string]any

// Clone returns a copy, whose rows may be changed.
func (t Table) Clone() Table {
	out := make(Table, len(t))
	for k, fields := range t {
		out[k] = maps.Clone(fields)
	}
	return out
}

// Database is the tables of a database by name.
type Database map[string]Table

// Databases are the databases by name.
type Databases map[string]Database

// Daemons bring what CONFIG_DB says about. The methods are called one at a time, with the lock of
// the server held: they must not call the server.
type Daemons interface {
	// Check returns why CONFIG_DB must not become what a patch makes of it; nil: it may.
	Check(patch []Op, next Database) error
	// Apply is called when CONFIG_DB has become another than before. It may change the other
	// databases. An error is what the client gets; the Set has taken effect all the same.
	Apply(dbs Databases, before Database) error
	// Virtual returns the values at a path of COUNTERS_DB that stands for several rows, such as
	// COUNTERS/Ethernet*; ok is false for any other path.
	Virtual(path string) (values map[string]any, ok bool)
}

// Server holds the databases and serves them by gNMI. Its methods may be called from any goroutine.
type Server struct {
	gpb.UnimplementedGNMIServer

	daemons Daemons
	update  Updater
	done    chan struct{}

	mu      sync.Mutex
	dbs     Databases
	changed chan struct{} // closed and replaced when a database changes
	sets    int
}

// New returns a server of databases, which it owns from now on.
func New(dbs Databases, d Daemons) *Server {
	for _, name := range []string{ConfigDB, ApplDB, StateDB, CountersDB} {
		if dbs[name] == nil {
			dbs[name] = make(Database)
		}
	}
	return &Server{dbs: dbs, daemons: d, update: Update, changed: make(chan struct{}),
		done: make(chan struct{})}
}

// SetUpdater has u make CONFIG_DB of each Set, instead of [Update]. It comes before Register.
func (s *Server) SetUpdater(u Updater) { s.update = u }

// Register adds the gNMI service to a gRPC server.
func (s *Server) Register(at grpc.ServiceRegistrar) { gpb.RegisterGNMIServer(at, s) }

// Close ends subscriptions.
func (s *Server) Close() { close(s.done) }

// Change runs f on the databases, which it may change, and has subscribers look at them.
func (s *Server) Change(f func(Databases)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.dbs)
	s.wake()
}

// Sets returns how many Sets have been answered.
func (s *Server) Sets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sets
}

// Rows returns a copy of a table.
func (s *Server) Rows(db, table string) Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dbs[db][table].Clone()
}

// wake is called with mu held.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// change returns a channel that is closed with the next change.
func (s *Server) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
