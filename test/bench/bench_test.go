package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test be the processes that a bench starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pcapSwitchCommand {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// TestRoles: what must come out of a switch in each role is what does, again and again.
func TestRoles(t *testing.T) {
	for _, r := range allRoles() {
		t.Run(r.String(), func(t *testing.T) {
			l, err := newLoop(r)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := l.compare(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestStation: a switch in a process of its own does the same.
func TestStation(t *testing.T) {
	for _, r := range []role{delivering(5), aggregating(2)} {
		t.Run(r.String(), func(t *testing.T) { runStation(t, r, startEmbedded, nil) })
	}
}

func TestSimpleSwitch(t *testing.T) {
	if missing := missingSimpleSwitch(); missing != "" {
		t.Skipf("skipped: %s is not on the PATH", missing)
	}
	r := delivering(5)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	runStation(t, r,
		func(ctx context.Context, dir string, r role) (*exec.Cmd, error) {
			return simpleSwitchCommand(ctx, dir, r, port)
		},
		func(ctx context.Context) error { return programSimpleSwitch(ctx, r, port) })
}

func runStation(t *testing.T, r role, command func(context.Context, string, role) (*exec.Cmd, error), program func(context.Context) error) {
	t.Helper()
	s, err := startStation(t.Context(), r, command, program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if rate, err := s.run(time.Millisecond); err != nil || rate <= 0 {
			t.Fatalf("%v packets/s, %v", rate, err)
		}
	}
}

// TestStationFails: what is wrong is found.
func TestStationFails(t *testing.T) {
	wrong := delivering(2)
	wrong.out[0].frame[40]++
	if _, err := startStation(t.Context(), wrong, startEmbedded, nil); err == nil || !strings.Contains(err.Error(), "unexpected") {
		t.Errorf("a wrong packet: %v", err)
	}
	ends := func(ctx context.Context, _ string, _ role) (*exec.Cmd, error) {
		self, err := os.Executable()
		return exec.CommandContext(ctx, self, pcapSwitchCommand, "no such role", "nowhere"), err
	}
	if _, err := startStation(t.Context(), delivering(2), ends, nil); err == nil || !strings.Contains(err.Error(), `no role "no such role"`) {
		t.Errorf("a switch that ends: %v", err)
	}
}

func TestRoleCheck(t *testing.T) {
	r := replicating(2)
	changed := wire{r.out[1].port, bytes.Clone(r.out[1].frame)}
	changed.frame[len(changed.frame)-1]++
	for _, c := range []struct {
		name string
		got  []wire
		ok   bool
	}{
		{"all", r.out, true},
		{"in another order", []wire{r.out[1], r.out[0]}, true},
		{"one missing", r.out[:1], false},
		{"one twice", []wire{r.out[0], r.out[0]}, false},
		{"one too many", append(r.out[:2:2], r.out[0]), false},
		{"one octet", []wire{r.out[0], changed}, false},
		{"another port", []wire{r.out[0], {7, r.out[1].frame}}, false},
	} {
		if err := r.check(c.got); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFigure(t *testing.T) {
	f := figure{bench: "a/b", unit: "packets/s", value: 123456.789, more: []field{{"receivers", 5}, {"ratio", 0.0012346}, {"octets", 4_275_200.0}}}
	got, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"bench":"a/b","unit":"packets/s","value":123500,"receivers":5,"ratio":0.001235,"octets":4275200}`; string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		runs runs
		want float64
	}{{runs{3}, 3}, {runs{9, 1, 2}, 2}, {runs{4, 1, 9, 2}, 3}} {
		if got := c.runs.median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.runs, got, c.want)
		}
	}
}

func TestSimpleSwitchScript(t *testing.T) {
	script, err := simpleSwitchScript(replicating(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"set_queue_depth 65536\n",
		"table_set_default FabricIngress.node FabricIngress.set_node 0x20010db8000000000000000000000001 0x7c\n",
		"table_add FabricIngress.endpoint.local_sid FabricIngress.endpoint.end_replicate 0x5f0000000001e0000000000000000000/128 => 0x05 0x4a 0x00\n",
		"mc_mgrp_create 74\nmc_node_create 1 2\nmc_node_associate 74 0\nmc_node_create 2 3\nmc_node_associate 74 1\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
}

func TestPcap(t *testing.T) {
	frames := []string{"", "x", strings.Repeat("abc", 1000)}
	b := appendPcapHeader(nil)
	for _, f := range frames {
		b = appendPcapRecord(b, []byte(f))
	}
	for cut := range b {
		r := pcapReader{from: bytes.NewReader(b[:cut])}
		var err error
		for err == nil {
			_, err = r.next()
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut to %d octets: %v", cut, err)
		}
	}
	r := pcapReader{from: bytes.NewReader(b)}
	for i, want := range frames {
		got, err := r.next()
		if err != nil || string(got) != want {
			t.Fatalf("frame %d: %q, %v", i, got, err)
		}
	}
	if _, err := r.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func FuzzPcap(f *testing.F) {
	f.Add(appendPcapRecord(appendPcapHeader(nil), []byte("frame")))
	f.Add(append(appendPcapHeader(nil), bytes.Repeat([]byte{0xff}, 16)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := pcapReader{from: bytes.NewReader(b)}
		for {
			frame, err := r.next()
			if err != nil {
				return
			}
			if len(frame) > pcapSnapshot {
				t.Fatalf("a frame of %d octets", len(frame))
			}
		}
	})
}

func TestUnknownBench(t *testing.T) {
	if err := run([]string{"nothing"}); err == nil {
		t.Error("no error")
	}
}
