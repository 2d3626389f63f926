// Package client talks to the controller's REST API. It carries requests and
// answers and turns refusals into errors; what the resources mean is for its
// callers.
//
//	c, err := client.New(client.Config{Server: "http://127.0.0.1:8080"})
//	a, err := c.Get(ctx, client.Path("v1", "switches"), nil)
//
// A refusal is a [*api.Problem] (RFC 9457), a server that cannot be reached an
// error that wraps [ErrUnreachable]. Nothing is tried again, [Client.Events]
// aside.
package client
