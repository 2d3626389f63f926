package clientlimit

import "github.com/weft-sdn/weft/internal/connlimit"

// Reason is why a client was turned away.
type Reason uint8

// Reasons, in the order in which Stats lists them.
const (
	Connections Reason = iota // the server has all the connections it takes
	Strangers                 // it has all those of clients that are not trusted
	PerClient                 // the client's address has all the connections it may have
	Unfinished                // its messages that were not complete took the most memory
	Backlog                   // its answers that it had not read took the most memory
	Stalled                   // it did not read an answer in time
	Streams                   // the connection has all the streams it may have
	Roles                     // the connection has all the roles it may have, or the device has
	numReasons
)

var reasonNames = [numReasons]string{
	Connections: string(connlimit.Full), Strangers: string(connlimit.Strangers),
	PerClient: string(connlimit.PerClient), Unfinished: "unfinished_messages",
	Backlog: "read_backlog", Stalled: "stalled_reader", Streams: "streams", Roles: "roles",
}

// String returns the name that metrics and logs have for a reason.
func (r Reason) String() string { return reasonNames[r] }

var reasonOf = map[connlimit.Reason]Reason{
	connlimit.Full: Connections, connlimit.Strangers: Strangers,
	connlimit.PerClient: PerClient}
