//go:build linux

package libmrc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
)

// control: a program configures a NIC by mrc_ctl, which outlives the NIC's end.
func (m *machines) control(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m.controller(ctx, t, "configure")
	if err := m.nics[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.nics[0].Wait() // it was killed
	m.start(0)
	m.controller(ctx, t, "kept")
	m.controller(ctx, t, "powerless")
}

// controller runs a scenario of testdata/control.c, and does what it asks for: the second plane
// drops what is longer than 1,280 octets, or carries it again.
func (m *machines) controller(ctx context.Context, t *testing.T, scenario string) {
	t.Helper()
	cmd := m.program(ctx, 0, "control", scenario, m.socket(0), m.socket(1))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "break port 2":
			run(t, "ip", "link", "set", port(1, 1), "mtu", "1280")
		case "mend port 2":
			run(t, "ip", "link", "set", port(1, 1), "mtu", fmt.Sprint(mtu))
		default:
			t.Errorf("control %s asks for %q", scenario, lines.Text())
		}
		if _, err := io.WriteString(in, "done\n"); err != nil {
			t.Fatalf("control %s: %v", scenario, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("control %s: %v\n%s", scenario, err, errs.String())
	}
}
