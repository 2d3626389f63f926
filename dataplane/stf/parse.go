package stf

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Parse reads a case. It joins all errors of the text, each an *Error.
func Parse(text string) (*Case, error) {
	c := new(Case)
	var errs []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		do, err := statement(line)
		if err != nil {
			errs = append(errs, &Error{number, err})
			continue
		}
		c.Statements = append(c.Statements, Statement{number, do})
	}
	return c, errors.Join(errs...)
}

// verbs are the statements that are made of tokens.
var verbs = map[string]func(*line) any{
	"add":               (*line).add,
	"setdefault":        func(l *line) any { return SetDefault{l.name(), l.action()} },
	"remove":            func(l *line) any { l.word("all"); return RemoveAll{} },
	"no_packet":         func(*line) any { return NoPacket{} },
	"wait":              func(*line) any { return Wait{} },
	"check_counter":     (*line).checkCounter,
	"mc_mgrp_create":    func(l *line) any { return Group{l.u16()} },
	"mc_node_create":    func(l *line) any { return Node{l.u16(), l.ports()} },
	"mc_node_update":    func(l *line) any { return UpdateNode{l.index(), l.ports()} },
	"mc_node_associate": func(l *line) any { return Associate{l.u16(), l.index()} },
	"mirroring_add": func(l *line) any {
		s, p := l.u16(), l.port()
		return Mirror{Session: s, Port: &p}
	},
	"mirroring_add_mc": func(l *line) any {
		s, g := l.u16(), l.u16()
		return Mirror{Session: s, Group: &g}
	},
	"mirroring_delete": func(l *line) any { return Mirror{Session: l.u16(), Delete: true} },
	"mirroring_get":    func(l *line) any { return Mirror{Session: l.u16()} },
	"register_read": func(l *line) any {
		return Array{Kind: "register", Verb: "read", Name: l.name(), Index: l.index()}
	},
	"register_write": func(l *line) any { return l.write("register", 1) },
	"register_reset": func(l *line) any {
		return Array{Kind: "register", Verb: "reset", Name: l.name()}
	},
	"counter_read": func(l *line) any {
		return Array{Kind: "counter", Verb: "read", Name: l.name(), Index: l.index()}
	},
	"counter_write": func(l *line) any { return l.write("counter", 2) },
	"meter_get_rates": func(l *line) any {
		return Array{Kind: "meter", Verb: "get_rates", Name: l.name(), Index: l.index()}
	},
	"meter_set_rates":       func(l *line) any { return l.setRates("meter") },
	"meter_array_set_rates": func(l *line) any { return l.setRates("meter_array") },
	"pvs_add":               func(l *line) any { return AddToSet{l.name(), l.value()} },

	"act_prof_create_member":        func(l *line) any { return Member{l.name(), l.action()} },
	"act_prof_create_group":         func(l *line) any { return MemberGroup{l.name()} },
	"act_prof_add_member_to_group":  func(l *line) any { return Join{l.name(), l.index(), l.index()} },
	"table_indirect_add":            func(l *line) any { return l.indirect(false) },
	"table_indirect_add_with_group": func(l *line) any { return l.indirect(true) },
}

// Help describes the statements, one or a few alike a line.
const Help = `  add TABLE [PRIORITY] KEY:VALUE... ACTION(PARAMETER:VALUE, ...) [= ID]
      inserts an entry; the largest priority wins; an omitted key matches anything, 0 if exact
  setdefault TABLE ACTION(...)      sets the default action of a table
  remove all                        empties all tables
  packet PORT OCTETS                a packet arrives
  expect PORT [OCTETS [$]]          the next packet of the port begins with these octets, * any
                                    digit; with $ it ends there; without octets any matches
  no_packet                         nothing has left since the last packet came in
  wait                              a second of virtual time passes
  check_counter COUNTER(INDEX|$ID) packets|bytes ==|!=|<|<=|>|>= NUMBER
      compares a counter, or the direct counter of the entry with that ID; octets with or
      without a frame check sequence of 4 a packet
  mc_mgrp_create GROUP, mc_node_create RID PORT..., mc_node_update NODE PORT...,
  mc_node_associate GROUP NODE      multicast; nodes are counted from 0
  mirroring_add SESSION PORT, mirroring_add_mc SESSION GROUP, mirroring_delete SESSION,
  mirroring_get SESSION             clone sessions
  pvs_add SET VALUE                 adds to a parser value set, the fields one after another
  act_prof_create_member PROFILE ACTION(...), act_prof_create_group PROFILE,
  act_prof_add_member_to_group PROFILE MEMBER GROUP,
  table_indirect_add TABLE [PRIORITY] KEY:VALUE... => MEMBER,
  table_indirect_add_with_group TABLE [PRIORITY] KEY:VALUE... => GROUP
      action profiles, and entries with them; members and groups are counted from 0
  register_write REGISTER INDEX VALUE, register_reset REGISTER,
  counter_write COUNTER INDEX PACKETS BYTES, meter_set_rates METER INDEX RATE:BURST RATE:BURST,
  meter_array_set_rates METER RATE:BURST RATE:BURST
                                    write registers, counters and meters; rates a microsecond
  register_read, counter_read, meter_get_rates
      accepted, without effect

Values are decimal, 0x, 0o or 0b. VALUE&&&MASK (ternary), PREFIX/LENGTH (lpm), LOW->HIGH (range) and
* for a hexadecimal digit are matches; h.valid is the validity of a header. Names may omit their
prefix. An unexpected packet is a difference at every port that a packet or expect statement names;
packets of other ports are lost, as in p4c's own driver.`

// statement reads one line.
func statement(text string) (any, error) {
	verb, rest, _ := strings.Cut(strings.TrimLeft(text, " \t"), " ")
	if v, r, ok := strings.Cut(verb, "\t"); ok {
		verb, rest = v, r+" "+rest
	}
	verb = strings.ToLower(strings.TrimSpace(verb))
	switch verb {
	case "packet":
		return packet(rest)
	case "expect":
		return expect(rest)
	}
	read, ok := verbs[verb]
	if !ok {
		return nil, fmt.Errorf("unknown statement %q", verb)
	}
	all, err := tokens(rest)
	if err != nil {
		return nil, err
	}
	l := &line{rest: all}
	do := read(l)
	if t := l.peek(); l.err == nil && t.kind != endOfLine {
		l.fail("the end of the line")
	}
	return do, l.err
}

// packet reads "PORT OCTETS".
func packet(text string) (any, error) {
	port, digits, err := frame(text)
	if err != nil {
		return nil, err
	}
	octets, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("packet %s: want pairs of hexadecimal digits", digits)
	}
	return Packet{port, octets}, nil
}

// expect reads "PORT [OCTETS [$]]".
func expect(text string) (any, error) {
	port, digits, err := frame(text)
	if err != nil {
		return nil, err
	}
	p := Pattern{Any: digits == ""}
	p.Digits, p.Exact = strings.CutSuffix(digits, "$")
	if i := strings.IndexFunc(p.Digits, func(r rune) bool {
		return r != '*' && !strings.ContainsRune("0123456789abcdef", r)
	}); i >= 0 {
		return nil, fmt.Errorf("expected packet: %q is not a hexadecimal digit, nor *", p.Digits[i:i+1])
	}
	return Expect{port, p}, nil
}

func frame(text string) (port uint32, digits string, err error) {
	f := strings.Fields(strings.ToLower(text))
	if len(f) == 0 {
		return 0, "", errors.New("the port is missing")
	}
	n, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("port %q: want a number", f[0])
	}
	return uint32(n), strings.Join(f[1:], ""), nil
}

// line is the rest of a line, and the first error in it; after that, its
// methods return zeroes.
type line struct {
	rest []token
	err  error
}

func (l *line) peek() token {
	if len(l.rest) == 0 || l.err != nil {
		return token{}
	}
	return l.rest[0]
}

func (l *line) next() token {
	t := l.peek()
	if len(l.rest) > 0 {
		l.rest = l.rest[1:]
	}
	return t
}

func (l *line) fail(want string) {
	if l.err == nil {
		l.err = fmt.Errorf("%v: want %s", l.peek(), want)
	}
}

// is takes a mark or a word if it is next.
func (l *line) is(text string) bool {
	if t := l.peek(); t.kind == punctuation && t.text == text {
		l.next()
		return true
	}
	return false
}

func (l *line) mark(text string) {
	if !l.is(text) {
		l.fail(strconv.Quote(text))
	}
}

func (l *line) word(text string) {
	if t := l.peek(); t.kind != identifier || !strings.EqualFold(t.text, text) {
		l.fail(text)
	}
	l.next()
}

// name reads A.B[1].C.
func (l *line) name() string {
	var b strings.Builder
	for {
		if t := l.peek(); t.kind != identifier && t.kind != quotedName {
			l.fail("a name")
			return ""
		}
		b.WriteString(l.next().text)
		if l.is("[") {
			fmt.Fprintf(&b, "[%d]", l.index())
			l.mark("]")
		}
		if !l.is(".") {
			return b.String()
		}
		b.WriteByte('.')
	}
}

func (l *line) numeral() Number {
	t := l.peek()
	if t.kind != numeral {
		l.fail("a number")
		return Number{Value: new(big.Int)}
	}
	n, err := number(t.text)
	if err != nil {
		l.err = err
		return Number{Value: new(big.Int)}
	}
	l.next()
	return n
}

// value is a number all of whose digits count.
func (l *line) value() *big.Int {
	t := l.peek()
	n := l.numeral()
	if n.Mask != nil && l.err == nil {
		l.err = fmt.Errorf("%v: want a number without *", t)
	}
	return n.Value
}

func (l *line) upTo(most uint64) uint64 {
	t := l.peek()
	v := l.value()
	if l.err == nil && (!v.IsUint64() || v.Uint64() > most) {
		l.err = fmt.Errorf("%v: want at most %d", t, most)
	}
	if l.err != nil {
		return 0
	}
	return v.Uint64()
}

func (l *line) u16() uint16  { return uint16(l.upTo(math.MaxUint16)) }
func (l *line) port() uint32 { return uint32(l.upTo(math.MaxUint32)) }
func (l *line) index() int   { return int(l.upTo(math.MaxInt32)) }

// ports reads one or more.
func (l *line) ports() []uint32 {
	all := []uint32{l.port()}
	for l.peek().kind == numeral {
		all = append(all, l.port())
	}
	return all
}

func (l *line) add() any {
	a := Add{Table: l.name()}
	if l.peek().kind == numeral {
		a.Priority = int(l.upTo(math.MaxInt32 - 1))
	}
	for l.err == nil {
		name := l.name()
		if l.peek().text == "(" {
			a.Action = Action{name, l.args()}
			break
		}
		a.Keys = append(a.Keys, l.key(name))
	}
	if l.is("=") {
		a.ID = l.name()
	}
	return a
}

// indirect reads an entry that ends in "=> MEMBER" or "=> GROUP".
func (l *line) indirect(group bool) any {
	a := AddIndirect{Add: Add{Table: l.name()}, Group: group}
	if l.peek().kind == numeral {
		a.Priority = int(l.upTo(math.MaxInt32 - 1))
	}
	for l.err == nil && !l.is("=>") {
		a.Keys = append(a.Keys, l.key(l.name()))
	}
	a.To = l.index()
	return a
}

// key reads what follows the name of a key.
func (l *line) key(name string) Key {
	if !l.is(":") {
		l.fail(`":" and the value of a key, or "(" and the arguments of an action`)
	}
	k := Key{Name: name, Value: l.numeral()}
	switch {
	case l.is("/"):
		k.Prefix = l.value()
	case l.is("&&&"):
		k.Mask = l.value()
	case l.is("->"):
		k.High = l.value()
	default:
		return k
	}
	if k.Value.Mask != nil && l.err == nil {
		l.err = fmt.Errorf("key %s: * and a prefix length, mask or range: want one of them", name)
	}
	return k
}

func (l *line) action() Action { return Action{l.name(), l.args()} }

func (l *line) args() []Arg {
	l.mark("(")
	var all []Arg
	for l.err == nil && !l.is(")") {
		if len(all) > 0 {
			l.mark(",")
		}
		name := l.name()
		l.mark(":")
		all = append(all, Arg{name, l.value()})
	}
	return all
}

func (l *line) checkCounter() any {
	c := CheckCounter{Counter: l.name()}
	l.mark("(")
	if l.peek().kind == numeral {
		c.Index = l.value()
	} else {
		c.ID = strings.TrimPrefix(l.name(), "$")
	}
	l.mark(")")
	if l.peek().kind == endOfLine {
		return c
	}
	switch c.Unit = strings.ToLower(l.peek().text); c.Unit {
	case "packets", "bytes":
		l.next()
	default:
		l.fail("packets or bytes")
	}
	switch c.Op = l.peek().text; c.Op {
	case "==", "!=", "<", "<=", ">", ">=":
		l.next()
	default:
		l.fail("==, !=, <, <=, > or >=")
	}
	c.Value = l.value()
	return c
}

func (l *line) write(kind string, values int) Array {
	a := Array{Kind: kind, Verb: "write", Name: l.name(), Index: l.index()}
	for range values {
		a.Values = append(a.Values, l.value())
	}
	return a
}

func (l *line) setRates(kind string) Array {
	a := Array{Kind: kind, Verb: "set_rates", Name: l.name()}
	if kind == "meter" {
		a.Index = l.index()
	}
	for range 2 {
		t := l.peek()
		perMicrosecond, err := strconv.ParseFloat(t.text, 64)
		if t.kind != numeral || err != nil || perMicrosecond < 0 || perMicrosecond > 1e12 {
			l.fail("a rate in units a microsecond")
		}
		l.next()
		l.mark(":")
		a.Rates = append(a.Rates, Rate{perMicrosecond, l.upTo(math.MaxUint32)})
	}
	return a
}
