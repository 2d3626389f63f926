package plain_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weft-sdn/weft/internal/plain"
)

// raw matches text for programs.
var raw = regexp.MustCompile(`desc =|rpc error|code =|^[a-z]+: |0x[0-9a-f]{4}|EOF|` +
	`\d:\d+\.\d+\.\d+\.\d+[,~]`)

// TestText: a gRPC, TLS or connection error becomes a phrase, with any number of wrappings. Other
// texts stay unchanged.
func TestText(t *testing.T) {
	refused := `opening the stream: southbound: rpc error: code = Unavailable desc = "connection ` +
		`error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:9559: connect: ` +
		`connection refused\""`
	for _, c := range [][2]string{
		{refused, "nothing listens at 127.0.0.1:9559: the connection was refused"},
		{"rpc error: code = DeadlineExceeded desc = context deadline exceeded",
			"it did not answer in time"},
		{"read: connection reset by peer", "it ended the connection"},
		{"unexpected EOF", "the connection ended"},
		{"connect: no route to host", "there is no route to its address"},
		{"context canceled", "the connection was given up"},
		{"port 3 is down", "port 3 is down"},
		{"southbound: not the primary controller of the switch",
			"not the primary controller of the switch"},
		{"southbound: rpc error: code = NotFound desc = device id 7: want 1", "device id 7: want 1"},
		{"rpc error: code = Unauthenticated desc = ", "it does not know who the controller is"},
		{"rpc error: code = DataLoss desc = ",
			"it answered with an error that it does not explain (DataLoss)"},
		{"", ""},
	} {
		if got := plain.Text(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
	if got := plain.Error(nil); got != "" {
		t.Errorf("no error is %q", got)
	}
}

// call calls a method that no server has, and returns the error.
func call(t *testing.T, address string, creds credentials.TransportCredentials) error {
	t.Helper()
	cc, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cc.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = cc.Invoke(ctx, "/p4.v1.P4Runtime/Capabilities", &emptypb.Empty{}, &emptypb.Empty{})
	return fmt.Errorf("opening the stream: %w", fmt.Errorf("southbound: %w", err))
}

// TestRealErrors: errors of a dead server, of TLS on one side and of refusals lose all codes, steps
// and ids.
func TestRealErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback: %v", err)
	}
	server := grpc.NewServer()
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	defer func() { server.Stop(); <-done }()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	all := map[string]error{
		"a dead server": call(t, dead.Addr().String(), insecure.NewCredentials()),
		"no TLS there": call(t, l.Addr().String(),
			credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})),
		"an unknown call":  call(t, l.Addr().String(), insecure.NewCredentials()),
		"a wrapped cancel": fmt.Errorf("southbound: %w", context.Canceled),
		"a bad certificate": errors.New("rpc error: code = Unavailable desc = connection error: " +
			`desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: ` +
			`certificate signed by unknown authority"`),
		"a refused certificate": errors.New("rpc error: code = Unavailable desc = connection error: " +
			`desc = "transport: authentication handshake failed: remote error: tls: certificate required"`),
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		all[c.String()] = fmt.Errorf("opening the stream: southbound: %w", status.Error(c, ""))
		all[c.String()+" with words"] = fmt.Errorf("southbound: %w", status.Error(c, "wrong password"))
	}
	for name, err := range all {
		if got := plain.Error(err); got == "" || raw.MatchString(got) {
			t.Errorf("%s: %q, of %v", name, got, err)
		}
	}
}
