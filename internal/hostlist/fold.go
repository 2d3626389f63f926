package hostlist

import (
	"fmt"
	"slices"
	"strings"
)

// Fold returns the hostlist of names, in their order: Parse(Fold(names)) returns names, and Slurm
// reads the same names. Consecutive numbers in otherwise equal names become ranges, at most two per
// name. Names that do not end in a number stay unchanged, because Slurm refuses text behind a
// bracket. The error is an [*Error]: a name is invalid in a hostlist, occurs twice, or ends in more
// digits than a bracket may have. Slurm reads the number of every name, with or without brackets,
// and reads a number of more than 64 bits as the largest 64-bit number.
func Fold(names []string) (string, error) {
	items := make([]pattern, 0, len(names))
	seen := make(map[string]bool, len(names))
	most := 0
	for _, name := range names {
		switch {
		case name == "" || len(name) > mostOctets || strings.ContainsFunc(name, func(r rune) bool {
			return r > 127 || !inName(byte(r))
		}):
			return "", wrong(shorten(name), "a name of 1 to 255 letters, digits, '.', '_' and '-'")
		case EndsTooLong(name):
			return "", wrong(shorten(name), fmt.Sprintf("a name that ends in at most %d digits",
				mostDigits))
		case seen[name]:
			return "", wrong(name, "every name once")
		}
		seen[name] = true
		p := single(name)
		most = max(most, len(p.lists))
		items = append(items, p)
	}
	// The last number of a name counts fastest, so Fold makes its ranges first. Then Fold makes the
	// ranges of the number before, for items with equal ranges behind that number.
	for fromEnd := range most {
		folded := items[:0]
		for _, item := range items {
			if n := len(folded); n > 0 && folded[n-1].join(&item, len(item.lists)-1-fromEnd) {
				continue
			}
			folded = append(folded, item)
		}
		items = folded
	}
	var out strings.Builder
	for i := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		items[i].write(&out)
	}
	return out.String(), nil
}

// EndsTooLong reports whether a name ends in more digits than [Fold] takes.
func EndsTooLong(name string) bool {
	return len(name)-len(strings.TrimRight(name, "0123456789")) > mostDigits
}

// single returns the pattern of one name: its numbers are lists of one. A number of more digits
// than brackets may have is text.
func single(name string) pattern {
	var p pattern
	text := 0 // where the text before the next number begins
	for i := 0; i < len(name); {
		if !isDigit(name[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(name) && isDigit(name[end]) {
			end++
		}
		if n, ok := number(name[i:end]); ok {
			p.texts = append(p.texts, name[text:i])
			p.lists = append(p.lists, []span{{n, n, end - i}})
			text = end
		}
		i = end
	}
	p.texts = append(p.texts, name[text:])
	return p
}

// join appends the names of an item to the names of p, if one more number in the list at suffices.
// The lists before at must have one number each, or the order would change.
func (p *pattern) join(next *pattern, at int) bool {
	if at < 0 || p.texts[len(p.texts)-1] != "" || !slices.Equal(p.texts, next.texts) {
		return false
	}
	brackets := 1 // with that of the last number, which is there with any other
	for i := range p.lists {
		if i < len(p.lists)-1 && (i == at || p.many(i)) {
			brackets++
		}
		switch {
		case brackets > mostBrackets || i < at && p.many(i):
			return false
		case i != at && !slices.Equal(p.lists[i], next.lists[i]):
			return false
		}
	}
	for _, s := range next.lists[at] {
		last := &p.lists[at][len(p.lists[at])-1]
		if s.lo == last.hi+1 && string(padded(nil, s.lo, last.width)) ==
			string(padded(nil, s.lo, s.width)) {
			last.hi = s.hi
		} else {
			p.lists[at] = append(p.lists[at], s)
		}
	}
	return true
}

// many reports whether a number varies.
func (p *pattern) many(i int) bool { return len(p.lists[i]) > 1 || p.lists[i][0].count() > 1 }

func (p *pattern) write(out *strings.Builder) {
	ranges := false
	for i, text := range p.texts {
		out.WriteString(text)
		if i == len(p.lists) {
			return
		}
		list := p.lists[i]
		last := i == len(p.lists)-1
		many := p.many(i) || last && ranges // nothing but a bracket may be behind another
		ranges = ranges || many
		if many {
			out.WriteByte('[')
		}
		for j, s := range list {
			if j > 0 {
				out.WriteByte(',')
			}
			out.Write(padded(nil, s.lo, s.width))
			if s.hi > s.lo {
				out.WriteByte('-')
				out.Write(padded(nil, s.hi, s.width))
			}
		}
		if many {
			out.WriteByte(']')
		}
	}
}
