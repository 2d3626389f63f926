package lab

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// StreamConfig defines what a stream sends.
type StreamConfig struct {
	From, To string // hosts
	QPN      uint32 // destination of the packets; different for each stream
	Payload  int    // octets of a packet
	Rate     uint64 // bit/s of the frames without preamble and gap
	Priority uint8  // that PFC frames stop
}

// A Stream sends RoCEv2 packets at a constant rate from one host to another, regardless of losses,
// and inspects arriving packets. It stops for PFC frames of its link, as a NIC does, and does not
// catch up afterwards.
type Stream struct {
	Config StreamConfig
	// Sent and Received count packets with a correct ICRC. Among the received packets, Reordered ones
	// came after a later packet, and Corrupt ones differ from the sent packet.
	Sent, Received, Reordered, Corrupt uint64
	// Octets of payload that have arrived.
	Octets uint64
	// Longest is the longest time without an arrival since the first.
	Longest time.Duration

	world   *World
	uplink  *Wire
	frame   packet.RoCE
	gap     time.Duration
	running bool
	paused  time.Duration // until then
	next    uint32        // PSN that is expected
	last    time.Duration
	buf     []byte
}

// NewStream returns a stream that has not started.
func (w *World) NewStream(cfg StreamConfig) (*Stream, error) {
	from, to := w.Network.host(cfg.From), w.Network.host(cfg.To)
	if from == nil || to == nil {
		return nil, fmt.Errorf("stream from %q to %q: %w", cfg.From, cfg.To, ErrUnknown)
	}
	gateway, _ := w.Network.Uplink(cfg.From)
	uplink, err := w.Wire(cfg.From, gateway)
	if err != nil {
		return nil, err
	}
	s := &Stream{Config: cfg, world: w, uplink: uplink}
	s.frame = packet.RoCE{
		Ethernet: packet.Ethernet{Dst: w.switches[gateway].Switch.MAC, Src: from.MAC},
		IPv6:     packet.IPv6{HopLimit: 64, Src: from.Address, Dst: to.Address},
		UDP:      packet.UDP{SrcPort: 49152, DstPort: packet.RoCEPort},
		BTH:      packet.BTH{Opcode: packet.OpSendOnly, PKey: 0xffff, DestQPN: cfg.QPN},
		Payload:  make([]byte, cfg.Payload),
	}
	s.gap = time.Duration(uint64(s.frame.Len()) * 8 * uint64(time.Second) / cfg.Rate)
	w.AddTap(streamTap{s})
	return s, nil
}

// Start lets it send from now on, Stop ends that.
func (s *Stream) Start() {
	if !s.running {
		s.running = true
		s.tick()
	}
}

// Stop ends what Start began.
func (s *Stream) Stop() { s.running = false }

// Lost returns how many packets have not arrived: some may be on their way.
func (s *Stream) Lost() uint64 { return s.Sent - s.Received }

func (s *Stream) tick() {
	if !s.running {
		return
	}
	if now := s.world.Now(); now < s.paused {
		s.world.At(s.paused, s.tick)
		return
	}
	if s.world.stopped(s.Config.From) {
		s.world.After(s.gap, s.tick)
		return
	}
	s.frame.BTH.PSN = uint32(s.Sent) & packet.PSNMask
	s.fill(s.frame.Payload, s.frame.BTH.PSN)
	s.buf = s.frame.Append(s.buf[:0])
	s.Sent++
	s.uplink.Inject(s.buf)
	s.world.After(s.gap, s.tick)
}

// fill makes the payload of a packet out of its number.
func (s *Stream) fill(b []byte, psn uint32) {
	x := psn*2654435761 + s.Config.QPN
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
}

// streamTap shows a stream what arrives.
type streamTap struct{ *Stream }

// Sent implements Tap.
func (streamTap) Sent(time.Duration, *Wire, []byte) {}

// Arrived implements Tap.
func (s streamTap) Arrived(now time.Duration, w *Wire, frame []byte) {
	switch {
	case w.To == s.Config.From && !s.world.stopped(w.To):
		s.control(now, w, frame)
	case w.To == s.Config.To && !s.world.stopped(w.To):
		s.data(now, frame)
	}
}

// control takes a PFC frame of the host's link.
func (s *Stream) control(now time.Duration, w *Wire, frame []byte) {
	var pfc packet.PFC
	if _, err := pfc.ParseFrame(frame); err != nil || pfc.Classes&(1<<s.Config.Priority) == 0 {
		return
	}
	s.paused = now + packet.PauseTime(pfc.Quanta[s.Config.Priority], w.Rate)
}

// data takes a packet that has come through.
func (s *Stream) data(now time.Duration, frame []byte) {
	p, _, err := packet.ParseRoCE(frame)
	if err != nil || p.BTH.DestQPN != s.Config.QPN || p.BTH.Opcode != packet.OpSendOnly ||
		packet.CheckICRC(p.Datagram) != nil {
		return // a NIC drops what was corrupted on a link
	}
	s.Received++
	s.Octets += uint64(len(p.Payload))
	want := make([]byte, len(p.Payload))
	s.fill(want, p.BTH.PSN)
	if !bytes.Equal(want, p.Payload) {
		s.Corrupt++
	}
	if packet.PSNDiff(p.BTH.PSN, s.next) < 0 {
		s.Reordered++
	} else {
		s.next = packet.PSNAdd(p.BTH.PSN, 1)
	}
	if s.last > 0 {
		s.Longest = max(s.Longest, now-s.last)
	}
	s.last = now
}
