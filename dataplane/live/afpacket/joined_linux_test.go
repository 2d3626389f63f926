//go:build linux

package afpacket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/test/seeds"
)

// datagram is a UDP datagram over IPv6 by a flow label, without a checksum.
func datagram(label uint32, payload []byte) []byte {
	f := make([]byte, joinedHeaders, joinedHeaders+len(payload))
	binary.BigEndian.PutUint16(f[12:], 0x86dd)
	binary.BigEndian.PutUint32(f[14:], 6<<28|label)
	f[20], f[21] = 17, 64
	f = append(f, payload...)
	setLengths(f, len(payload))
	return f
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestJoined: frames joined on their way through the kernel arrive unchanged, in order, among
// frames that the kernel cannot join; the receiving socket gets fewer packets than frames.
func TestJoined(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 9000))
	a, b := openBy(t, ns, "va", OpenJoined), openBy(t, ns, "vb", OpenJoined)
	a.attach()
	b.attach()
	first, n := seeds.Range(t, 1, 20)
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		var want [][]byte
		for len(want) < 150 {
			size := 1 + rng.IntN(200)
			if rng.IntN(4) == 0 {
				size = 4000 + rng.IntN(200)
			}
			label := rng.Uint32N(3)
			for range 1 + rng.IntN(20) {
				want = append(want, datagram(label, random(rng, size)))
			}
			switch f := datagram(label, random(rng, size)); rng.IntN(5) {
			case 0: // with a checksum
				f[60] = 9
				want = append(want, f, f)
			case 1: // no UDP
				f[20] = 6
				want = append(want, f, f)
			case 2: // no IPv6
				f[12] = 0x08
				want = append(want, f, f)
			case 3: // octets behind the datagram
				f = append(f, 1, 2, 3)
				want = append(want, f, f)
			}
		}
		if taken, _ := a.Send(want); taken != len(want) {
			t.Fatalf("seed %d: %d of %d frames sent", seed, taken, len(want))
		}
		slots := 0
		for len(b.frames) < len(want) {
			fd := []unix.PollFd{{Fd: int32(b.Descriptor()), Events: unix.POLLIN}}
			if n, err := unix.Poll(fd, int(patience.Milliseconds())); n != 1 || err != nil {
				t.Fatalf("seed %d: %d of %d frames: %v", seed, len(b.frames), len(want), err)
			}
			before := b.ring.head
			b.Poll()
			slots += (b.ring.head - before + b.ring.slots) % b.ring.slots
		}
		for i, f := range want {
			if got := <-b.frames; !bytes.Equal(got, f) {
				t.Fatalf("seed %d: frame %d of %d octets arrives as %d octets, others than were sent", seed, i,
					len(f), len(got))
			}
		}
		if slots > len(want)*2/3 {
			t.Errorf("seed %d: %d packets for %d frames", seed, slots, len(want))
		}
	}
	if l := b.Losses(); l.Overrun+l.Oversize > 0 {
		t.Errorf("%+v", l)
	}
}

// TestJoinedForOthers: a port that joins no frames drops, and reports, frames that another port has
// joined; an interface that may lead out of the machine is refused.
func TestJoinedForOthers(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 9000))
	a, b := openBy(t, ns, "va", OpenJoined), openBy(t, ns, "vb", OpenPolled)
	a.attach()
	b.attach()
	f := datagram(1, []byte("payload"))
	a.send(t, f, f)
	fd := []unix.PollFd{{Fd: int32(b.Descriptor()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fd, int(patience.Milliseconds())); n != 1 || err != nil {
		t.Fatalf("poll: %d, %v", n, err)
	}
	if b.Poll(); b.Losses().Oversize != 1 || len(b.frames) > 0 {
		t.Errorf("%+v, %d frames", b.Losses(), len(b.frames))
	}
	must(t, ns.Do(func() error {
		_, err := OpenJoined("lo", slog.New(slog.DiscardHandler))
		if !errors.Is(err, ErrInterface) || !strings.Contains(err.Error(), "want no bursts") {
			t.Errorf("lo: %v", err)
		}
		return nil
	}))
}

// TestJoinedOnly: segments from the kernel's own sockets, with checksums to complete, do not count
// among joined frames.
func TestJoinedOnly(t *testing.T) {
	var b [offloadSize]byte
	putOffload(b[:], 7)
	f := datagram(1, []byte("payload"))
	if !parseOffload(b[:]).isJoined(f) {
		t.Error("what is put as joined is not")
	}
	for i := range b {
		other := b
		if other[i]++; (i < 2 || i > 5) && parseOffload(other[:]).isJoined(f) {
			t.Errorf("offload header with another octet %d", i)
		}
	}
	putOffload(b[:], 0)
	if parseOffload(b[:]).isJoined(f) {
		t.Error("segments of no octets")
	}
	putOffload(b[:], 7)
	f[atUDPSum] = 1
	if parseOffload(b[:]).isJoined(f) {
		t.Error("with a checksum to complete")
	}
}

// TestJoinedElsewhere: segments of a datagram that other software has left to be cut do not count
// as joined frames.
func TestJoinedElsewhere(t *testing.T) {
	one := datagram(1, []byte("payload"))
	two := append(datagram(1, []byte("payload")), one...)
	other := slices.Clone(two)
	other[len(one)+20]++ // another protocol in the second frame
	for name, c := range map[string]struct {
		octets []byte
		size   int
		frames int
	}{
		"joined":             {two, len(one), 2},
		"another header":     {other, len(one), 0},
		"payloads alone":     {datagram(1, []byte("payloadpayload")), len("payload"), 0},
		"a segment short":    {two[:len(two)-1], len(one), 0},
		"less than a header": {append(one, one[:1]...), 1, 0},
	} {
		setLengths(c.octets, len(c.octets)-joinedHeaders)
		var b [offloadSize]byte
		putOffload(b[:], c.size)
		before := [][]byte{one}
		frames, ok := (&ring{}).split(before, c.octets, parseOffload(b[:]))
		if ok != (c.frames > 0) || len(frames) != 1+c.frames {
			t.Errorf("%s: %d frames, %v", name, len(frames)-1, ok)
		}
		for _, f := range frames[1:] {
			if !bytes.Equal(f, one) {
				t.Errorf("%s: frame % x, want % x", name, f, one)
			}
		}
	}
}
