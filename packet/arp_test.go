package packet

import (
	"errors"
	"net/netip"
	"testing"
)

func TestARPRoundTrip(t *testing.T) {
	f := ARPFrame{
		Ethernet: Ethernet{Dst: BroadcastMAC, Src: MAC{2, 0, 0, 0, 0, 1}, EtherType: EtherTypeARP},
		ARP: ARP{Operation: ARPRequest, SenderMAC: MAC{2, 0, 0, 0, 0, 1},
			Sender: netip.MustParseAddr("10.0.0.1"), Target: netip.MustParseAddr("10.0.0.2")},
	}
	b := f.Append(nil)
	if len(b) != 60 { // the shortest of Ethernet, without its check sequence
		t.Errorf("%d octets, want 60", len(b))
	}
	got, err := ParseARPFrame(b)
	if err != nil || got != f {
		t.Fatalf("%+v, %v; want %+v", got, err, f)
	}
	for n := range EthernetLen + ARPLen {
		if _, err := ParseARPFrame(b[:n]); err == nil {
			t.Errorf("%d octets: no error", n)
		}
	}
	for name, change := range map[string]struct {
		at   int
		to   byte
		want error
	}{
		"IPv6":              {13, 0xDD, ErrUnsupported},
		"other link":        {EthernetLen + 1, 6, ErrUnsupported},
		"other protocol":    {EthernetLen + 2, 9, ErrUnsupported},
		"long addresses":    {EthernetLen + 5, 16, ErrUnsupported},
		"operation":         {EthernetLen + 7, 3, ErrUnsupported},
		"multicast MAC":     {EthernetLen + 8, 1, ErrMalformed},
		"multicast address": {EthernetLen + 14, 224, ErrMalformed},
	} {
		bad := append([]byte(nil), b...)
		bad[change.at] = change.to
		if _, err := ParseARPFrame(bad); !errors.Is(err, change.want) {
			t.Errorf("%s: %v, want %v", name, err, change.want)
		}
	}
}
