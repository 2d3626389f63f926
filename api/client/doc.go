// Package client is a client of the controller's REST API, over the types of package api.
//
//	c, err := client.New(client.Config{Server: "http://127.0.0.1:8080"})
//	g, err := c.Groups().Put(ctx, "g1", spec, client.Write{})
//	for s, err := range c.Switches().All(ctx, nil) { … }
//	for e, err := range c.Watch(ctx, client.Watch{Types: []api.EventType{"group"}}) { … }
//
// A refusal is a [*api.Problem] (RFC 9457), a server that cannot be reached an error that wraps
// [ErrUnreachable], an answer of another API one that wraps [ErrAnswer]. No request is tried
// again; only streams of events are resumed. [Client.Do] reaches what has no method here.
package client
