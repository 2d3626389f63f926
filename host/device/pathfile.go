package device

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/wholefile"
)

// PathFile writes a file from which NICs load their paths: a JSON object by source address, then
// destination, of a list of templates. It implements Backend.
type PathFile struct {
	File   string
	Source netip.Addr
	Have   int // ports of the NIC, MaxFilePorts at most
}

// Template makes the outer destinations of path selectors. The two low bits of a selector are the
// NIC's port, from 0. The bits of PSMask above are deposited into the one bits of Mask, the least
// significant first (the x86 instruction PDEP), and added to Data.
type Template struct {
	Plane  int        `json:"plane"`
	Data   netip.Addr `json:"template_data"`
	Mask   netip.Addr `json:"template_mask"`
	PSMask uint32     `json:"ps_mask"`
	PSList []uint32   `json:"ps_list"`
}

const (
	portBits = 2 // of a selector
	maxWidth = 32 - portBits
	// MaxFilePorts is the ports of a NIC that a selector can name.
	MaxFilePorts = 1 << portBits
)

// Ports implements Backend.
func (f *PathFile) Ports() (mask hostapi.PortMask) {
	for i := range f.Have {
		mask |= hostapi.Ports(i + 1)
	}
	return mask
}

// Apply implements Backend: the file is replaced as a whole.
func (f *PathFile) Apply(paths []Path) error {
	text, err := f.Encode(paths)
	if err != nil {
		return err
	}
	return wholefile.Put(f.File, text)
}

// Encode returns the file for paths. Destinations are single addresses or prefixes; neighbors with
// the same EVs share the prefix that they have in common, unless there are longer and shorter
// prefixes among them: an address that the controller knows nothing of may be in it. The error is a
// *hostapi.FieldError.
func (f *PathFile) Encode(paths []Path) (text []byte, err error) {
	rows := make([]row, len(paths))
	single := true
	for i, p := range paths {
		for _, v := range p.EVs {
			if v.Port == 0 || int(v.Port) > f.Have {
				return nil, noPort(v, f.Have)
			}
		}
		rows[i].to = p.Destination
		if i > 0 && slices.Equal(p.EVs, paths[i-1].EVs) {
			rows[i].templates = rows[i-1].templates
		} else if rows[i].templates, err = json.Marshal(templates(p.EVs)); err != nil {
			return nil, err
		}
		single = single && p.Destination.IsSingleIP() && p.Destination.Addr().Is6()
	}
	if single {
		rows = merged(rows)
	}
	to := make(map[string]json.RawMessage, len(rows))
	for _, r := range rows {
		name := r.to.String()
		if r.to.IsSingleIP() {
			name = r.to.Addr().String()
		}
		to[name] = r.templates
	}
	return json.Marshal(map[netip.Addr]map[string]json.RawMessage{f.Source: to})
}

// row is a destination of the file.
type row struct {
	to        netip.Prefix
	templates json.RawMessage
}

// merged returns a row for each longest run of addresses, in their order, that have equal templates
// and a prefix without any other address of the rows.
func merged(rows []row) []row {
	if len(rows) < 2 {
		return rows
	}
	common := wide(rows[0].to.Addr()).xor(wide(rows[len(rows)-1].to.Addr())).leadingZeros()
	same := func(r row) bool { return string(r.templates) == string(rows[0].templates) }
	if !slices.ContainsFunc(rows, func(r row) bool { return !same(r) }) {
		return []row{{netip.PrefixFrom(rows[0].to.Addr(), common).Masked(), rows[0].templates}}
	}
	half := slices.IndexFunc(rows, func(r row) bool { return wide(r.to.Addr()).bit(127-common) == 1 })
	return append(merged(rows[:half]), merged(rows[half:])...)
}

// templates returns templates for EVs: one, unless they differ in more bits than a selector has.
func templates(evs []hostapi.EV) []Template {
	out := []Template{}
	for len(evs) > 0 {
		first, mask := wide(outer(evs[0])), uint128{}
		n := 1
		for ; n < len(evs); n++ {
			next := mask.or(first.xor(wide(outer(evs[n]))))
			if next.ones() > maxWidth {
				break
			}
			mask = next
		}
		t := Template{Plane: int(evs[0].Port) - 1, Data: first.without(mask).addr(), Mask: mask.addr(),
			PSMask: (1<<mask.ones() - 1) << portBits}
		for _, v := range evs[:n] {
			t.PSList = append(t.PSList, mask.extract(wide(outer(v)))<<portBits|uint32(v.Port-1))
		}
		slices.Sort(t.PSList)
		out, evs = append(out, t), evs[n:]
	}
	return out
}

// EVs returns the outer destinations and ports that a template stands for.
func (t *Template) EVs() (out []hostapi.EV, err error) {
	mask, data := wide(t.Mask), wide(t.Data)
	for _, s := range t.PSList {
		if s&^(t.PSMask|(1<<portBits-1)) != 0 {
			return nil, fmt.Errorf("ps_list: %d, want no bits but those of ps_mask %d and two for the port",
				s, t.PSMask)
		}
		v := hostapi.EV{Port: uint8(s&(1<<portBits-1)) + 1}
		a := data.or(mask.deposit(s & t.PSMask >> portBits)).addr().As16()
		copy(v.Value[:], a[:])
		out = append(out, v)
	}
	return out, nil
}

// uint128 is an IPv6 address as a number.
type uint128 struct{ hi, lo uint64 }

func wide(a netip.Addr) uint128 {
	b := a.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func (u uint128) addr() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], u.hi)
	binary.BigEndian.PutUint64(b[8:], u.lo)
	return netip.AddrFrom16(b)
}

func (u uint128) or(v uint128) uint128      { return uint128{u.hi | v.hi, u.lo | v.lo} }
func (u uint128) xor(v uint128) uint128     { return uint128{u.hi ^ v.hi, u.lo ^ v.lo} }
func (u uint128) without(v uint128) uint128 { return uint128{u.hi &^ v.hi, u.lo &^ v.lo} }

// ones returns the number of one bits.
func (u uint128) ones() int { return bits.OnesCount64(u.hi) + bits.OnesCount64(u.lo) }

// leadingZeros returns the number of zero bits before the first one bit.
func (u uint128) leadingZeros() int {
	if u.hi == 0 {
		return 64 + bits.LeadingZeros64(u.lo)
	}
	return bits.LeadingZeros64(u.hi)
}

// bit returns bit i, from the least significant.
func (u uint128) bit(i int) uint64 {
	if i < 64 {
		return u.lo >> i & 1
	}
	return u.hi >> (i - 64) & 1
}

// extract gathers the bits of v at the one bits of the mask u, the least significant first.
func (u uint128) extract(v uint128) (out uint32) {
	n := 0
	for i := range 128 {
		if u.bit(i) == 1 {
			out |= uint32(v.bit(i)) << n
			n++
		}
	}
	return out
}

// deposit is the reverse of extract.
func (u uint128) deposit(x uint32) (out uint128) {
	for i := range 128 {
		if u.bit(i) == 0 {
			continue
		}
		if i < 64 {
			out.lo |= uint64(x&1) << i
		} else {
			out.hi |= uint64(x&1) << (i - 64)
		}
		x >>= 1
	}
	return out
}
