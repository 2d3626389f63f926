package stf

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a deviation of a switch from a case.
type Difference struct {
	Text string // may have several lines
	More int    // differences of other packets
}

func (d *Difference) Error() string {
	if d.More > 0 {
		return fmt.Sprintf("%s\n  (and %d more)", d.Text, d.More)
	}
	return d.Text
}

// compare puts the packets that left beside those expected. It returns the first difference in the
// order of the case.
func (r *run) compare() error {
	got := map[uint32][]sent{}
	for _, s := range r.sent {
		got[s.port] = append(got[s.port], s)
	}
	ports := slices.AppendSeq(slices.Collect(maps.Keys(r.want)), maps.Keys(got))
	slices.Sort(ports)
	var all []*Error
	for _, port := range slices.Compact(ports) {
		got, want := got[port], r.want[port]
		for i := range max(len(got), len(want)) {
			at := fmt.Sprintf("port %d, packet %d", port, i+1)
			switch {
			case i >= len(got):
				all = append(all, &Error{want[i].line,
					&Difference{Text: fmt.Sprintf("%s: it did not come; %d came, want %d\n  want %s", at, len(got),
						len(want), &want[i].Pattern)}})
			case i >= len(want):
				all = append(all, &Error{got[i].line,
					&Difference{Text: fmt.Sprintf("%s: nobody expects it; %d came, want %d\n  got  %s", at,
						len(got), len(want), hex.EncodeToString(got[i].frame))}})
			default:
				if text := want[i].differs(got[i].frame); text != "" {
					all = append(all, &Error{want[i].line, &Difference{Text: at + ": " + text}})
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b *Error) int { return a.Line - b.Line })
	first.Err.(*Difference).More = len(all) - 1
	return first
}

// String returns the pattern in the form of cases.
func (p *Pattern) String() string {
	switch {
	case p.Any:
		return "any packet"
	case p.Exact:
		return p.Digits + "$"
	}
	return p.Digits
}

// row is how many octets are shown around the first that differs.
const row = 24

// differs reports how a frame differs from the pattern, "" if it does not.
func (p *Pattern) differs(frame []byte) string {
	if p.Any {
		return ""
	}
	got := hex.EncodeToString(frame)
	at := 0
	for at < len(p.Digits) && at < len(got) && (p.Digits[at] == '*' || p.Digits[at] == got[at]) {
		at++
	}
	octet := at / 2
	var what string
	switch {
	case at < len(p.Digits) && at < len(got):
		what = fmt.Sprintf("octet %d is %s, want %s", octet, got[2*octet:2*octet+2],
			p.Digits[2*octet:min(2*octet+2, len(p.Digits))])
	case at < len(p.Digits):
		what = fmt.Sprintf("%d octets, want %s or more", len(frame), octets(len(p.Digits)))
	case p.Exact && len(got) > len(p.Digits):
		what = fmt.Sprintf("%d octets, want %s", len(frame), octets(len(p.Digits)))
	default:
		return ""
	}
	from := 2 * max(0, min(octet-row/2, max(len(frame), (len(p.Digits)+1)/2)-row))
	end := func(s string) string {
		if len(s) > from+2*row {
			return " …"
		}
		return ""
	}
	begin := ""
	if from > 0 {
		begin = "… "
	}
	want := cut(p.Digits, from)
	if p.Exact && end(p.Digits) == "" {
		want += "$"
	}
	if longest := max(len(got), len(p.Digits)); longest > 2*row {
		what += fmt.Sprintf(" (octets %d to %d of %d)", from/2, min(from+2*row, longest)/2-1, len(frame))
	}
	return fmt.Sprintf("%s\n  want %s%s%s\n  got  %s%s%s\n       %s^^", what,
		begin, want, end(p.Digits), begin, cut(got, from), end(got),
		strings.Repeat(" ", len([]rune(begin))+3*(octet-from/2)))
}

// octets is a length in digits, in words.
func octets(digits int) string {
	if digits%2 != 0 {
		return fmt.Sprintf("%d.5", digits/2)
	}
	return fmt.Sprint(digits / 2)
}

// cut is a row of octets from a digit on, with spaces between them.
func cut(digits string, from int) string {
	if from > len(digits) {
		return ""
	}
	digits = digits[from:min(len(digits), from+2*row)]
	var b strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(digits[i:min(i+2, len(digits))])
	}
	return b.String()
}
