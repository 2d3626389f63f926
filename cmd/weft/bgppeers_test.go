package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// A controller whose only peer refuses is not ready. The log, /readyz and "weft get"
// name the peer as it is configured, with the reason.
func TestControllerWithoutPeer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close() // and nobody listens there
	config := filepath.Join(t.TempDir(), "weft.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil,
		"bgp: {asn: 64512, routerId: 10.0.0.254, peers: [{address: 127.0.0.1, port: %d}]}\n", port),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, nil, "controller", "--config", config, "--listen", "127.0.0.1:0")
	const refused = "nothing listens at its address: the connection was refused"
	peer := fmt.Sprintf("127.0.0.1:%d", port)
	server, said := "", false
	for server == "" || !said {
		line := c.err.next(t)
		if _, rest, ok := strings.Cut(line, " api="); ok {
			server, _, _ = strings.Cut(rest, " ")
		}
		said = said || strings.Contains(line,
			fmt.Sprintf("no BGP-LS session with %s (AS 64512): %s", peer, refused)) &&
			strings.Contains(line, "event=bgp-peer.changed object="+peer)
	}
	response, err := http.Get("http://" + server + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if want := `"bgp-peer/` + peer +
		`","ok":false,"message":"no session was ever established: ` + refused + `"`; err != nil ||
		response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), want) {
		t.Errorf("/readyz: %d %s, %v; want %s", response.StatusCode, body, err, want)
	}
	var out strings.Builder
	for _, what := range [][]string{{"get", "bgp-peers"}, {"get", "topology"}} {
		execute(t.Context(), append(what, "--server", "http://"+server), environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string {
				return ""
			},
		})
	}
	for _, want := range []string{peer + "  64512  connecting", refused + "\n",
		"stale since "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	c.cancel()
	if status := <-c.status; status != exitOK {
		t.Errorf("exit status %d of the controller", status)
	}
}
