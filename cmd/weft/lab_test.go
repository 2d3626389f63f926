package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/lab/demo/multicast"
)

// TestDemo: the last line is the JSON document, and says that all is well.
func TestDemo(t *testing.T) {
	for _, mode := range []string{"provisioned", "inband"} {
		t.Run(mode, func(t *testing.T) {
			if testing.Short() && mode != "inband" {
				t.Skip("the same but for what is on one goroutine")
			}
			left := noFiles(t)
			var out, errs strings.Builder
			args := []string{"demo", "multicast", "--bytes", "262144", "--mode", mode}
			status := execute(t.Context(), args,
				environment{
					stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv,
				})
			if status != exitOK {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var r multicast.Result
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatal(err)
			}
			if r.Delivered != 5 || r.Bytes != 262144 || r.Corrupt != 0 || r.EarlyAcks != 0 ||
				r.AcksAtSource == 0 || r.LinkPackets["S1-N6"] < 64 {
				t.Errorf("%+v", r)
			}
			if files := left(); len(files) > 0 {
				t.Errorf("the demo leaves %q", files)
			}
		})
	}
}

// noFiles creates new directories and makes them the default directories for a program's files.
// left returns the files in these directories.
func noFiles(t *testing.T) (left func() []string) {
	t.Helper()
	top := t.TempDir()
	for _, name := range []string{"TMPDIR", "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "PWD"} {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, dir)
	}
	t.Chdir(filepath.Join(top, "PWD"))
	return func() (files []string) {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Dir(path) != top && path != top {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return files
	}
}

// TestLab: a network of a file comes up, takes a group, and goes down.
func TestLab(t *testing.T) {
	dir := t.TempDir()
	network, group := filepath.Join(dir, "two.yaml"), filepath.Join(dir, "g.yaml")
	err := os.WriteFile(network,
		[]byte("name: two\nswitches: [{name: A}, {name: B}]\nhosts: [{name: S}, {name: R}]\nlinks: "+
			"[{a: A, b: B}, {a: A, b: S}, {a: B, b: R}]\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(group, []byte(`name: g
spec:
  proxyAddress: 2001:db8:ffff::1
  designatedQpn: 4096
  source: {address: "2001:db8:1:1::1", qpn: 256}
  receivers: [{address: "2001:db8:1:2::1", qpn: 512}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, nil, "lab", network, "--listen", "127.0.0.1:0", "--trace-addr", "127.0.0.1:0",
		"--log-level", "error")
	server, host, traced, dashboard := "", "", "", ""
	for traced == "" {
		line := l.out.next(t)
		if rest, ok := strings.CutPrefix(line, "Dashboard: "); ok {
			dashboard, _, _ = strings.Cut(rest, " ")
		}
		if strings.HasPrefix(line, "R ") {
			host = line
		}
		if _, rest, ok := strings.Cut(line, "weft trace --switch "); ok {
			traced = rest
		}
		if rest, ok := strings.CutPrefix(line, "API: "); ok {
			server, _, _ = strings.Cut(rest, " ")
		}
	}
	if dashboard == "" || dashboard != server+"/" {
		t.Errorf("the dashboard is at %q, and the API at %q", dashboard, server)
	}
	if host != "R     2001:db8:1:2::1  B       2" {
		t.Errorf("host R is %q", host)
	}
	var out, errs strings.Builder
	env := environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }}
	if status := execute(t.Context(), []string{"apply", "-f", group, "--wait", patience.String(),
		"--server", server}, env); status != exitOK {
		t.Errorf("status %d: %s", status, errs.String())
	}
	status := execute(t.Context(), []string{"get", "tree", "g", "--server", server}, env)
	if status != exitOK || !strings.Contains(out.String(), "└─2001:db8:1:2::1") {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
	errs.Reset()
	if status := execute(t.Context(),
		[]string{"trace", "--switch", strings.TrimSuffix(traced, "A") + "C"},
		env); status != exitFailed ||
		!strings.Contains(errs.String(),
			"404 Not Found: want /NAME/v1/trace with the name of a switch: A, B") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	l.cancel()
	if status := <-l.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestLabErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("switches:\n- name: A\n- name: A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"unknown name", []string{"lab", "figure9"}, exitUsage,
			`there is no built-in network "figure9": want one of figure1, clos, fabric, pfc, or a file`},
		{"no file", []string{"lab", "./nosuch.yaml"}, exitUsage, "nosuch.yaml: no such file"},
		{"bad file", []string{"lab", bad}, exitUsage,
			`:3: switches[1].name: is "A", that of switches[0] too: want another`},
		{"listener", []string{"lab", "figure1", "--listen", "nowhere"}, exitUsage,
			`--listen is "nowhere": want HOST:PORT, with an IPv6 address in brackets`},
		{"faults for others", []string{"lab", "figure1", "--fault-addr", "0.0.0.0:0"}, exitUsage,
			"--fault-addr 0.0.0.0:0: others reach this address, and the API asks for no credentials: want " +
				"a loopback address, or --insecure"},
		{"no traffic", []string{"lab", "../../docs/examples/wan.yaml", "--traffic"}, exitUsage,
			"--traffic: nothing is known that the hosts of \"../../docs/examples/wan.yaml\" could send: " +
				"want " +
				"hosts of transport mrc"},
		{"no captures", []string{"lab", "figure1", "--pcap", "./nosuch"}, exitUsage,
			`--pcap is "./nosuch": want a directory that exists`},
		{"no captures of pfc", []string{"demo", "pfc", "--pcap", "./nosuch"}, exitUsage,
			`--pcap is "./nosuch": want a directory that exists`},
		{"figure1 by default", []string{"lab", "--pcap", "./nosuch"}, exitUsage,
			`--pcap is "./nosuch": want a directory that exists`},
		{"bytes", []string{"demo", "multicast", "--bytes", "0"}, exitUsage, "--bytes is 0"},
		{"mode", []string{"demo", "multicast", "--mode", "x"}, exitUsage,
			`--mode is "x": want provisioned or inband`},
		{"unknown demo", []string{"demo", "x"}, exitUsage,
			`demo: unknown command "x": want one of blackhole, figure, job, mrc, multicast, pfc`},
		{"unknown figure", []string{"demo", "figure", "mrc-figure9"}, exitUsage,
			`no figure "mrc-figure9": want one of multicast-acks, `},
		{"lab mode", []string{"lab", "clos", "--mode", "x"}, exitUsage,
			`--mode is "x": want one of ecmp, stev, usid-f3216`},
		{"mrc mode", []string{"demo", "mrc", "--mode", "x"}, exitUsage,
			`--mode is "x": want one of ecmp, stev, usid-f3216`},
		{"mrc over IPv4", []string{"demo", "mrc", "--ipv4"}, exitUsage,
			"--ipv4 is given with --mode stev: want --mode ecmp"},
		{"mrc tiers", []string{"demo", "mrc", "--tiers", "4"}, exitUsage, "--tiers is 4: want 2 to 3"},
		{"mrc planes", []string{"demo", "mrc", "--planes", "0"}, exitUsage,
			"--planes is 0: want 1 or more"},
		{"mrc hosts", []string{"demo", "mrc", "--hosts", "3"}, exitUsage, "--hosts is 3: want 4 to"},
		{"mrc pods", []string{"demo", "mrc", "--pods", "2"}, exitUsage, "--pods is 2: want 0 to 0"},
		{"mrc rate", []string{"demo", "mrc", "--rate", "500000"}, exitUsage,
			"--rate is 500000: want 1 to 400000 Mb/s, or 0"},
		{"mrc delay", []string{"demo", "mrc", "--delay", "2s"}, exitUsage,
			"--delay is 2s: want up to 1s"},
		{"mrc bytes", []string{"demo", "mrc", "--bytes", "-1"}, exitUsage, "--bytes is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			status := execute(t.Context(), c.args, environment{stdin: strings.NewReader(""), stdout: &out,
				stderr: &errs, getenv: os.Getenv})
			if status != c.status || !strings.Contains(errs.String(), c.want) {
				t.Errorf("status %d, %q; want %d with %q", status, errs.String(), c.status, c.want)
			}
		})
	}
}
