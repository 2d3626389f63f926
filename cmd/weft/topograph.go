package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/topograph"
)

func newTopograph(env environment) *cobra.Command {
	c := family("topograph", "Work with topograph", `Gives topograph the topology of the fabric.
"weft get topology --format topograph" is its graph as a document.`)
	c.AddCommand(newTopographServe(env))
	return c
}

func newTopographServe(env environment) *cobra.Command {
	var conn connection
	var listen, nic string
	c := &cobra.Command{
		Use: "serve", Short: "Answer topograph's netq provider",
		Long: `Answers the requests of topograph's "netq" provider from what the controller knows.
topograph has this address as its apiUrl, any username, and a token of the controller that
may read as its password: the command has no access of its own. It speaks plain HTTP, and
listens on loopback addresses alone.`,
		Args: arguments(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := checkListen(ctx, "--listen", listen); err != nil {
				return err
			}
			if err := checkLoopback(ctx, "--listen", listen, false, ""); err != nil {
				return usagef("--listen is %q: want a loopback address such as 127.0.0.1:8380, "+
					"since tokens come over plain HTTP", listen)
			}
			names, err := namesOf(nic)
			if err != nil {
				return err
			}
			return serveTopograph(ctx, env, conn, listen, names)
		},
	}
	conn.register(c)
	nicFlag(c, &nic)
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8380", "host:port for topograph")
	return c
}

// serveTopograph answers topograph until ctx ends.
func serveTopograph(ctx context.Context, env environment, conn connection, listen string,
	names *scheduler.Pattern) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	handler := topograph.Handler(func(ctx context.Context, token string) (*scheduler.Facts, error) {
		as := conn
		as.token = token
		c, err := as.open(env)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		facts, err := scheduler.Read(ctx, c)
		if err == nil {
			facts.Names = names
		}
		return facts, err
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	fmt.Fprintf(env.stdout, "topograph: apiUrl http://%v\n", l.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // its error is that of Serve
	defer stop()
	if err := server.Serve(l); ctx.Err() == nil || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil // what it is ended by
}
