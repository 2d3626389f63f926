package packet

import (
	"net/netip"
	"reflect"
	"testing"
)

var (
	block32 = netip.MustParsePrefix("fc00:1::/32")
	block16 = netip.MustParsePrefix("fc00::/16")
)

func sequence(n int) []uint16 {
	usids := make([]uint16, n)
	for i := range usids {
		usids[i] = 0xA00 + uint16(i)
	}
	return usids
}

func TestUSIDFormat(t *testing.T) {
	for f, want := range map[USIDFormat]struct {
		name                      string
		block, capacity, maxUSIDs int
	}{
		F3216: {"F3216", 32, 6, 12},
		F1616: {"F1616", 16, 7, 14},
	} {
		if f.String() != want.name || f.BlockBits() != want.block || f.Capacity() != want.capacity ||
			f.MaxUSIDs() != want.maxUSIDs {
			t.Errorf("%v: block of %d bits, %d uSIDs, %d in all; want %+v", f, f.BlockBits(), f.Capacity(),
				f.MaxUSIDs(), want)
		}
	}
}

func TestUSIDSID(t *testing.T) {
	for _, c := range []struct {
		f     USIDFormat
		block netip.Prefix
		usid  uint16
		want  string
	}{
		{F3216, block32, 0x0a01, "fc00:1:a01::/48"},
		{F3216, block32, 0xe002, "fc00:1:e002::/48"},
		{F1616, block16, 0x0a01, "fc00:a01::/32"},
	} {
		if got, err := c.f.SID(c.block, c.usid); err != nil || got.String() != c.want {
			t.Errorf("%v, %v, %#04x: %v, %v; want %v", c.f, c.block, c.usid, got, err, c.want)
		}
	}
	_, err := F3216.SID(block32, 0)
	wantError(t, err, ErrMalformed, "uSID 0", "1 to 65535")
	_, err = F3216.SID(block16, 1)
	wantError(t, err, ErrMalformed, "fc00::/16", "32 bits for F3216")
}

// The first three are the paths of OCP MRC 1.0, §9.3.5: through all tiers, the T0 short cut, the T1
// short cut.
func TestUSIDContainers(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     USIDFormat
		block netip.Prefix
		usids []uint16
		want  []netip.Addr
	}{
		{"Ex to Ez", F3216, block32, []uint16{0x10, 0x11, 0x12, 0x13, 0x14, 0x15},
			[]netip.Addr{addr("fc00:1:10:11:12:13:14:15")}},
		{"Ex to Ex+t0.d-1", F3216, block32, []uint16{0x10, 0x17}, []netip.Addr{addr("fc00:1:10:17::")}},
		{"Ex to Ey", F3216, block32, []uint16{0x10, 0x11, 0x16, 0x18},
			[]netip.Addr{addr("fc00:1:10:11:16:18::")}},
		{"one", F3216, block32, []uint16{0xffff}, []netip.Addr{addr("fc00:1:ffff::")}},
		{"seven", F3216, block32, sequence(7), []netip.Addr{addr("fc00:1:a00:a01:a02:a03:a04:a05"),
			addr("fc00:1:a06::")}},
		{"twelve", F3216, block32, sequence(12), []netip.Addr{addr("fc00:1:a00:a01:a02:a03:a04:a05"),
			addr("fc00:1:a06:a07:a08:a09:a0a:a0b")}},
		{"F1616, seven", F1616, block16, sequence(7),
			[]netip.Addr{addr("fc00:a00:a01:a02:a03:a04:a05:a06")}},
		{"F1616, eight", F1616, block16, sequence(8),
			[]netip.Addr{addr("fc00:a00:a01:a02:a03:a04:a05:a06"), addr("fc00:a07::")}},
		{"F1616, fourteen", F1616, block16, sequence(14),
			[]netip.Addr{addr("fc00:a00:a01:a02:a03:a04:a05:a06"),
				addr("fc00:a07:a08:a09:a0a:a0b:a0c:a0d")}},
	} {
		got, err := c.f.Containers(c.block, c.usids...)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
			continue
		}
		var back []uint16
		for _, container := range got {
			if back, err = c.f.AppendUSIDs(back, container); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if !reflect.DeepEqual(back, c.usids) {
			t.Errorf("%s: read again %#x, want %#x", c.name, back, c.usids)
		}
	}
}

func TestUSIDContainersRefuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     USIDFormat
		block netip.Prefix
		usids []uint16
		want  error
		words []string
	}{
		{"none", F3216, block32, nil, ErrMalformed, []string{"no uSIDs"}},
		{"thirteen", F3216, block32, sequence(13), ErrTooLong,
			[]string{"13 uSIDs", "at most 12 in 2 containers of F3216"}},
		{"fifteen", F1616, block16, sequence(15), ErrTooLong, []string{"15 uSIDs", "at most 14"}},
		{"a zero", F3216, block32, []uint16{1, 2, 0, 3}, ErrMalformed,
			[]string{"uSID 2 is 0", "1 to 65535"}},
		{"block of another format", F1616, block32, []uint16{1}, ErrMalformed,
			[]string{"fc00:1::/32", "16 bits for F1616"}},
		{"bits after the block", F3216, netip.MustParsePrefix("fc00:1:2::/32"), []uint16{1}, ErrMalformed,
			[]string{"fc00:1:2::/32", "zero"}},
		{"IPv4", F3216, netip.MustParsePrefix("10.0.0.0/32"), []uint16{1}, ErrMalformed,
			[]string{"10.0.0.0/32", "IPv6"}},
		{"no block", F3216, netip.Prefix{}, []uint16{1}, ErrMalformed,
			[]string{"IPv6 prefix of 32 bits"}},
	} {
		_, err := c.f.Containers(c.block, c.usids...)
		wantError(t, err, c.want, c.words...)
	}
}

func TestUSIDArgument(t *testing.T) {
	for _, c := range []struct {
		f              USIDFormat
		dst            string
		active         uint16
		endOfContainer bool
		shifted        string
	}{
		{F3216, "fc00:1:a00:a01:a02:a03:a04:a05", 0xa00, false, "fc00:1:a01:a02:a03:a04:a05::"},
		{F3216, "fc00:1:a00:a01::", 0xa00, false, "fc00:1:a01::"},
		{F3216, "fc00:1:a05::", 0xa05, true, "fc00:1::"},
		{F3216, "fc00:1:a05::1", 0xa05, false, "fc00:1:0:0:0:0:1::"},
		{F3216, "fc00:1::", 0, true, "fc00:1::"},
		{F1616, "fc00:a00:a01:a02:a03:a04:a05:a06", 0xa00, false, "fc00:a01:a02:a03:a04:a05:a06::"},
		{F1616, "fc00:a06::", 0xa06, true, "fc00::"},
	} {
		dst := addr(c.dst)
		if got := c.f.Active(dst); got != c.active {
			t.Errorf("%v %v: active %#04x, want %#04x", c.f, dst, got, c.active)
		}
		if got := c.f.EndOfContainer(dst); got != c.endOfContainer {
			t.Errorf("%v %v: end of container %v, want %v", c.f, dst, got, c.endOfContainer)
		}
		if got := c.f.Shift(dst); got != addr(c.shifted) {
			t.Errorf("%v %v: shifted %v, want %v", c.f, dst, got, c.shifted)
		}
	}
}

func TestAppendUSIDsRefuses(t *testing.T) {
	got, err := F3216.AppendUSIDs([]uint16{7}, addr("fc00:1:a00:0:a02::"))
	if wantError(t, err, ErrMalformed, "fc00:1:a00:0:a02::",
		"0x0a02 after a 0"); !reflect.DeepEqual(got, []uint16{7}) {
		t.Errorf("what was there became %v", got)
	}
}

func TestUSIDDoesNotAllocate(t *testing.T) {
	buf := make([]uint16, 0, 14)
	dst := addr("fc00:1:a00:a01:a02:a03:a04:a05")
	ip := IPv6{HopLimit: 64, Dst: dst}
	if n := testing.AllocsPerRun(100, func() {
		buf, _ = F3216.AppendUSIDs(buf[:0], dst)
		_, _ = F3216.Active(dst), F3216.EndOfContainer(dst)
		step := ip
		F3216.Process(UN, &step, nil)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
