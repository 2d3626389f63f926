package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
)

// TestLabFaults makes things fail in a running lab by the command line, and captures its links.
func TestLabFaults(t *testing.T) {
	dir := t.TempDir()
	l := start(t, nil, "lab", "figure1", "--listen", "127.0.0.1:0", "--pcap", dir, "--log-level",
		"error")
	url := ""
	for url == "" {
		_, url, _ = strings.Cut(l.out.next(t), "weft lab fault link S1 N6 --loss 1% --lab ")
	}
	weft := func(args ...string) (status int, out string) {
		var stdout, stderr strings.Builder
		env := environment{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(name string) string {
				if name == "WEFT_LAB" {
					return url
				}
				return ""
			}}
		status = execute(t.Context(), append([]string{"lab"}, args...), env)
		return status, stdout.String() + stderr.String()
	}
	for _, c := range []struct {
		args   string
		status int
		want   []string
		not    string
	}{
		{"get faults", exitOK, []string{"no faults\n"}, ""},
		{"fault link N6 N4 --loss 1% --delay 5ms --direction a-b", exitOK,
			[]string{"FROM  PORT  TO  STATE  FAULTS", "N6    2     N4  up     loss 1%, delay 5ms"},
			"N4    1"},
		{"fault link N4 N6 --corrupt 0.001 --reorder 5% --duplicate 2% --direction b-a", exitOK,
			[]string{"loss 1%, reorder 5%, duplicate 2%, corrupt 0.1%, delay 5ms, jitter 1ms"}, "N4    1"},
		{"fault link N6 N5 --down", exitOK, []string{"N6    3     N5  down   down",
			"N5    1     N6  down   down"}, ""},
		{"fault link N6 N5 --up", exitOK, []string{"N6    2     N4  up     loss 1%"}, "N5"},
		{"kill switch N1 N2", exitOK, []string{"DEAD    NAME\nswitch  N1\nswitch  N2\n\nFROM"}, ""},
		{"kill switch N1", exitOK, []string{"switch  N1\n"}, ""},
		{"kill host R5", exitOK, []string{"host    R5\n"}, ""},
		{"kill bgp N3", exitOK, []string{"bgp     N3\n"}, ""},
		{"revive switch N1", exitOK, []string{"switch  N2\n"}, "N1"},
		{"get faults -o json", exitOK, []string{`"kind": "host",`, `"loss": 0.01,`}, ""},
		{"get links", exitOK, []string{"S1    0     N6  up     -", "N5    2     N2  "}, ""},
		{"fault clear N6 N4", exitOK, []string{"switch  N2\nhost    R5\nbgp     N3\n"}, "FROM"},
		{"fault clear", exitOK, []string{"no faults\n"}, ""},

		{"fault link N6 N9 --down", exitFailed,
			[]string{`b is "N9": want a node with a link to N6, one of S1, N4, N5`}, ""},
		{"fault link N6 N4 --loss 2", exitUsage,
			[]string{`invalid argument "2" for "--loss" flag: want 0% to 100%, or 0 to 1`}, ""},
		{"fault link N6 N4 --corrupt NaN%", exitUsage, []string{`want 0% to 100%`}, ""},
		{"fault link N6 N4 --delay 1h", exitUsage, []string{"--delay is 1h0m0s: want 0s to 10s"}, ""},
		{"fault link N6 N4 --jitter -1s", exitUsage, []string{"--jitter is -1s: want 0s to 10s"}, ""},
		{"fault link N6 N4", exitUsage, []string{"want at least one of --down, --up, --loss"}, ""},
		{"fault link N6 N4 --down --up", exitUsage, []string{"--down and --up: want one of them"}, ""},
		{"fault link N6 N4 --down --direction west", exitFailed,
			[]string{`direction is "west": want both, a-b or b-a`}, ""},
		{"fault clear N6", exitUsage, []string{"usage: weft lab fault clear [A B]"}, ""},
		{"fault clear --port 3", exitUsage, []string{"want the two nodes of a link"}, ""},
		{"kill switch R1", exitFailed,
			[]string{`name is "R1": want a switch of the lab, one of N1, N2, N3, N4, N5, N6`}, ""},
		{"kill rack 1", exitUsage, []string{`unknown command "rack": want one of bgp, host, switch`}, ""},
		{"revive host N1", exitFailed, []string{`name is "N1": want a host of the lab, one of S1`}, ""},
		{"get faults --lab nowhere", exitUsage, []string{`--lab: server "nowhere"`}, ""},
		{"get faults", exitOK, []string{"no faults\n"}, ""},
	} {
		status, out := weft(strings.Fields(c.args)...)
		if status != c.status {
			t.Errorf("weft lab %s: status %d, want %d: %s", c.args, status, c.status, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("weft lab %s:\n%s\nwant %q", c.args, out, want)
			}
		}
		if c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("weft lab %s:\n%s\nwant no %q", c.args, out, c.not)
		}
	}
	l.cancel()
	if status := <-l.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
	for _, name := range []string{"S1-N6.pcap", "N6-N4.pcap", "N3-R5.pcap"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := pcapgo.NewReader(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
}

// TestFaultAddress: the API for faults is on loopback, whatever the API's address is.
func TestFaultAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8081", "127.0.0.1:0": "127.0.0.1:0",
		"0.0.0.0:9000": "127.0.0.1:9001", "[::1]:65535": "127.0.0.1:0",
	} {
		if got := faultAddress(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}
