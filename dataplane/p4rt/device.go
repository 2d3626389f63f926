package p4rt

import (
	"errors"
	"fmt"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
)

// Config configures a Device.
type Config struct {
	// ID is the P4Runtime device id.
	ID uint64
	// Switch configures the embedded switch, its CPU and drop ports included.
	Switch dataplane.Config
	// Ports lists the ports that exist, for the check of watch_port. Nil:
	// every port number is taken to exist.
	Ports []uint32
	// Cache shares loaded programs between devices. Nil: a cache of its own.
	Cache *Cache
	// Epoch is the wall-clock time at which the device's clock reads 0. It
	// only serves the timestamps of digest lists and idle notifications;
	// zero: they count from 0.
	Epoch time.Time
	// IdleScan is how often entries are checked for their idle timeout.
	// 0: DefaultIdleScan. It bounds how late a notification may be.
	IdleScan time.Duration

	// Transmit takes the frames the switch sends, those to the CPU port
	// aside. A frame is valid only during the call. Nil: frames are dropped.
	Transmit func(now time.Duration, port uint32, frame []byte)
	// Notify takes what the device has to tell its primary controllers:
	// packet-ins, digest lists and idle timeout notifications. The message is
	// the receiver's. It is called from Receive, Advance and PacketOut, and
	// must not call the device back. Nil: no one listens.
	Notify func(now time.Duration, m *p4v1.StreamMessageResponse)
}

// Defaults of Config.
const (
	DefaultIdleScan        = 100 * time.Millisecond
	DefaultCPUPort  uint32 = 510
	DefaultDropPort uint32 = 511
)

// Stats counts controller packets and digests of a Device.
type Stats struct {
	PacketIns     uint64 // handed to Notify
	PacketInShort uint64 // frames to the CPU port shorter than the packet_in header: dropped
	PacketOuts    uint64 // injected
	DigestLists   uint64 // handed to Notify
	DigestDropped uint64 // digest messages dropped because too many await acknowledgement
	// messages of Notify that no primary controller was there for; counted by Sessions
	Unheard uint64
}

// Device is a P4Runtime device over an embedded switch: the semantics of the
// service without gRPC, without a goroutine and without a clock. All methods
// belong to one goroutine, the one that owns the switch.
//
// Its methods take complete requests and check the device id and the
// pipeline state; who may send them is the business of Sessions.
type Device struct {
	cfg   Config
	sw    *dataplane.Switch
	cache *Cache
	cpu   uint32

	prePorts, watchPorts portCheck

	// active forwards packets. saved holds the pipeline of VERIFY_AND_SAVE; reads and writes refer to
	// saved until it is committed.
	active, saved *realm
	cookie        *p4v1.ForwardingPipelineConfig_Cookie
	savedCookie   *p4v1.ForwardingPipelineConfig_Cookie

	nextIdleScan time.Duration
	stats        Stats
}

// ErrConfig reports that a Config is invalid; errors wrap it with the reason.
var ErrConfig = errors.New("p4rt: bad configuration")

// WithDefaults returns the configuration with its defaults in place of zeroes.
func (c Config) WithDefaults() Config {
	if c.Switch.CPUPort == 0 {
		c.Switch.CPUPort = DefaultCPUPort
	}
	if c.Switch.DropPort == 0 {
		c.Switch.DropPort = DefaultDropPort
	}
	if c.IdleScan <= 0 {
		c.IdleScan = DefaultIdleScan
	}
	return c
}

// Validate checks a configuration that has its defaults. Errors wrap
// ErrConfig.
func (c Config) Validate() error {
	cpu, drop := c.Switch.CPUPort, c.Switch.DropPort
	switch {
	case cpu > MaxPort:
		return fmt.Errorf("%w: CPU port %d; want at most %d", ErrConfig, cpu, MaxPort)
	case drop > MaxPort:
		return fmt.Errorf("%w: drop port %d; want at most %d", ErrConfig, drop, MaxPort)
	case cpu == drop:
		return fmt.Errorf("%w: port %d is both the CPU port and the drop port", ErrConfig, cpu)
	}
	for _, p := range c.Ports {
		switch {
		case p > MaxPort:
			return fmt.Errorf("%w: port %d; want at most %d", ErrConfig, p, MaxPort)
		case p == cpu:
			return fmt.Errorf("%w: port %d is the CPU port", ErrConfig, p)
		case p == drop:
			return fmt.Errorf("%w: port %d is the drop port", ErrConfig, p)
		}
	}
	return nil
}

// NewDevice makes a device with an empty switch: it has no pipeline until
// SetPipeline.
func NewDevice(cfg Config) (*Device, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cache := cfg.Cache
	if cache == nil {
		cache = new(Cache)
	}
	d := &Device{cfg: cfg, cache: cache}
	d.sw = dataplane.New(cfg.Switch, (*output)(d))
	d.cpu = cfg.Switch.CPUPort
	d.prePorts = portCheck{max: MaxPort, drop: cfg.Switch.DropPort}
	d.watchPorts = d.prePorts
	if cfg.Ports != nil {
		d.watchPorts.known = make(map[uint32]struct{}, len(cfg.Ports))
		for _, p := range cfg.Ports {
			d.watchPorts.known[p] = struct{}{}
		}
	}
	return d, nil
}

// MaxPort is the largest port number: standard_metadata ports have 9 bits.
const MaxPort = 1<<9 - 1

// ID returns the device id.
func (d *Device) ID() uint64 { return d.cfg.ID }

// CPUPort returns the port whose frames are packet-ins and packet-outs.
func (d *Device) CPUPort() uint32 { return d.cpu }

// DropPort returns the port that means drop.
func (d *Device) DropPort() uint32 { return d.prePorts.drop }

// Switch returns the embedded switch, for functions that P4Runtime does not cover:
// queue depths and rates, port states, statistics. It belongs to the device's
// goroutine.
func (d *Device) Switch() *dataplane.Switch { return d.sw }

// Stats returns the counts so far.
func (d *Device) Stats() Stats { return d.stats }

// Receive hands the switch a frame that arrived on a port.
func (d *Device) Receive(now time.Duration, port uint32, frame []byte) {
	d.sw.Receive(now, port, frame)
}

// Advance runs everything due at now: the switch, digest buffers and idle timeouts. It returns the
// latest time for the next call, and false when nothing is pending.
func (d *Device) Advance(now time.Duration) (next time.Duration, pending bool) {
	next, pending = d.sw.Advance(now)
	earlier := func(t time.Duration) {
		if !pending || t < next {
			next, pending = t, true
		}
	}
	if d.active == nil {
		return next, pending
	}
	if t, ok := d.active.digests.advance(d, now); ok {
		earlier(t)
	}
	if d.active.idle {
		if now >= d.nextIdleScan {
			d.scanIdle(now)
			d.nextIdleScan = now + d.cfg.IdleScan
		}
		earlier(d.nextIdleScan)
	}
	return next, pending
}

// current is the realm of reads and writes.
func (d *Device) current() *realm {
	if d.saved != nil {
		return d.saved
	}
	return d.active
}

func (d *Device) checkID(id uint64) *Error {
	if id != d.cfg.ID {
		return notFound("device id %d is unknown; this is device %d", id, d.cfg.ID)
	}
	return nil
}

var errNoPipeline = errorf(codes.FailedPrecondition,
	"no forwarding pipeline config has been set; send SetForwardingPipelineConfig first")

// timestamp is the time on the wall, in nanoseconds since 1970.
func (d *Device) timestamp(now time.Duration) int64 {
	if d.cfg.Epoch.IsZero() {
		return int64(now)
	}
	return d.cfg.Epoch.Add(now).UnixNano()
}

func (d *Device) notify(now time.Duration, m *p4v1.StreamMessageResponse) {
	if d.cfg.Notify != nil {
		d.cfg.Notify(now, m)
	}
}

// output is the Device as the switch sees it.
type output Device

// Transmit implements dataplane.Output: frames to the CPU port become
// packet-ins.
func (o *output) Transmit(now time.Duration, port uint32, frame []byte) {
	d := (*Device)(o)
	if port == d.cpu {
		d.packetIn(now, frame)
		return
	}
	if d.cfg.Transmit != nil {
		d.cfg.Transmit(now, port, frame)
	}
}

// Digest implements dataplane.Output.
func (o *output) Digest(now time.Duration, digest int, values [][]byte) {
	d := (*Device)(o)
	if d.active != nil {
		d.active.digests.message(d, now, digest, values)
	}
}

// discard is the output of a switch that holds a saved pipeline: it never
// sees a packet.
type discard struct{}

func (discard) Transmit(time.Duration, uint32, []byte) {}
func (discard) Digest(time.Duration, int, [][]byte)    {}
