package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An event is a line of "go test -json": see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// A report turns events into lines for people.
type report struct {
	out         io.Writer
	total       int // packages; 0: not known
	began       time.Time
	done, wrong int
	running     []*tested // in the order of their start
	builds      map[string]string
	faults      []string // the first words of tests that have failed, in the order of their ends
}

// tested is a package whose tests run.
type tested struct {
	name  string
	began time.Time
	// by test, "" is the package itself; of those that have not passed
	said  map[string]*strings.Builder
	order []string // keys of said
	tests []string // that run, subtests too
}

func newReport(out io.Writer, total int, began time.Time) *report {
	return &report{out: out, total: total, began: began, builds: map[string]string{}}
}

// take takes a line of go test at a time. What is no event is shown as it is.
func (r *report) take(line []byte, now time.Time) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(r.out, "%s\n", strings.TrimSuffix(string(line), "\n"))
		return
	}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] += e.Output
		return
	case "build-fail":
		fmt.Fprint(r.out, r.builds[e.ImportPath])
		delete(r.builds, e.ImportPath)
		return
	}
	p := r.of(e.Package, now)
	switch e.Action {
	case "run":
		p.tests = append(p.tests, e.Test)
	case "output":
		p.say(e.Test, e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.end(p, &e)
			return
		}
		p.tests = slices.DeleteFunc(p.tests, func(name string) bool { return name == e.Test })
		if b := p.said[e.Test]; b != nil && e.Action == "fail" {
			fmt.Fprint(r.out, b)
			if words := firstFault(b.String()); words != "" {
				r.faults = append(r.faults, e.Test+": "+words)
			}
		}
		p.forget(e.Test)
	}
}

// of returns a package, which runs from now on if it did not before.
func (r *report) of(name string, now time.Time) *tested {
	for _, p := range r.running {
		if p.name == name {
			return p
		}
	}
	p := &tested{name: name, began: now, said: map[string]*strings.Builder{}}
	r.running = append(r.running, p)
	return p
}

// end shows what became of a package, and if it has failed what it said beside the tests that have
// ended: where a test was when the process ended, too.
func (r *report) end(p *tested, e *event) {
	r.running = slices.DeleteFunc(r.running, func(o *tested) bool { return o == p })
	r.done++
	switch e.Action {
	case "fail":
		r.wrong++
		for _, name := range p.order {
			fmt.Fprint(r.out, p.said[name])
		}
		fmt.Fprintf(r.out, "FAIL  %s  %.1f s\n", p.name, e.Elapsed)
	case "skip":
		fmt.Fprintf(r.out, "none  %s  has no tests\n", p.name)
	default:
		fmt.Fprintf(r.out, "ok    %s  %.1f s\n", p.name, e.Elapsed)
	}
}

// tell shows how far it is.
func (r *report) tell(now time.Time) {
	of := ""
	if r.total > 0 {
		of = fmt.Sprintf(" of %d", r.total)
	}
	failed := ""
	if r.wrong > 0 {
		failed = fmt.Sprintf(", %d of them failed", r.wrong)
	}
	doing := "building"
	if len(r.running) > 0 {
		var all []string
		for _, p := range r.running {
			text := fmt.Sprintf("%s for %v", p.name, now.Sub(p.began).Round(time.Second))
			if n := len(p.tests); n > 0 {
				text += fmt.Sprintf(" (%s)", p.tests[n-1])
			}
			all = append(all, text)
		}
		doing = strings.Join(all, ", ")
	}
	fmt.Fprintf(r.out, "after %v: %d%s packages done%s; %s\n", now.Sub(r.began).Round(time.Second),
		r.done, of, failed, doing)
}

// close repeats the first words of each test that has failed: what else they said may be long.
func (r *report) close() {
	for _, words := range r.faults {
		fmt.Fprintf(r.out, "failed: %s\n", words)
	}
}

// faultColumns is the most that is repeated of a test.
const faultColumns = 400

// firstFault returns the first line of what a test said by which it may have failed: one with its
// place in a test.
func firstFault(said string) string {
	for line := range strings.Lines(said) {
		if fault.MatchString(line) {
			line = strings.TrimSpace(line)
			return strings.ToValidUTF8(line[:min(len(line), faultColumns)], "")
		}
	}
	return ""
}

var fault = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

// say keeps what a test, or the package itself, said, without what a report says anyway.
func (p *tested) say(test, text string) {
	if strings.HasPrefix(text, "=== ") || test == "" &&
		(text == "FAIL\n" || strings.HasPrefix(text, "FAIL\t")) {
		return
	}
	b := p.said[test]
	if b == nil {
		b = &strings.Builder{}
		p.said[test] = b
		p.order = append(p.order, test)
	}
	b.WriteString(text)
}

func (p *tested) forget(test string) {
	delete(p.said, test)
	p.order = slices.DeleteFunc(p.order, func(name string) bool { return name == test })
}
