package device

import (
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
func (f *PathFile) Ports() hostapi.PortMask { return hostapi.FirstPorts(f.Have) }

// Apply implements Backend: the file is replaced as a whole.
func (f *PathFile) Apply(paths []Path) error {
	text, err := f.Encode(paths)
	if err != nil {
		return err
	}
	return wholefile.Put(f.File, text)
}

// Encode returns the file for paths. Destinations are single addresses or prefixes; neighbors with
// equal EVs share their common prefix, unless longer and shorter prefixes mix among them: an
// address that the controller knows nothing of may be in it. The error is a *hostapi.FieldError.
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
	first, last := rows[0].to.Addr(), rows[len(rows)-1].to.Addr()
	common := 127
	for !netip.PrefixFrom(first, common).Contains(last) {
		common--
	}
	same := func(r row) bool { return string(r.templates) == string(rows[0].templates) }
	if !slices.ContainsFunc(rows, func(r row) bool { return !same(r) }) {
		return []row{{netip.PrefixFrom(first, common).Masked(), rows[0].templates}}
	}
	half := slices.IndexFunc(rows, func(r row) bool { return bit(r.to.Addr(), common) == 1 })
	return append(merged(rows[:half]), merged(rows[half:])...)
}

// templates returns templates for EVs: one, unless they differ in more bits than a selector has.
func templates(evs []hostapi.EV) []Template {
	out := []Template{}
	for len(evs) > 0 {
		first, mask := outer(evs[0]), netip.IPv6Unspecified()
		n := 1
		for ; n < len(evs); n++ {
			next := combine(mask, combine(first, outer(evs[n]), xor), or)
			if ones(next) > maxWidth {
				break
			}
			mask = next
		}
		t := Template{Plane: int(evs[0].Port) - 1, Data: combine(first, mask, without), Mask: mask,
			PSMask: (1<<ones(mask) - 1) << portBits}
		for _, v := range evs[:n] {
			t.PSList = append(t.PSList, extract(mask, outer(v))<<portBits|uint32(v.Port-1))
		}
		slices.Sort(t.PSList)
		out, evs = append(out, t), evs[n:]
	}
	return out
}

// EVs returns the outer destinations and ports that a template stands for.
func (t *Template) EVs() (out []hostapi.EV, err error) {
	for _, s := range t.PSList {
		if s&^(t.PSMask|(1<<portBits-1)) != 0 {
			return nil, fmt.Errorf("ps_list: %d, want no bits but those of ps_mask %d and two for the port",
				s, t.PSMask)
		}
		v := hostapi.EV{Port: uint8(s&(1<<portBits-1)) + 1}
		a := combine(t.Data, deposit(t.Mask, s&t.PSMask>>portBits), or).As16()
		copy(v.Value[:], a[:])
		out = append(out, v)
	}
	return out, nil
}

// combine returns the address with f of the octets of two addresses.
func combine(a, b netip.Addr, f func(x, y byte) byte) netip.Addr {
	x, y := a.As16(), b.As16()
	for i := range x {
		x[i] = f(x[i], y[i])
	}
	return netip.AddrFrom16(x)
}

func or(x, y byte) byte      { return x | y }
func xor(x, y byte) byte     { return x ^ y }
func without(x, y byte) byte { return x &^ y }

// bit returns bit i of an address, from the most significant.
func bit(a netip.Addr, i int) uint32 {
	octets := a.As16()
	return uint32(octets[i/8]>>(7-i%8)) & 1
}

// ones returns the number of one bits.
func ones(a netip.Addr) (n int) {
	for _, x := range a.As16() {
		n += bits.OnesCount8(x)
	}
	return n
}

// extract gathers the bits of v at the one bits of a mask, the least significant first.
func extract(mask, v netip.Addr) (out uint32) {
	for i := range 128 { // the last is the least significant
		if bit(mask, i) == 1 {
			out = out<<1 | bit(v, i)
		}
	}
	return out
}

// deposit is the reverse of extract.
func deposit(mask netip.Addr, x uint32) netip.Addr {
	out := mask.As16()
	for i := range 128 {
		if at := 127 - i; bit(mask, at) == 1 {
			if x&1 == 0 {
				out[at/8] &^= 1 << (7 - at%8)
			}
			x >>= 1
		}
	}
	return netip.AddrFrom16(out)
}
