package dataplane

import (
	"iter"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// Replica is one copy a multicast group or clone session makes.
type Replica struct {
	Port     uint32
	Instance uint16 // becomes standard_metadata.egress_rid
	// Backups are tried in order while Port is down.
	Backups []Backup
}

// Backup is where the copy of a replica goes instead.
type Backup struct {
	Port     uint32
	Instance uint16
}

// MulticastGroup is a multicast group of the packet replication engine.
type MulticastGroup struct {
	ID       uint16 // 1..65535
	Replicas []Replica
	Metadata []byte
}

// CloneSession is a mirroring session.
type CloneSession struct {
	ID             uint16 // 0..32767
	Replicas       []Replica
	ClassOfService uint8 // priority queue of the copies
	// PacketLength cuts the copies to so many octets; 0 is no cut.
	PacketLength int
}

// Controls are the control methods of a Switch, the contract for its users. A Switch is
// single-threaded: call these from the goroutine that calls Receive and Advance. Indices are those
// of the Program's info slices. Slices in results belong to the caller; slices in arguments are
// copied. Every method fails with ErrNoProgram before SetProgram, except those of Replication and
// Ports, and with ErrNotFound for an index there is no object of.
type Controls interface {
	// Program returns the running program, nil before SetProgram.
	Program() *engine.Program
	// SetProgram starts a program with empty state: its const entries and
	// default actions, registers, counters and meters zero, no multicast
	// groups and clone sessions, nothing in the queues.
	SetProgram(p *engine.Program)

	Tables
	Profiles
	Replication
	Arrays
	Ports
}

// Tables change the entries of tables.
type Tables interface {
	// InsertEntry adds an entry. ErrExists, ErrFull, ErrBadValue, ErrConst;
	// ErrNotFound also when it refers to an unknown member or group.
	InsertEntry(table int, e engine.Entry) error
	// ModifyEntry replaces target, idle timeout and metadata of the entry
	// with the same match and priority. Its direct counter keeps counting.
	ModifyEntry(table int, e engine.Entry) error
	// DeleteEntry removes the entry with this match and priority.
	DeleteEntry(table int, match []engine.Match, priority int32) error
	// Entry reads the entry with this match and priority.
	Entry(table int, match []engine.Match, priority int32) (engine.Entry, error)
	// Entries yields the entries in order of insertion (const entries
	// included, the default not). The table must not change meanwhile.
	Entries(table int) iter.Seq[engine.Entry]
	// EntryCount returns the number of entries.
	EntryCount(table int) int

	// SetDefaultEntry sets the action of a miss.
	SetDefaultEntry(table int, t engine.Target) error
	// ResetDefaultEntry restores the program's own default.
	ResetDefaultEntry(table int) error
	// DefaultEntry returns the action of a miss; changed says it is not the
	// program's own. A table of a profile may have none: ErrNotFound.
	DefaultEntry(table int) (t engine.Target, changed bool, err error)

	// IdleEntries yields the entries whose idle timeout has passed since
	// they last matched (or were written, or were last reported).
	IdleEntries(now time.Duration) iter.Seq[engine.IdleEntry]
	// SinceHit returns how long ago an entry of a table with idle timeouts
	// last matched.
	SinceHit(now time.Duration, table int, match []engine.Match, priority int32) (time.Duration, error)
}

// Profiles change the members and groups of action profiles.
type Profiles interface {
	// InsertMember adds a member: ErrExists, ErrFull, ErrBadValue.
	InsertMember(profile int, m engine.Member) error
	// ModifyMember replaces a member's action.
	ModifyMember(profile int, m engine.Member) error
	// DeleteMember removes a member: ErrInUse while an entry or group has it.
	DeleteMember(profile int, id uint32) error
	// Member reads one member.
	Member(profile int, id uint32) (engine.Member, error)
	// Members yields the members by id.
	Members(profile int) iter.Seq[engine.Member]

	// InsertGroup adds a group: ErrExists, ErrFull, ErrNotFound (a member).
	InsertGroup(profile int, g engine.Group) error
	// ModifyGroup replaces a group's members.
	ModifyGroup(profile int, g engine.Group) error
	// DeleteGroup removes a group: ErrInUse while an entry has it.
	DeleteGroup(profile int, id uint32) error
	// Group reads one group.
	Group(profile int, id uint32) (engine.Group, error)
	// Groups yields the groups by id.
	Groups(profile int) iter.Seq[engine.Group]
}

// Replication change what the packet replication engine copies.
type Replication interface {
	// InsertMulticastGroup adds a multicast group: ErrExists, ErrBadValue.
	InsertMulticastGroup(g MulticastGroup) error
	// ModifyMulticastGroup replaces its replicas.
	ModifyMulticastGroup(g MulticastGroup) error
	// DeleteMulticastGroup removes it.
	DeleteMulticastGroup(id uint16) error
	// MulticastGroup reads one.
	MulticastGroup(id uint16) (MulticastGroup, error)
	// MulticastGroups yields all by id.
	MulticastGroups() iter.Seq[MulticastGroup]

	// InsertCloneSession adds a clone session: ErrExists, ErrBadValue.
	InsertCloneSession(c CloneSession) error
	// ModifyCloneSession replaces it.
	ModifyCloneSession(c CloneSession) error
	// DeleteCloneSession removes it.
	DeleteCloneSession(id uint16) error
	// CloneSession reads one.
	CloneSession(id uint16) (CloneSession, error)
	// CloneSessions yields all by id.
	CloneSessions() iter.Seq[CloneSession]
}

// Arrays change counters, meters, registers and the value sets of parsers.
type Arrays interface {
	// Counter reads a counter: ErrRange.
	Counter(at engine.Cell) (engine.CounterValue, error)
	// SetCounter writes it.
	SetCounter(at engine.Cell, v engine.CounterValue) error
	// Meter reads the configuration of a meter; configured is false without a configuration. Then a
	// miss leaves the colour of a packet unchanged; other packets are green.
	Meter(at engine.Cell) (c engine.MeterConfig, configured bool, err error)
	// SetMeter configures it; nil unconfigures.
	SetMeter(at engine.Cell, c *engine.MeterConfig) error
	// MeterCounts reads what a meter has marked.
	MeterCounts(at engine.Cell) (engine.MeterCounts, error)
	// SetMeterCounts writes it.
	SetMeterCounts(at engine.Cell, v engine.MeterCounts) error

	// Register reads one entry of a register, ceil(width/8) octets: ErrRange.
	Register(register, index int) ([]byte, error)
	// SetRegister writes it: ErrRange, ErrBadValue.
	SetRegister(register, index int, value []byte) error

	// ValueSet returns the members of a parser value set.
	ValueSet(set int) ([][]byte, error)
	// SetValueSet replaces them. Each is ceil(width/8) octets: the fields
	// one after another, right-aligned.
	SetValueSet(set int, values [][]byte) error
}

// Ports change ports and the queues of the traffic manager.
type Ports interface {
	// SetQueueDepth limits the packets waiting in a priority queue of a
	// port. prio < 0 is every priority, port NoPort every port; 0 packets is
	// no limit.
	SetQueueDepth(port uint32, prio int, packets int)
	// SetQueueRate limits the packets a second leaving it; 0 is no limit.
	SetQueueRate(port uint32, prio int, packetsPerSecond uint64)
	// SetPortSpeed makes frames that leave a port take their time on an Ethernet wire. The priority
	// queues of the port share the wire, the highest priority first. 0 bits a second means no limit,
	// the initial state of all ports. BMv2 has no such limit.
	SetPortSpeed(port uint32, bitsPerSecond uint64)
	// SetPortUp changes the state of a port. All ports start up. A port that
	// is down neither receives nor transmits (counted in Stats), and group
	// members and replicas that watch it are skipped.
	SetPortUp(port uint32, up bool)
	// PortUp returns the state of a port.
	PortUp(port uint32) bool
}
