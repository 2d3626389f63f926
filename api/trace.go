package api

import "encoding/json"

// PacketTraces are the traces of the next packets that a switch received.
type PacketTraces struct {
	Items []PacketTrace `json:"items" doc:"In the order of arrival."`
	// Complete is false when the time was over first.
	Complete bool `json:"complete" doc:"As many packets came as were asked for; false when the time was over first."`
	// Lost traces, for which the controller was too slow.
	Lost uint64 `json:"lost,omitempty" doc:"Traces that the switch dropped between these, as it does not wait for a reader."`
}

// PacketTrace records a switch's handling of a packet and of every copy of the packet.
type PacketTrace struct {
	Packet uint64 `json:"packet" doc:"Number of the packet at the switch."`
	Port   uint32 `json:"port" doc:"Port that it came in by."`
	Length int    `json:"length" doc:"Octets of its frame."`
	Text   string `json:"text" doc:"Every step, as weft trace prints it (docs/dataplane.md)."`
	// Record is a trace.Record.
	Record json.RawMessage `json:"record" doc:"The same for programs, as weft trace --json prints it."`
}
