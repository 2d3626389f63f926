package engine

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bed is a program of the switch's tests with its state, without a switch.
type bed struct {
	t testing.TB
	p *Program
	s *State
}

func newBed(t testing.TB, name string) *bed {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(b)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{DropPort: 511, Seed: 1})
	c.Load(p)
	return &bed{t, p, c.State()}
}

func (r *bed) table(name string) int {
	r.t.Helper()
	for i, t := range r.p.Tables() {
		if strings.HasSuffix(t.Name, "."+name) {
			return i
		}
	}
	r.t.Fatalf("no table %q", name)
	return 0
}

// call makes an action call with hex arguments.
func (r *bed) call(name string, args ...string) ActionCall {
	r.t.Helper()
	for i, a := range r.p.Actions() {
		if !strings.HasSuffix(a.Name, "."+name) {
			continue
		}
		c := ActionCall{Action: i}
		for _, arg := range args {
			b, err := hex.DecodeString(arg)
			if err != nil {
				r.t.Fatal(err)
			}
			c.Args = append(c.Args, b)
		}
		return c
	}
	r.t.Fatalf("no action %q", name)
	return ActionCall{}
}
