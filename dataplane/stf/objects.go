package stf

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// find returns the index of the object with a name. The name is the object's whole name, or the
// part behind a dot if no second object's name ends so.
func find[T any](kind, name string, all []T, nameOf func(T) string) (int, error) {
	for i, x := range all {
		if nameOf(x) == name {
			return i, nil
		}
	}
	for _, end := range []string{"." + name, name} {
		found := -1
		for i, x := range all {
			if !strings.HasSuffix(nameOf(x), end) {
				continue
			}
			if found >= 0 && nameOf(all[found]) != nameOf(x) {
				return 0, fmt.Errorf("%s %q is ambiguous: %s or %s", kind, name, nameOf(all[found]), nameOf(x))
			}
			found = i
		}
		if found >= 0 {
			return found, nil
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("there is no %s %q, nor any other", kind, name)
	}
	var names []string
	for _, x := range all[:min(len(all), namesShown)] {
		names = append(names, nameOf(x))
	}
	if len(all) > namesShown {
		names = append(names, "…")
	}
	return 0, fmt.Errorf("there is no %s %q; want one of %s", kind, name, strings.Join(names, ", "))
}

// namesShown bounds the list of names there are.
const namesShown = 12

func (r *run) table(name string) (int, error) {
	return find("table", name, r.program.Tables(), func(t engine.TableInfo) string { return t.Name })
}

func (r *run) counter(name string) (int, error) {
	return find("counter", name, r.program.Counters(), func(c engine.CounterInfo) string {
		return c.Name
	})
}

func (r *run) register(name string) (int, error) {
	return find("register", name, r.program.Registers(), func(x engine.RegisterInfo) string {
		return x.Name
	})
}

func (r *run) meter(name string) (int, error) {
	return find("meter", name, r.program.Meters(), func(m engine.MeterInfo) string { return m.Name })
}

// call makes the call of an action of a table.
func (r *run) call(table int, a Action) (engine.ActionCall, error) {
	t := &r.program.Tables()[table]
	return r.callOf("table "+t.Name, t.Actions, a)
}

// callOf makes the call of one of some actions.
func (r *run) callOf(owner string, actions []int, a Action) (engine.ActionCall, error) {
	names := func(i int) string { return r.program.Actions()[i].Name }
	i, err := find("action", a.Name, actions, names)
	if err != nil {
		return engine.ActionCall{}, fmt.Errorf("%s: %w", owner, err)
	}
	call := engine.ActionCall{Action: actions[i]}
	info := &r.program.Actions()[call.Action]
	given := map[string]*big.Int{}
	for _, arg := range a.Args {
		if given[arg.Name] != nil {
			return call, fmt.Errorf("action %s: argument %s is given twice", info.Name, arg.Name)
		}
		given[arg.Name] = arg.Value
	}
	var missing []string
	for _, p := range info.Params {
		v := given[p.Name]
		if v == nil {
			missing = append(missing, p.Name)
			continue
		}
		delete(given, p.Name)
		call.Args = append(call.Args, v.Bytes())
	}
	for name := range given {
		return call, fmt.Errorf("action %s has no parameter %q", info.Name, name)
	}
	if len(missing) > 0 {
		return call, fmt.Errorf("action %s: no argument %s", info.Name, strings.Join(missing, ", "))
	}
	return call, nil
}

// entry makes the entry that a statement adds.
func (r *run) entry(table int, a Add) (engine.Entry, error) {
	e, err := r.keys(table, a)
	if err != nil {
		return e, err
	}
	e.Target.Action, err = r.call(table, a.Action)
	return e, err
}

// keys makes an entry without a target.
func (r *run) keys(table int, a Add) (engine.Entry, error) {
	info := &r.program.Tables()[table]
	e := engine.Entry{Match: make([]engine.Match, len(info.Keys))}
	for i, k := range info.Keys {
		if k.Match > engine.LPM {
			e.Priority = int32(a.Priority) + 1
		}
		e.Match[i] = engine.Match{}
	}
	named := map[int]bool{}
	for _, k := range a.Keys {
		i, err := keyIndex(info, k.Name)
		if err != nil {
			return e, err
		}
		if named[i] {
			return e, fmt.Errorf("table %s: key %s is given twice", info.Name, k.Name)
		}
		named[i] = true
		if e.Match[i], err = match(&info.Keys[i], k); err != nil {
			return e, fmt.Errorf("table %s: key %s: %w", info.Name, k.Name, err)
		}
	}
	return e, nil
}

// element is an element of a header stack in a name: BMv2 writes [1], STF also $1.
var element = regexp.MustCompile(`\[(\d+)\]|\$(\d+)`)

// plain is a key's name in one of the ways of writing it: h$0.f, and h.$valid$
// and h.valid for the validity of h.
func plain(name string) string {
	name = element.ReplaceAllString(name, "$1$2")
	name = strings.ReplaceAll(name, "isValid()", "valid")
	return strings.ReplaceAll(name, "$", "")
}

func keyIndex(t *engine.TableInfo, name string) (int, error) {
	want := plain(name)
	i, err := find("key", want, t.Keys, func(k engine.KeyInfo) string { return plain(k.Name) })
	if err == nil {
		return i, nil
	}
	if i, valid := find("key", want+".valid", t.Keys, func(k engine.KeyInfo) string {
		return plain(k.Name)
	}); valid == nil {
		return i, nil
	}
	return 0, fmt.Errorf("table %s: %w", t.Name, err)
}

func ones(width int) *big.Int {
	one := big.NewInt(1)
	return new(big.Int).Sub(new(big.Int).Lsh(one, uint(width)), one)
}

func match(info *engine.KeyInfo, k Key) (engine.Match, error) {
	m := engine.Match{Value: k.Value.Value.Bytes()}
	all := ones(info.Width)
	wild := k.Value.Mask
	if wild != nil {
		wild = new(big.Int).And(wild, all)
	}
	if k.Prefix != nil && info.Match != engine.LPM || k.Mask != nil && info.Match != engine.Ternary ||
		k.High != nil && info.Match != engine.Range {
		return m, fmt.Errorf("the match is %v, the value is of another kind", info.Match)
	}
	switch info.Match {
	case engine.Exact:
		if wild != nil {
			return m, errors.New("the match is exact: want a value without *")
		}
	case engine.LPM:
		return prefix(m, info.Width, k, wild)
	case engine.Ternary:
		mask := all
		switch {
		case k.Mask != nil:
			mask = k.Mask
		case wild != nil:
			mask = wild
		}
		m.Mask = mask.Bytes()
	case engine.Range:
		m.High = m.Value
		switch {
		case k.High != nil:
			m.High = k.High.Bytes()
		case wild != nil && wild.Sign() == 0:
			m.High = all.Bytes()
		case wild != nil:
			return m, errors.New("the match is range: want LOW->HIGH")
		}
	}
	return m, nil
}

// prefix completes the match of an lpm key.
func prefix(m engine.Match, width int, k Key, wild *big.Int) (engine.Match, error) {
	m.PrefixLen = width
	switch {
	case k.Prefix != nil:
		if !k.Prefix.IsInt64() || k.Prefix.Int64() > int64(width) {
			return m, fmt.Errorf("prefix length %v of %d bits", k.Prefix, width)
		}
		m.PrefixLen = int(k.Prefix.Int64())
		cut := uint(width - m.PrefixLen)
		v := new(big.Int).Rsh(k.Value.Value, cut)
		m.Value = v.Lsh(v, cut).Bytes()
	case wild != nil:
		m.PrefixLen = 0
		for i := width - 1; i >= 0 && wild.Bit(i) == 1; i-- {
			m.PrefixLen++
		}
		tail := ones(width - m.PrefixLen)
		if new(big.Int).And(wild, tail).Sign() != 0 {
			return m, errors.New("the match is lpm: want no digits behind *")
		}
	}
	return m, nil
}
