// Package nictest joins NICs by planes without switches, in virtual time.
package nictest

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/packet"
)

// A Bed holds NICs and the packets in flight between NICs. Tests may set its fields between runs.
type Bed struct {
	virtual.Clock
	NICs  []*nic.NIC
	Delay time.Duration // one way
	// Wire holds the settings for parsing packets.
	Wire packet.MRCSettings
	// Drop, if not nil, reports which packets are lost. Frame is valid during the call only.
	Drop func(now time.Duration, from int, p *packet.MRC, port int) bool
	// Edit, if not nil, returns the frame that arrives in place of frame. Edit may change frame.
	Edit func(from int, p *packet.MRC, frame []byte) []byte

	t      testing.TB
	rng    *rand.Rand
	alarms []time.Duration // of the NICs; negative: none
}

// Address returns the address of NIC i, in its own /48 prefix.
func Address(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte((i + 1) >> 8), byte(i + 1), 15: 1})
}

// MAC returns the MAC address of a port of NIC i.
func MAC(i, port int) packet.MAC { return packet.MAC{2, 0, 0, byte(port), byte(i >> 8), byte(i)} }

// Rate of a port, in bits per second.
const Rate = 100e9

// New makes NICs with so many ports each; edit may change their configurations.
func New(t testing.TB, nics, ports int, seed uint64, edit func(i int, c *nic.Config)) *Bed {
	t.Helper()
	f := &Bed{t: t, Delay: 2 * time.Microsecond, Wire: packet.DefaultMRCSettings(),
		rng: rand.New(rand.NewPCG(seed, 0x6e6963))}
	for i := range nics {
		cfg := nic.DefaultConfig()
		cfg.Seed = seed
		cfg.Host.Addr = Address(i)
		for p := range ports {
			cfg.Host.Ports = append(cfg.Host.Ports, mrc.Port{MAC: MAC(i, p+1), Gateway: packet.MAC{2, 0xff},
				LineRate: Rate})
		}
		cfg.Host.Output = func(now time.Duration, port int, frame []byte) { f.send(now, i, port, frame) }
		if edit != nil {
			edit(i, &cfg)
		}
		n, err := nic.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f.NICs, f.alarms = append(f.NICs, n), append(f.alarms, -1)
	}
	return f
}

// send carries a frame to the same port of the destination NIC: a port is a plane.
func (f *Bed) send(now time.Duration, from, port int, frame []byte) {
	p, _, err := packet.ParseMRC(frame, f.Wire)
	if err != nil {
		f.t.Fatalf("NIC %d sends what cannot be read: %v", from, err)
	}
	if f.Drop != nil && f.Drop(now, from, &p, port) {
		return
	}
	for i := range f.NICs {
		if Address(i) == p.IPv6.Dst {
			copied := append([]byte(nil), frame...)
			mac := MAC(i, port)
			copy(copied, mac[:])
			if f.Edit != nil {
				copied = f.Edit(from, &p, copied)
			}
			f.At(now+f.Delay+time.Duration(f.rng.IntN(200)), func() {
				f.NICs[i].Receive(f.Now(), port, copied)
				f.Wake(i)
			})
		}
	}
}

// Wake advances a NIC to the present. Call it after every other call to the NIC.
func (f *Bed) Wake(i int) {
	next, pending := f.NICs[i].Advance(f.Now())
	if !pending {
		f.alarms[i] = -1
		return
	}
	if next = max(next, f.Now()); f.alarms[i] != next {
		f.alarms[i] = next
		f.At(next, func() {
			if f.alarms[i] == next {
				f.alarms[i] = -1
				f.Wake(i)
			}
		})
	}
}

// Run continues until done says so or the time has come, and reports whether done did. A nil done
// never does.
func (f *Bed) Run(until time.Duration, done func() bool) bool {
	return f.Clock.Run(until, virtual.Idle, done)
}

// Apply makes a NIC hold a state.
func (f *Bed) Apply(i int, s hostapi.State) error {
	f.t.Helper()
	made, err := hostapi.NewState(s)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.NICs[i].Apply(made); err != nil {
		return err
	}
	f.Wake(i)
	return nil
}

// Hold applies a state, and fails the test if the NIC refuses the state.
func (f *Bed) Hold(i int, s hostapi.State) {
	f.t.Helper()
	if err := f.Apply(i, s); err != nil {
		f.t.Fatal(err)
	}
}

// Pair connects two NICs; both ends have the same queue pair number.
func (f *Bed) Pair(a, b int, qpn uint32) (qa, qb *mrc.QP) {
	f.t.Helper()
	make := func(at, peer int) *mrc.QP {
		c := nic.DefaultQPConfig()
		c.QPN, c.RemoteQPN, c.RemoteAddr, c.SQPSN, c.RQPSN = qpn, qpn, Address(peer), 0xffffe0, 0xffffe0
		q, err := f.NICs[at].CreateQP(c)
		if err != nil {
			f.t.Fatal(err)
		}
		return q
	}
	return make(a, b), make(b, a)
}

// Format is the format of Profile: a field of 8 bits and one of 16.
var Format = hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 16}}

// EV is a value of Profile.
func EV(number, port int) hostapi.EV { return hostapi.NewEV(uint32(number+1)<<16, uint8(port)) }

// Profile is an explicit profile to some NICs: values 0 to count-1, by the ports in turn.
func Profile(name string, count, ports int, to ...int) *hostapi.Profile {
	p := &hostapi.Profile{
		Name: name, Format: Format, Mode: hostapi.ModeExplicit, Count: count, MinActive: min(1, count),
		Events: true,
	}
	for i := range count {
		p.EVs = append(p.EVs, EV(i, i%ports+1))
	}
	for _, i := range to {
		p.Destinations = append(p.Destinations, netip.PrefixFrom(Address(i), 48).Masked())
	}
	return p
}
