package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An address that nothing can listen at is refused before anything starts: exit status
// 2, with the flag or field, the value and what would be right.
func TestListenAddresses(t *testing.T) {
	config := filepath.Join(t.TempDir(), "weft.yaml")
	if err := os.WriteFile(config,
		[]byte("bgp: {asn: 64512, routerId: 10.0.0.254, listen: \"192.0.2.77:1790\"}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lab", "figure1", "--listen", "nohost"}, `--listen is "nohost": want HOST:PORT`},
		{[]string{"lab", "figure1", "--listen", "127.0.0.1:65536"},
			`--listen is "127.0.0.1:65536": the port is "65536": want 0 to 65535`},
		{[]string{"lab", "figure1", "--listen", "127.0.0.1:http"}, `the port is "http": want 0 to 65535`},
		{[]string{"lab", "figure1", "--listen", "192.0.2.77:0"},
			`--listen is "192.0.2.77:0": this machine has no such address`},
		{[]string{"lab", "figure1", "--listen", "127.0.0.1:0", "--trace-addr", "[2001:db8::77]:0"},
			`--trace-addr is "[2001:db8::77]:0": this machine has no such address`},
		{[]string{"switch", "--grpc-server-addr", "192.0.2.77:0"},
			`--grpc-server-addr is "192.0.2.77:0": this machine has no such address`},
		{[]string{"switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:-1"},
			`--http-addr is "127.0.0.1:-1": the port is "-1"`},
		{[]string{"controller", "--config", config, "--listen", "127.0.0.1:0"},
			`bgp.listen is "192.0.2.77:1790": this machine has no such address`},
		{[]string{"controller", "--config", config, "--insecure", "--listen", "192.0.2.78:0"},
			`--listen is "192.0.2.78:0": this machine has no such address`},
	} {
		var out, errs strings.Builder
		status := execute(t.Context(), c.args, environment{stdin: strings.NewReader(""), stdout: &out,
			stderr: &errs, getenv: func(string) string { return "" }})
		if status != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: status %d, %q, wrote %q; want 2 and %s", c.args, status, errs.String(),
				out.String(), c.want)
		}
	}
}
