// Package client is a client of the controller's REST API, over the types of package api.
//
//	c, err := client.New(client.Config{Server: "http://127.0.0.1:8080"})
//	g, err := c.Groups().Put(ctx, "g1", spec, client.Write{})
//	for s, err := range c.Switches().All(ctx, nil) { … }
//	for e, err := range c.Watch(ctx, client.Watch{Types: []api.EventType{"group"}}) { … }
//
// A refusal is a [*api.Problem] (RFC 9457). An error about an unreachable server wraps
// [ErrUnreachable], and an error about an answer from another API wraps [ErrAnswer]. The client
// repeats no request; only event streams resume. Use [Client.Do] for operations without a method
// here.
package client
