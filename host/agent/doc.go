// Package agent is a host's end of the stream from its controller (docs/host-api.md).
//
// An [Agent] connects, with growing pauses, says what the host has, and has what arrives applied by
// an [Endpoint], the host's transport or its NIC's driver:
//
//	a, err := agent.New(cfg, endpoint)
//	…
//	err = a.Run(ctx)
//
// What arrives is checked first, against the rules of the protocol and against the endpoint's
// capabilities; what does not pass is refused by the name of the field, and changes nothing. What
// the controller sent stays in force while it is away. The endpoint reports EV events, probe
// results and ports through the Agent's methods, which never wait: what the stream cannot carry in
// time is coalesced, or dropped oldest first and counted.
//
// The logic is [Core] (what the host holds) and [Outbox] (what it has to say), without stream,
// clock or lock; the rest is the thin edge around them.
package agent
