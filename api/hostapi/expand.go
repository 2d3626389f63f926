package hostapi

// Expand converts an EV of the profile to the EV in the packet, field by field as in
// mrc_ctl_ev_profile_attr. Each field starts as InitVal, and the next bits of the EV replace the
// bits of Mask; zeros precede a field narrower than its format field. A profile without fields
// leaves EVs unchanged. The error is a *FieldError; format and fields must be valid.
func (p *Profile) Expand(v EV) (EV, error) {
	if err := checkEV(v, p.Bits()); err != nil {
		return EV{}, err
	}
	if len(p.Fields) == 0 {
		return v, nil
	}
	out := EV{Port: v.Port}
	from, to := 0, 0
	for i, f := range p.Fields {
		x := f.InitVal&^f.Mask | deposit(v.bitsAt(from, f.Bits()), f.Mask)
		from += f.Bits()
		to += int(p.Format.Widths[i])
		out.putBits(to, x)
	}
	return out, nil
}

// Shrink is the inverse of Expand: Shrink returns the EV of the profile for an EV in a packet. The
// error is a *FieldError: the fields cannot make the EV.
func (p *Profile) Shrink(wire EV) (EV, error) {
	if len(p.Fields) == 0 {
		return p.Expand(wire)
	}
	out := EV{Port: wire.Port}
	from, to := 0, 0
	for i, f := range p.Fields {
		width := min(int(p.Format.Widths[i]), 32)
		from += int(p.Format.Widths[i])
		x := extract(wire.bitsAt(from-width, width), f.Mask)
		to += f.Bits()
		out.putBits(to, x)
	}
	if back, err := p.Expand(out); err != nil || back != wire {
		return EV{}, invalid("value", "%v, want one that the fields make", wire)
	}
	return out, nil
}

// Generate makes the Count EVs of a profile of mode GEN, for a device without an EV order of its
// own. EVs take the ports in turn, and no EV of a port repeats until all values are used. Generate
// spreads EVs evenly over the values of the first field, then for each of these over the values of
// the second field, and so on. Profiles with different names start at different values. The result
// includes denied EVs.
func (p *Profile) Generate(ports PortMask) []EV {
	var each []uint8
	for port := 1; port <= MaxPort; port++ {
		if ports.Has(port) {
			each = append(each, uint8(port))
		}
	}
	if p.Mode != ModeGenerated || len(each) == 0 {
		return nil
	}
	out := make([]EV, p.Count)
	for i := range out {
		out[i] = p.generated(uint64(i/len(each)), each[i%len(each)])
	}
	return out
}

// generated returns the EV of a number. The fields hold the digits of the number in the mixed radix
// of the fields' ranges, each digit shifted by the digits before.
func (p *Profile) generated(number uint64, port uint8) EV {
	v := EV{Port: port}
	at, moved := 0, fnv1a(p.Name, port)
	for _, f := range p.Fields {
		if f.Mask == 0 {
			continue
		}
		at += f.Bits()
		values := uint64(f.MaxVal-f.MinVal) + 1
		digit := (number%values + moved%values) % values
		number /= values
		moved = moved>>7 + digit
		v.putBits(at, f.MinVal+uint32(digit))
	}
	return v
}

// fnv1a returns the hash of a name and a port (FNV-1a, 64 bits).
func fnv1a(name string, port uint8) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return (h ^ uint64(port)) * 1099511628211
}

// putBits writes x over zeros, its last bit before bit end. Bits of x that are not 0 must not lie
// before bit 0.
func (v *EV) putBits(end int, x uint32) {
	for bit := end - 1; x != 0; bit, x = bit-1, x>>1 {
		v.Value[bit/8] |= byte(x&1) << (7 - bit%8)
	}
}

// deposit puts the low bits of x, in order, where mask has ones.
func deposit(x, mask uint32) uint32 {
	var out uint32
	for ; mask != 0; mask &= mask - 1 {
		if x&1 != 0 {
			out |= mask & -mask
		}
		x >>= 1
	}
	return out
}

// extract collects the bits of x where mask has ones.
func extract(x, mask uint32) uint32 {
	var out uint32
	for i := 0; mask != 0; mask, i = mask&(mask-1), i+1 {
		if x&(mask&-mask) != 0 {
			out |= 1 << i
		}
	}
	return out
}
