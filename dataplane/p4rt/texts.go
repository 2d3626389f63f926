package p4rt

import (
	"maps"
	"math/big"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// maxText bounds the strings of translated types, in octets.
const maxText = 1024

// texts are the strings of a pipeline's translated types.
type texts struct {
	tables []*textTable // by translation.index; nil for types that clients know by numbers
	// look: a string without a value is NOT_FOUND instead of getting a value.
	look bool
}

// looking returns texts that give no values.
func (x texts) looking() texts {
	x.look = true
	return x
}

// textTable maps the strings of a type to values of the program and back. The
// P4Info may give values; of other strings
//
//   - the decimal numeral of a value, without leading zeroes, is that value
//     ("1" is port 1), and
//   - any other gets a value when it is first used: from the middle of what
//     the width holds upwards, then from 1. It is never 0, which is what
//     metadata is before it is set.
//
// A value without a string is reported as its numeral.
type textTable struct {
	*translation
	values map[string][]byte // by string, in canonical form
	names  map[string]string // by value
	next   *big.Int          // where a free value is looked for
	limit  *big.Int          // 2^width
	// releaseAt is the number of strings beyond which the table drops unused strings.
	releaseAt int
	used      map[string]struct{} // while release looks: the strings met
}

// newTexts makes the tables of a pipeline. Strings bound by an earlier pipeline of the device keep
// their values if the types have the same name and width.
func newTexts(types map[string]*translation, before texts) texts {
	var x texts
	for _, t := range types {
		if !t.strings() {
			continue
		}
		if x.tables == nil {
			x.tables = make([]*textTable, len(types))
		}
		x.tables[t.index] = newTextTable(t)
		for _, b := range before.tables {
			if b != nil && b.name == t.name && b.width == t.width {
				x.tables[t.index].adopt(b)
			}
		}
	}
	return x
}

func newTextTable(t *translation) *textTable {
	x := &textTable{translation: t, values: make(map[string][]byte), names: make(map[string]string)}
	x.limit = new(big.Int).Lsh(big.NewInt(1), uint(t.width))
	x.next = new(big.Int).Rsh(x.limit, 1)
	for s, v := range t.given {
		x.bind(s, v)
	}
	x.setRelease()
	return x
}

// adopt takes over the strings that do not contradict the P4Info.
func (x *textTable) adopt(b *textTable) {
	for s, v := range b.values {
		if _, dup := x.values[s]; !dup && x.names[string(v)] == "" {
			x.bind(s, v)
		}
	}
	x.next.Set(b.next)
	x.setRelease()
}

func (x *textTable) bind(s string, v []byte) {
	x.values[s], x.names[string(v)] = v, s
}

// value returns the value of a string, in canonical form; look is that of
// texts.
func (x *textTable) value(b []byte, look bool) ([]byte, *Error) {
	if v, ok := x.values[string(b)]; ok {
		return v, nil
	}
	if len(b) == 0 || len(b) > maxText {
		return nil, invalid("the string has %d octets; want 1 to %d", len(b), maxText)
	}
	s := string(b)
	if v, ok := numeral(s); ok && bitLen(v) <= x.width {
		if _, taken := x.names[string(v)]; !taken {
			if !look {
				x.bind(s, v)
			}
			return v, nil
		}
	}
	if look {
		return nil, notFound("string %q of type %q is not in use", s, x.name)
	}
	v, ok := x.free()
	if !ok {
		return nil, errorf(codes.ResourceExhausted,
			"type %q has no value left for string %q: %d strings use its %d bits", x.name, s, len(x.values),
			x.width)
	}
	x.bind(s, v)
	return v, nil
}

// free finds a value that no string has, 0 aside.
func (x *textTable) free() ([]byte, bool) {
	taken := len(x.names)
	if _, zero := x.names["\x00"]; zero {
		taken--
	}
	if new(big.Int).Sub(x.limit, big.NewInt(1)).Cmp(big.NewInt(int64(taken))) <= 0 {
		return nil, false
	}
	for one := big.NewInt(1); ; x.next.Add(x.next, one) {
		if x.next.Cmp(x.limit) >= 0 {
			x.next.Set(one)
		}
		v := x.next.Bytes()
		if _, used := x.names[string(v)]; !used {
			return v, true
		}
	}
}

// text returns the string of a value.
func (x *textTable) text(b []byte) []byte {
	v := canonical(b)
	s, ok := x.names[string(v)]
	if !ok {
		return new(big.Int).SetBytes(v).Append(nil, 10)
	}
	if x.used != nil {
		x.used[s] = struct{}{}
	}
	return []byte(s)
}

// setRelease lets a table grow to twice its strings, or to the middle of the free values, before
// the table lets go of strings.
func (x *textTable) setRelease() {
	n := len(x.values)
	x.releaseAt = max(2*n, 1024)
	if x.width < 32 {
		x.releaseAt = min(x.releaseAt, n+(1<<x.width-n+1)/2)
	}
}

// numeral returns the value of a decimal numeral, in canonical form.
func numeral(s string) ([]byte, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return nil, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return nil, false
		}
	}
	return parseNumber(s)
}

// parseNumber reads a number as P4 and Go write it.
func parseNumber(s string) ([]byte, bool) {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok || n.Sign() < 0 {
		return nil, false
	}
	return canonical(n.Bytes()), true
}

// releaseTexts drops strings unused by entries, members, value sets and registers, once there are
// many strings. Do not call it during a batch, because the undo log of a batch holds values.
func (r *realm) releaseTexts(now time.Duration) {
	crowded := false
	for _, x := range r.texts.tables {
		crowded = crowded || x != nil && len(x.values) >= x.releaseAt
	}
	if !crowded {
		return
	}
	for _, x := range r.texts.tables {
		if x != nil {
			x.used = make(map[string]struct{})
		}
	}
	// Whatever is read is told, and so met.
	out := &reading{r: r, now: now}
	out.keep = func(*p4v1.Entity) bool {
		out.slab.Reset()
		return false
	}
	_ = r.readMembers(&p4v1.ActionProfileMember{}, out)
	_ = r.readTableEntries(&p4v1.TableEntry{}, out)
	_ = r.readTableEntries(&p4v1.TableEntry{IsDefaultAction: true}, out)
	_ = r.readValueSets(&p4v1.ValueSetEntry{}, out)
	for _, reg := range r.p.registerList {
		if reg.strings {
			_ = r.emitRegisters(reg, 0, int(reg.size), out)
		}
	}
	for _, x := range r.texts.tables {
		if x == nil {
			continue
		}
		maps.DeleteFunc(x.values, func(s string, v []byte) bool {
			_, used := x.used[s]
			_, given := x.given[s]
			if used || given {
				return false
			}
			delete(x.names, string(v))
			return true
		})
		x.used = nil
		x.setRelease()
	}
}
