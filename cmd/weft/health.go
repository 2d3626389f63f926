package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs"
)

// healthProbe is the flags of "weft health".
type healthProbe struct {
	env  environment
	conn connection
	sw   string // host:port; empty: the controller is asked
	wait time.Duration
}

// errNotReady reports that a controller or a switch answers and is not ready.
var errNotReady = errors.New("not ready")

func newHealth(env environment) *cobra.Command {
	h := &healthProbe{env: env}
	c := &cobra.Command{
		Use: "health", Short: "Say whether a controller or a switch is ready",
		Long: `Asks a controller whether it is ready (GET /readyz), or with --switch the P4Runtime
server of a switch whether it serves (grpc.health.v1). The exit status is 0 if so, 1 if
not, and 3 when it cannot be reached: for health checks of containers and scripts. With
--wait it asks again until it is ready.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return whileUnready(cmd.Context(), env, h.wait, func() error {
				if h.sw != "" {
					return h.askSwitch(cmd.Context())
				}
				return h.askController(cmd.Context())
			})
		},
	}
	c.Flags().DurationVar(&h.wait, "wait", 0, "longest wait until it is ready; 0 does not wait")
	h.conn.register(c)
	c.Flags().StringVar(&h.sw, "switch", "",
		"host:port of the P4Runtime server of a switch to ask instead, with TLS if --ca or --cert is "+
			"given")
	return c
}

func (h *healthProbe) askController(ctx context.Context) error {
	c, err := h.conn.open(h.env)
	if err != nil {
		return err
	}
	defer c.Close()
	view, err := c.Readiness(ctx)
	if err != nil {
		return err
	}
	if view.Ready {
		_, err = fmt.Fprintln(h.env.stdout, "ready")
		return err
	}
	var faults []error
	for _, c := range view.Checks {
		if !c.OK && !c.Advisory {
			faults = append(faults, fmt.Errorf("%w: %s: %s", errNotReady, c.Name, c.Message))
		}
	}
	if len(faults) == 0 {
		return errNotReady
	}
	return errors.Join(faults...)
}

func (h *healthProbe) askSwitch(ctx context.Context) error {
	if h.conn.timeout < 0 {
		return usagef("--request-timeout is %v: want 0 or more", h.conn.timeout)
	}
	if h.conn.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.conn.timeout)
		defer cancel()
	}
	secured := insecure.NewCredentials()
	if files := (certs.Client{Enabled: h.conn.ca+h.conn.cert != "", CAFile: h.conn.ca,
		CertFile: h.conn.cert, KeyFile: h.conn.key}); !files.IsZero() {
		var err error
		if secured, err = files.Credentials(tls.VersionTLS12); err != nil {
			return usagef("--ca, --cert or --key: %w", err)
		}
	}
	conn, err := grpc.NewClient("passthrough:///"+h.sw, grpc.WithTransportCredentials(secured))
	if err != nil {
		return usagef("--switch is %q: want host:port: %w", h.sw, err)
	}
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	err = errors.Join(err, conn.Close())
	switch {
	case status.Code(err) == codes.Unavailable, status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("%w %s: %w", stream.ErrUnreachable, h.sw, err)
	case err != nil:
		return fmt.Errorf("switch %s: %w", h.sw, err)
	case answer.Status != healthpb.HealthCheckResponse_SERVING:
		return fmt.Errorf("switch %s: %w: %v", h.sw, errNotReady, answer.Status)
	}
	_, err = fmt.Fprintln(h.env.stdout, "serving")
	return err
}
