package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestHealth: the exit status of weft health tells ready, not ready and unreachable apart.
func TestHealth(t *testing.T) {
	code, body := http.StatusOK, `{"ready":true}`
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer controller.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, status := grpc.NewServer(), health.NewServer()
	healthpb.RegisterHealthServer(server, status)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	ask := func(want int, message string, args ...string) {
		t.Helper()
		var out strings.Builder
		got := execute(t.Context(), append([]string{"health"}, args...), environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string {
				return ""
			},
		})
		if got != want || !strings.Contains(out.String(), message) {
			t.Errorf("weft health %v: status %d, %q; want %d with %q", args, got, out.String(), want,
				message)
		}
	}
	ask(exitOK, "ready", "--server", controller.URL)
	code, body = http.StatusServiceUnavailable,
		`{"ready":false,"checks":[{"name":"bgp-ls","ok":true},{"name":"switch N6","ok":false,`+
			`"message":"not connected"}]}`
	ask(exitFailed, "not ready: switch N6: not connected", "--server", controller.URL)
	ask(exitOK, "serving", "--switch", listener.Addr().String())
	status.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	ask(exitFailed, "NOT_SERVING", "--switch", listener.Addr().String())
	server.Stop()
	controller.Close()
	ask(exitUnreachable, "cannot reach the switch", "--switch", listener.Addr().String())
	ask(exitUnreachable, "cannot reach the controller", "--server", controller.URL)
	ask(exitUsage, "--ca", "--switch", "127.0.0.1:1", "--ca", "/nowhere.pem")
}
