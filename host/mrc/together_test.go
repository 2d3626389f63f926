package mrc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestReceiveAll: one SACK and one ACK answer all requests that arrive together and ask for
// answers, with the SACK for the last request; a marked or repeated request gets a separate SACK.
func TestReceiveAll(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(i int, p *packet.MRC)
		want string
	}{
		{"all fresh", nil, "SACK 503+0 ACK 503"},
		{"one marked", func(i int, p *packet.MRC) {
			if i == 1 {
				p.IPv6.TrafficClass |= packet.CE
			}
		}, "SACK 501+0 marked ACK 501 SACK 503+0 ACK 503"},
		{"one sent again", func(i int, p *packet.MRC) {
			p.BTH.Retransmission = i == 3
		}, "SACK 503+0 ACK 503 SACK 503+-1 ACK 503"},
		{"a gap", func(i int, p *packet.MRC) {
			if i > 1 {
				p.BTH.PSN++
			}
		}, "SACK 501+3 ACK 501"},
		{"one comes twice", func(i int, p *packet.MRC) {
			if i == 2 {
				*p = request(501, []byte{1, 9})
				p.RETH.VA = 2
			}
		}, "SACK 501+0 ACK 501 SACK 501+2 ACK 501"},
		{"nobody asks", func(_ int, p *packet.MRC) { p.BTH.AckReq = false }, ""},
		{"no such memory", func(i int, p *packet.MRC) {
			if i == 2 {
				p.RETH.RKey += 2
			}
		}, "SACK 502+0 NAK 502"},
	} {
		s := newSolo(t, nil)
		memory := make([]byte, 8)
		for key, part := range map[uint32][]byte{testRKey: memory[:6], testRKey + 1: memory[6:]} {
			if _, err := s.host.RegisterMR(0, key, part, verbs.AccessRemoteWrite); err != nil {
				t.Fatal(err)
			}
		}
		var frames [][]byte
		for i := range 4 {
			p := request(500+uint32(i), []byte{byte(i), 9})
			if p.BTH.AckReq, p.RETH.VA = true, uint64(2*i); i == 3 {
				p.RETH.VA, p.RETH.RKey = 0, testRKey+1
			}
			if c.edit != nil {
				c.edit(i, &p)
			}
			frames = append(frames, s.frame(p))
		}
		s.host.ReceiveAll(s.now, 1, frames)
		got := ""
		for _, p := range s.settle(0) {
			switch p.BTH.Opcode {
			case packet.OpMRCSACK:
				got += fmt.Sprintf(" SACK %d+%d", p.SETH.CackPSN, p.SETH.AckPSNOffset)
				if p.SETH.Mark == packet.MarkSkipOnce {
					got += " marked"
				}
			case packet.OpMRCAcknowledge:
				kind := "ACK"
				if p.AETH.Syndrome.Kind() == packet.SyndromeNAK {
					kind = "NAK"
				}
				got += fmt.Sprintf(" %s %d", kind, p.BTH.PSN)
			}
		}
		if got = got[min(1, len(got)):]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if placed := []byte{0, 9, 1, 9, 2, 9, 3, 9}; c.name != "no such memory" &&
			c.name != "one comes twice" && !bytes.Equal(memory, placed) {
			t.Errorf("%s: memory holds % x", c.name, memory)
		}
	}
}

// manyWriter is memory that takes several writes at once.
type manyWriter struct {
	*elsewhere
	most int
}

// WriteMany writes what is behind a write that goes on too.
func (m *manyWriter) WriteMany(parts []verbs.Part, base uint64) (n int, err error) {
	m.most = max(m.most, len(parts))
	for i, p := range parts {
		_, failed := m.WriteAt(p.Octets, int64(p.VA-base))
		if failed != nil && m.goesOn == nil {
			return i, failed
		}
		if err == nil && failed != nil {
			n, err = i, failed
		}
	}
	if err == nil {
		n = len(parts)
	}
	return n, err
}

// TestForeignTogether: memory gets the payloads of packets that arrive together at once. Packets
// that memory does not take for now count as lost, packets that go on are written once, and the
// first packet that memory refuses ends the queue pair.
func TestForeignTogether(t *testing.T) {
	for _, name := range []string{"answers", "later", "goes on", "fails"} {
		l := newBed(t, 3, 2, 2)
		l.together = 5 * time.Microsecond
		to := &manyWriter{elsewhere: &elsewhere{octets: make([]byte, 100_000)}}
		if _, err := l.hosts[1].RegisterForeign(4096, testRKey, verbs.Foreign{Memory: to,
			Size: 100_000}, verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		q := l.pair(0, 1, func(_ int, c *QPConfig) { c.PMTU = 1024 })
		writes, written := 0, make(map[int64]int)
		var underway *verbs.Underway
		switch name {
		case "later":
			to.later = func() bool {
				writes++
				return writes%9 == 0
			}
		case "goes on":
			to.goesOn = func(at int64) error {
				written[at]++
				if writes++; writes%9 != 0 {
					return nil
				}
				underway = &verbs.Underway{}
				u := underway
				l.At(l.Now()+10*time.Microsecond, func() { u.Ended = true })
				return u
			}
		case "fails":
			to.later = func() bool {
				writes++
				to.gone = writes == 20
				return false
			}
		}
		want := verbs.StatusOK
		if name == "fails" {
			want = verbs.StatusRemoteOperational
		}
		from := &elsewhere{octets: pattern(100_000, 3)}
		status, failed := l.write(q, from, 4096)
		if status != want || failed != (name == "fails") ||
			!failed && !bytes.Equal(to.octets, from.octets) {
			t.Errorf("%s: %v, failed %v", name, status, failed)
		}
		if to.most < 4 {
			t.Errorf("%s: %d writes at once", name, to.most)
		}
		refused := l.hosts[1].Counters().Refused
		if name == "later" && (refused[RefusedResource] == 0 || q[0].Counters().RequestsResent == 0) {
			t.Errorf("%s: %v", name, refused.Map())
		}
		if name == "goes on" && (refused[RefusedResource] == 0 || len(q[1].underway) > 0) {
			t.Errorf("%s: %v, %d writes are kept", name, refused.Map(), len(q[1].underway))
		}
		for at, n := range written {
			if n != 1 {
				t.Errorf("%s: the octets at %d are written %d times", name, at, n)
			}
		}
	}
}
