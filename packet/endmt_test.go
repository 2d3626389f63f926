package packet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

const (
	edgeHex = "fc00000a0000000000000000000000ee"

	endMTWire = "7c 3e 0000" + edgeHex + "02 000000" +
		"20010db8000000000000000000000001 000011 00" +
		"20010db8000000000000000000000002 fedcba 00"

	// An SRH of two segments with an End.MT TLV of one receiver, padded by PadN.
	inbandSRHWire = "29 0a 04 01 01 00 0000" + proxyHex + sidHex +
		"7c 2a 0000" + edgeHex + "01 000000 20010db8000000000000000000000001 000011 00 04 02 0000"
)

var edge = addr("fc00:a::ee")

func receivers(n int) []Receiver {
	r := make([]Receiver, n)
	for i := range r {
		r[i] = Receiver{Addr: addr(fmt.Sprintf("2001:db8::%x", i+1)), QPN: uint32(0x100 + i)}
	}
	return r
}

func parseEndMT(b []byte) (EndMT, int, error) { return ParseEndMT(b, TLVEndMTDefault) }

func TestEndMT(t *testing.T) {
	wire := unhex(t, endMTWire)
	testHeader(t, parseEndMT, []headerCase[EndMT]{
		{"two receivers", endMTWire, EndMT{Type: 124, Edge: edge, ReceiverList: wire[24:]}},
		{"no receiver", "7c 16 0000" + edgeHex + "00 000000",
			EndMT{Type: 124, Edge: edge, ReceiverList: []byte{}}},
	})
	h, _, err := parseEndMT(wire)
	if err != nil {
		t.Fatal(err)
	}
	if h.NumReceivers() != 2 || h.Receiver(0) != (Receiver{addr("2001:db8::1"), 0x11}) ||
		h.Receiver(1) != (Receiver{addr("2001:db8::2"), 0xfedcba}) {
		t.Errorf("receivers %v, %v of %d", h.Receiver(0), h.Receiver(1), h.NumReceivers())
	}
	if h.Receiver(2) != (Receiver{}) || h.Receiver(-1) != (Receiver{}) {
		t.Error("a receiver that is not there is not zero")
	}
	if got := AppendEndMT(nil, 124, edge, []Receiver{h.Receiver(0), h.Receiver(1)}); !bytes.Equal(got,
		wire) {
		t.Errorf("AppendEndMT:\n got % x\nwant % x", got, wire)
	}
}

// Reserved fields "MUST be set to zero on transmission and MUST be ignored on reception" (§7.2).
func TestEndMTReserved(t *testing.T) {
	wire := unhex(t, endMTWire)
	dirty := bytes.Clone(wire)
	for _, i := range []int{2, 3, 21, 22, 23, 43, 63} {
		dirty[i] = 0xFF
	}
	h, n, err := parseEndMT(dirty)
	if err != nil || n != len(dirty) || h.Receiver(1) != (Receiver{addr("2001:db8::2"), 0xfedcba}) {
		t.Fatalf("%+v, %d, %v", h, n, err)
	}
	if got := h.Append(nil); !bytes.Equal(got, wire) {
		t.Errorf("written again:\n got % x\nwant % x", got, wire)
	}
}

func TestEndMTRefuses(t *testing.T) {
	wire := unhex(t, endMTWire)
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   error
		words  []string
	}{
		{"one receiver too many", func(b []byte) {
			b[20] = 3
		}, ErrMalformed, []string{"Num Receivers 3", "Length 62", "want Length 82"}},
		{"one receiver too few", func(b []byte) {
			b[20] = 1
		}, ErrMalformed, []string{"Num Receivers 1", "Length 62", "want Length 42"}},
		{"Length one short", func(b []byte) {
			b[1]--
		}, ErrMalformed, []string{"Num Receivers 2", "Length 61"}},
		{"Length below the fixed part", func(b []byte) {
			b[1] = 21
		}, ErrTruncated, []string{"Length 21", "at least 22"}},
		{"Num Receivers 255", func(b []byte) {
			b[20] = 255
		}, ErrMalformed, []string{"Num Receivers 255"}},
		{"other type", func(b []byte) { b[0] = 125 }, ErrUnsupported, []string{"type 125", "want 124"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(wire)
			c.change(b)
			_, n, err := parseEndMT(b)
			wantError(t, err, c.want, c.words...)
			if n != 0 {
				t.Errorf("took %d octets", n)
			}
		})
	}
}

func TestEndMTTypeIsConfigurable(t *testing.T) {
	b := AppendEndMT(nil, 125, edge, receivers(1))
	if b[0] != 125 {
		t.Fatalf("type %d, want 125", b[0])
	}
	if _, _, err := ParseEndMT(b, 125); err != nil {
		t.Error(err)
	}
	list := AppendPadding(b)
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, list)
	if err != nil {
		t.Fatal(err)
	}
	if got, found, err := h.EndMTReceivers(nil, 125, edge); len(got) != 1 || !found || err != nil {
		t.Errorf("as type 125: %v, %v, %v", got, found, err)
	}
	if got, found, err := h.EndMTReceivers(nil, 124, edge); len(got) != 0 || found || err != nil {
		t.Errorf("as type 124: %v, %v, %v", got, found, err)
	}
}

func TestAppendEndMTSplits(t *testing.T) {
	for n := range 40 {
		all := receivers(n)
		b := AppendEndMT(nil, 124, edge, all)
		var got []Receiver
		var sizes []int
		for len(b) > 0 {
			h, took, err := parseEndMT(b)
			if err != nil {
				t.Fatalf("%d receivers: %v", n, err)
			}
			if h.Edge != edge {
				t.Errorf("edge %v, want %v", h.Edge, edge)
			}
			sizes = append(sizes, h.NumReceivers())
			for i := range h.NumReceivers() {
				got = append(got, h.Receiver(i))
			}
			b = b[took:]
		}
		if !slices.Equal(got, all) {
			t.Errorf("%d receivers come back as %v", n, got)
		}
		if want := max(1, (n+10)/11); len(sizes) != want {
			t.Errorf("%d receivers take TLVs of %v, want %d of them", n, sizes, want)
		}
	}
}

func TestEndMTAppendEndsAtEleven(t *testing.T) {
	h := EndMT{Type: 124, Edge: edge, ReceiverList: make([]byte, 20*12)}
	b := h.Append(nil)
	if len(b) != 244 || h.Len() != 244 || b[1] != 242 || b[20] != 11 {
		t.Errorf("%d octets, Len %d, Length %d, Num Receivers %d; want 244, 244, 242, 11", len(b),
			h.Len(), b[1], b[20])
	}
}

func TestEndMTListAndReceivers(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		var edges []EdgeReceivers
		for i := range 1 + rng.IntN(3) {
			edges = append(edges, EdgeReceivers{Edge: addr(fmt.Sprintf("fc00:a::%x", i+1)),
				Receivers: receivers(1 + rng.IntN(24))})
		}
		list, err := EndMTList(124, 2, edges)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, list)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		parsed, _, err := ParseSRH(h.Append(nil))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, e := range edges {
			kept := Receiver{Addr: proxy, QPN: 7}
			got, found, err := parsed.EndMTReceivers([]Receiver{kept}, 124, e.Edge)
			if err != nil || !found || got[0] != kept || !slices.Equal(got[1:], e.Receivers) {
				t.Fatalf("round %d, edge %v: %v, %v, %v; want %v", round, e.Edge, got, found, err, e.Receivers)
			}
		}
		if got, found, err := parsed.EndMTReceivers(nil, 124, addr("fc00:b::1")); len(got) != 0 ||
			found || err != nil {
			t.Fatalf("round %d, an edge without TLV: %v, %v, %v", round, got, found, err)
		}
	}
}

// The TLVs of one edge need not be neighbours, and padding may stand between TLVs.
func TestEndMTReceiversInterleaved(t *testing.T) {
	other := addr("fc00:b::1")
	all := receivers(4)
	b := AppendEndMT(nil, 124, edge, all[:1])
	b = AppendPadding(b)
	b = AppendEndMT(b, 124, other, all[1:2])
	b = append(b, TLVPad1)
	b = AppendEndMT(b, 124, edge, all[2:])
	b = AppendPadding(b)
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, b)
	if err != nil {
		t.Fatal(err)
	}
	got, found, err := h.EndMTReceivers(nil, 124, edge)
	if want := []Receiver{all[0], all[2], all[3]}; err != nil || !found || !slices.Equal(got, want) {
		t.Errorf("%v, %v, %v; want %v", got, found, err, want)
	}
}

func TestEndMTReceiversRefusesBadTLVOfAnotherEdge(t *testing.T) {
	b := AppendEndMT(nil, 124, edge, receivers(1))
	bad := len(b)
	b = AppendEndMT(b, 124, addr("fc00:b::1"), receivers(1))
	b[bad+20] = 2 // Num Receivers
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, AppendPadding(b))
	if err != nil {
		t.Fatal(err)
	}
	got, found, err := h.EndMTReceivers(nil, 124, edge)
	wantError(t, err, ErrMalformed, "Num Receivers 2", "Length 42")
	if len(got) != 0 || found {
		t.Errorf("receivers %v, %v beside an error", got, found)
	}
}

// A header put together by hand may not have passed Validate.
func TestEndMTReceiversOfUnvalidatedHeader(t *testing.T) {
	list := AppendEndMT(nil, 124, edge, receivers(1))
	got, found, err := SRH{TLVList: append(list, 124)}.EndMTReceivers(nil, 124, edge)
	wantError(t, err, ErrTruncated, "no Length")
	if len(got) != 0 || found {
		t.Errorf("receivers %v, %v beside an error", got, found)
	}
}

func TestEndMTListRefuses(t *testing.T) {
	ok := EdgeReceivers{Edge: edge, Receivers: receivers(1)}
	for _, c := range []struct {
		name  string
		edges []EdgeReceivers
		want  error
		words []string
	}{
		{"edge twice", []EdgeReceivers{ok, ok}, ErrMalformed, []string{edge.String(), "twice"}},
		{"no receivers", []EdgeReceivers{{Edge: edge}}, ErrMalformed,
			[]string{edge.String(), "at least one"}},
		{"IPv4 edge", []EdgeReceivers{{Edge: addr("10.0.0.1"), Receivers: receivers(1)}}, ErrMalformed,
			[]string{"10.0.0.1", "IPv6"}},
		{"no edge", []EdgeReceivers{{Receivers: receivers(1)}}, ErrMalformed, []string{"IPv6"}},
		{"zone", []EdgeReceivers{{Edge: addr("fe80::1%eth0"), Receivers: receivers(1)}}, ErrMalformed,
			[]string{"fe80::1%eth0"}},
		{"IPv4 receiver", []EdgeReceivers{{Edge: edge, Receivers: []Receiver{{addr("10.0.0.1"), 2}}}},
			ErrMalformed, []string{"receiver 10.0.0.1"}},
		{"wide QPN", []EdgeReceivers{{Edge: edge, Receivers: []Receiver{{addr("::1"), 1 << 24}}}},
			ErrMalformed, []string{"0x1000000", "24 bits"}},
		{"too many", []EdgeReceivers{{Edge: edge, Receivers: receivers(100)}}, ErrTooLong,
			[]string{"at most 2048"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := EndMTList(124, 2, c.edges)
			wantError(t, err, c.want, c.words...)
			if list != nil {
				t.Errorf("a list of %d octets beside an error", len(list))
			}
		})
	}
	if list, err := EndMTList(124, 2, nil); len(list) != 0 || err != nil {
		t.Errorf("no edges: % x, %v", list, err)
	}
}

func TestEndMTReceiversDoesNotAllocate(t *testing.T) {
	b, err := EndMTList(124, 2, []EdgeReceivers{{edge, receivers(32)},
		{addr("fc00:b::1"), receivers(5)}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, b)
	if err != nil {
		t.Fatal(err)
	}
	wire := h.Append(nil)
	dst := make([]Receiver, 0, 32)
	if n := testing.AllocsPerRun(100, func() {
		h, _, err := ParseSRH(wire)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := h.EndMTReceivers(dst[:0], 124, edge); len(got) != 32 || err != nil {
			t.Fatal(len(got), err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzParseEndMT(f *testing.F) {
	f.Add(unhex(f, endMTWire))
	f.Add(unhex(f, "7c 16 0000"+edgeHex+"00 000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := parseEndMT(b)
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		out := h.Append(nil)
		if len(out) != n || n != h.Len() {
			t.Fatalf("took %d octets, Len %d, wrote %d", n, h.Len(), len(out))
		}
		again, _, err := parseEndMT(out)
		if err != nil || again.Edge != h.Edge || again.NumReceivers() != h.NumReceivers() {
			t.Fatalf("second parse: %+v, %v; want %+v", again, err, h)
		}
		for i := range h.NumReceivers() {
			if again.Receiver(i) != h.Receiver(i) {
				t.Fatalf("receiver %d: %v, want %v", i, again.Receiver(i), h.Receiver(i))
			}
		}
		if !bytes.Equal(again.Append(nil), out) {
			t.Fatal("the second encoding differs from the first")
		}
	})
}

func FuzzEndMTReceivers(f *testing.F) {
	f.Add(unhex(f, inbandSRHWire))
	f.Add(unhex(f, srhTLVWire))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := ParseSRH(b)
		if err != nil {
			return
		}
		got, found, err := h.EndMTReceivers(nil, TLVEndMTDefault, edge)
		if err != nil && (len(got) != 0 || found) {
			t.Fatalf("%d receivers, %v beside %v", len(got), found, err)
		}
		if !found && len(got) != 0 {
			t.Fatalf("%d receivers that no TLV names", len(got))
		}
	})
}
