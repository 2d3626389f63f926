package api

import "encoding/json"

// Journey follows one packet, and every copy, from switch to switch.
type Journey struct {
	From      string       `json:"from" doc:"The host that sent the packet."`
	To        string       `json:"to,omitempty" doc:"The host that was asked for."`
	Group     string       `json:"group,omitempty" doc:"The multicast group that was asked for."`
	Hops      []JourneyHop `json:"hops" doc:"Switches, each after the one that sent it the packet."`
	Delivered []string     `json:"delivered" doc:"Hosts at whose ports copies left the network, sorted."`
	// Complete is false when the time was over, or the answer full, before each copy had an end.
	Complete bool     `json:"complete" doc:"Each copy has reached a host, was dropped, or has left for a switch that gives no traces."`
	Dark     []string `json:"dark,omitempty" doc:"Switches at the way that give no traces."`
	Lost     uint64   `json:"lost,omitempty" doc:"Traces that switches dropped meanwhile."`
}

// JourneyHop is what one switch did with the packet.
type JourneyHop struct {
	Switch string        `json:"switch"`
	Node   string        `json:"node,omitempty" doc:"Id of the switch in the topology."`
	Port   uint32        `json:"port" doc:"Port that the packet came in by."`
	Before int           `json:"before" doc:"Place in hops of the switch that sent it; -1: the host did."`
	Link   string        `json:"link,omitempty" doc:"Id of the link that it came over; absent: from the host."`
	Sent   []JourneySent `json:"sent" doc:"What left the switch."`
	Drops  []string      `json:"drops,omitempty" doc:"Why copies were dropped here."`
	// Record is a trace.Record.
	Record json.RawMessage `json:"record" doc:"Every step, as weft trace --json prints it."`
}

// JourneySent is a copy that left a switch.
type JourneySent struct {
	Port   uint32 `json:"port"`
	Length int    `json:"length" doc:"Octets of its frame."`
	Switch string `json:"switch,omitempty" doc:"The switch that it was sent to."`
	Host   string `json:"host,omitempty" doc:"The host that it was sent to."`
}
