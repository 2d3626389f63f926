package p4rt

import (
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/test/reference"
)

// TestReference: docs/reference/limits.md has the limits of clients of a switch, with the numbers
// of the code.
func TestReference(t *testing.T) {
	mebi := func(n int) string { return fmt.Sprintf("%d MiB", n>>20) }
	const exhausted = "`RESOURCE_EXHAUSTED`"
	page := "# Limits of the clients of a switch\n\nGenerated from the program by `go test " +
		"./dataplane/p4rt -run TestReference -update`: the port of P4Runtime, gNMI, reflection and " +
		"health. A stranger has no valid certificate and has sent no arbitration update. " +
		"`weft_p4runtime_clients_turned_away_total` counts by the label in the last column.\n\n" +
		reference.Head("a client may", "at most", "beyond it", "label") +
		reference.Row("open connections", fmt.Sprintf("%d (`--grpc-max-connections`), %d of one IPv4 "+
			"address or IPv6 /64 (`--grpc-max-per-client`), %d of strangers (`--grpc-max-strangers`)",
			clientlimit.DefaultConnections, clientlimit.DefaultPerClient, clientlimit.DefaultStrangers),
			"the connection of the stranger that has moved no octet for the longest time is closed, or the "+
				"new connection if there is no stranger", "`connections`, `per_client`, `strangers`") +
		reference.Row("hold a connection without calls", fmt.Sprintf(
			"%v until it can carry calls, then %v minutes", handshakeTime, idleTime.Minutes()),
			"the connection is closed", "") +
		reference.Row("make calls on a connection", fmt.Sprintf("%d; %d requests under way",
			clientlimit.MaxCalls, clientlimit.MaxRequests), "they wait at the client, or unread", "") +
		reference.Row("open streams on a connection", fmt.Sprintf("%d of each: stream channels of a "+
			"device, Subscribe, reflection, health", clientlimit.MaxStreams), exhausted, "`streams`") +
		reference.Row("send long messages", fmt.Sprintf("%s (`--grpc-max-message`) for a Write or a "+
			"pipeline configuration, %s for others", mebi(DefaultMaxMessage), mebi(maxSmall)),
			"the call ends", "") +
		reference.Row("leave messages unfinished", mebi(clientlimit.DefaultUnfinished)+" of all "+
			"clients, or two of the longest messages if that is more",
			"the connection with the most unfinished octets is closed", "`unfinished_messages`") +
		reference.Row("ask for a Read", fmt.Sprintf("%d answers are put together at once, two of a "+
			"connection; a Read with more than %s of unread answers waits", maxReads, mebi(maxUnread)),
			"it waits", "") +
		reference.Row("leave answers to Reads unread", mebi(DefaultReadBacklog)+" of all clients",
			"the Reads of the connection that has taken nothing for the longest time end with "+exhausted,
			"`read_backlog`") +
		reference.Row("read nothing of an answer to a Read or Subscribe", fmt.Sprintf(
			"%v (`--grpc-stall-time`)", clientlimit.DefaultStall), "the call ends with "+exhausted,
			"`stalled_reader`") +
		reference.Row("send arbitration updates", fmt.Sprintf("%d at once, then %d a second; %d answers "+
			"unread", updateBurst, updateRate, maxNotices), "the stream is not heard until it has read",
			"") +
		reference.Row("leave packet-ins, digests and notifications unread", fmt.Sprintf(
			"%d messages and %s of a stream", DefaultStreamQueue, mebi(maxQueueBytes)),
			"dropped (`weft_p4runtime_stream_messages_dropped_total`)", "") +
		reference.Row("take roles", fmt.Sprintf("%d of the streams of a connection, %d of a device",
			maxClientRoles, maxRoles), exhausted, "`roles`") +
		reference.Row("be a controller of a role", fmt.Sprint(maxStreams), exhausted, "") +
		reference.Row("name a role", fmt.Sprintf("%d octets; `role.config` %d", maxRoleName,
			maxRoleConfig), "`INVALID_ARGUMENT`", "") +
		reference.Row("write a string of a translated type", fmt.Sprintf("%d octets", maxText),
			"`INVALID_ARGUMENT`", "")
	reference.Page(t, "../..", "limits.md", page, *update)
}
