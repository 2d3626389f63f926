package cm

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// bed is two hosts on a wire in virtual time that loses frames to queue pair 1.
type bed struct {
	t     *testing.T
	rng   *rand.Rand
	loss  float64
	now   time.Duration
	hosts [2]*rc.Host
	cms   [2]*CM
	wire  [2][][]byte // to each
	got   [2][]Event
}

func newBed(t *testing.T, seed uint64) *bed {
	b := &bed{t: t, rng: rand.New(rand.NewPCG(seed, 2)), now: time.Second}
	for i := range b.hosts {
		cfg := rc.DefaultConfig()
		cfg.Addr = netip.MustParseAddr([]string{"2001:db8::1", "2001:db8::2"}[i])
		cfg.MAC, cfg.GatewayMAC = packet.MAC{2, 0, 0, 0, 0, byte(1 + i)}, packet.MAC{2, 0, 0, 0, 0,
			byte(2 - i)}
		cfg.Output = func(_ time.Duration, frame []byte) {
			if !cm.IsFrame(frame) || b.rng.Float64() >= b.loss {
				b.wire[1-i] = append(b.wire[1-i], slices.Clone(frame))
			}
		}
		h, err := rc.NewHost(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b.hosts[i], b.cms[i] = h, New(h, Config{Seed: seed + uint64(i)})
	}
	return b
}

// run goes on for a time, in steps.
func (b *bed) run(d time.Duration) {
	for end := b.now + d; b.now < end; b.now += 10 * time.Millisecond {
		for again := true; again; {
			again = false
			for i := range b.hosts {
				b.hosts[i].Advance(b.now)
				b.cms[i].Advance(b.now)
				frames := b.wire[i]
				b.wire[i] = nil
				for _, f := range frames {
					again = true
					if cm.IsFrame(f) {
						b.cms[i].Receive(b.now, f)
					} else {
						b.hosts[i].Receive(b.now, f)
					}
				}
				b.got[i] = append(b.got[i], b.cms[i].Events()...)
			}
		}
	}
}

func (b *bed) last(i int, want rdmacm.Kind) Event {
	b.t.Helper()
	if len(b.got[i]) == 0 || b.got[i][len(b.got[i])-1].Kind != want {
		b.t.Fatalf("host %d: %v, want %v at last", i, b.got[i], want)
	}
	return b.got[i][len(b.got[i])-1]
}

// TestConnectAndWrite: two hosts that know an address and a port write to each other's memory, over
// a wire that loses a third of the messages, and leave.
func TestConnectAndWrite(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := newBed(t, seed)
	b.loss = 0.33
	memory := make([]byte, 8192)
	if _, err := b.hosts[1].RegisterMR(0x10000, 7, memory, verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	b.cms[1].Listen(4000, func(r Request) Reply {
		if r.Peer != b.hosts[0].Config().Addr || string(r.Private) != "hello" {
			t.Errorf("request %+v", r)
		}
		return Reply{Private: []byte("welcome")}
	})
	id, err := b.cms[0].Connect(b.now, b.hosts[1].Config().Addr, 4000, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	b.run(80 * time.Second)
	source, sink := b.last(0, rdmacm.Up), b.last(1, rdmacm.Up)
	if string(source.Conn.Private) != "welcome" || sink.QP == nil {
		t.Errorf("connected: %+v, %+v", source, sink)
	}
	a, z := source.QP.Config(), sink.QP.Config()
	if a.SQPSN != z.RQPSN || a.RQPSN != z.SQPSN || a.SQPSN == a.RQPSN || a.QPN != z.RemoteQPN ||
		a.RemoteQPN != z.QPN {
		t.Errorf("queue pairs %+v\nand %+v", a, z)
	}
	data := bytes.Repeat([]byte("weft"), 2048)
	if err := source.QP.PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data,
		RemoteVA: 0x10000, RKey: 7}); err != nil {
		t.Fatal(err)
	}
	b.run(time.Second)
	if c, ok := source.QP.Poll(); !ok || c.Status != verbs.StatusOK || !bytes.Equal(memory, data) {
		t.Errorf("completion %+v, %v", c, ok)
	}

	b.cms[0].Disconnect(b.now, id)
	b.run(90 * time.Second)
	b.last(0, rdmacm.Down)
	b.last(1, rdmacm.Down)
	if _, err := b.hosts[1].QP(z.QPN); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("the queue pair is still there: %v", err)
	}
}

// TestRefused: what a host refuses, with the reason that the other end gets.
func TestRefused(t *testing.T) {
	b := newBed(t, 1)
	b.cms[1].Listen(4000, func(Request) Reply { return Reply{Refuse: cm.ConsumerReject} })
	for port, want := range map[uint16]cm.Reason{4000: cm.ConsumerReject, 4001: cm.InvalidServiceID} {
		if _, err := b.cms[0].Connect(b.now, b.hosts[1].Config().Addr, port, nil); err != nil {
			t.Fatal(err)
		}
		b.run(100 * time.Millisecond)
		if e := b.last(0, rdmacm.Refused); e.Reason != want || e.QP != nil {
			t.Errorf("port %d: %+v", port, e)
		}
	}
	b.cms[1].Listen(4000, nil)
	if _, err := b.cms[0].Connect(b.now, b.hosts[1].Config().Addr, 4000,
		make([]byte, cm.ConsumerREQ+1)); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("57 octets: %v", err)
	}
	// Nobody answers: it gives up after 15 times 4.3 s.
	if _, err := b.cms[0].Connect(b.now, netip.MustParseAddr("2001:db8::3"), 4000, nil); err != nil {
		t.Fatal(err)
	}
	b.run(66 * time.Second)
	b.last(0, rdmacm.Failed)
	if got := b.cms[1].Counters(); got.Refused != 16 {
		t.Errorf("%+v: want 15 REQ and a REJ to another address refused", got)
	}
}

// TestRefusedFrames: a frame counts as refused when it is corrupt, or for another address or MAC.
func TestRefusedFrames(t *testing.T) {
	b := newBed(t, 1)
	if _, err := b.cms[0].Connect(b.now, b.hosts[1].Config().Addr, 4000, nil); err != nil {
		t.Fatal(err)
	}
	f, _, err := cm.ParseFrame(b.wire[1][0])
	if err != nil {
		t.Fatal(err)
	}
	mac, address := f, f
	mac.Ethernet.Dst[5]++
	address.IPv6.Dst = netip.MustParseAddr("2001:db8::3")
	corrupt := f.Append(nil)
	corrupt[len(corrupt)-1]++
	for i, frame := range [][]byte{mac.Append(nil), address.Append(nil), corrupt} {
		b.cms[1].Receive(b.now, frame)
		if got, want := b.cms[1].Counters(), uint64(i+1); got.Refused != want || got.Received != want {
			t.Errorf("frame %d: %+v", i, got)
		}
	}
}

// TestAnswers: a listener's host refuses a REQ without a path MTU (IBTA volume 1, 12.6.5), and one
// for which it has no queue pair; it keeps nothing of either. The smaller of two path MTUs counts.
func TestAnswers(t *testing.T) {
	request := func(b *bed, change func(*cm.REQ)) {
		b.cms[1].Listen(4000, func(Request) Reply { return Reply{} })
		if _, err := b.cms[0].Connect(b.now, b.hosts[1].Config().Addr, 4000, nil); err != nil {
			t.Fatal(err)
		}
		f, _, err := cm.ParseFrame(b.wire[1][0])
		if err != nil {
			t.Fatal(err)
		}
		r := f.MAD.Message.(cm.REQ)
		change(&r)
		f.MAD.Message = r
		b.wire[1][0] = f.Append(nil)
		b.run(100 * time.Millisecond)
	}
	b := newBed(t, 1)
	request(b, func(r *cm.REQ) { r.PathMTU = 0 })
	if e := b.last(0, rdmacm.Refused); e.Reason != cm.InvalidMTU {
		t.Errorf("no path MTU: %+v", e)
	}
	b = newBed(t, 1)
	b.cms[1].cfg.QP.SendDepth = -1
	request(b, func(*cm.REQ) {})
	if e := b.last(0, rdmacm.Refused); e.Reason != cm.NoResources || len(b.cms[1].first) != 0 {
		t.Errorf("no queue pair: %+v, first PSNs of %d connections are left", e, len(b.cms[1].first))
	}
	for theirs, want := range map[cm.MTU]int{cm.MTU1024: 1024, cm.MTU4096: 2048} {
		b = newBed(t, 1)
		b.cms[1].cfg.QP.PMTU = 2048
		request(b, func(r *cm.REQ) { r.PathMTU = theirs })
		if e := b.last(1, rdmacm.Up); e.QP.Config().PMTU != want {
			t.Errorf("a request with %d octets: %d, want %d", theirs.Octets(), e.QP.Config().PMTU, want)
		}
	}
}
