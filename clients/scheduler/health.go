package scheduler

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/printable"
)

func usable(h *api.Host) (n int) {
	for i := range h.Ports {
		if h.Ports[i].Status.Usable {
			n++
		}
	}
	return n
}

// mostText bounds what a host or a network has written of a fault, in octets.
const mostText = 160

// inLine returns foreign text as one line of bounded length, for programs that read lines.
func inLine(text string) string {
	text = printable.Text(strings.Join(strings.Fields(text), " "))
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return text
}

// Fault returns why the NICs of a host cannot be used, or "" if they can: either the host has no
// stream to the controller, so the controller knows nothing of the host, or peers may send to none
// of its ports. streams is whether hosts have streams at all.
func Fault(h *api.Host, streams bool) string {
	if !streams {
		return ""
	}
	if !h.Connected {
		why := "no stream to the controller"
		if h.Error != "" {
			why += ": " + inLine(h.Error)
		}
		return why
	}
	if usable(h) > 0 {
		return ""
	}
	if len(h.Ports) == 0 {
		return "no port that is attached to the fabric"
	}
	counts := make(map[string]int)
	order := []string{"down", "drained", "held back after a failure", "not usable"}
	for i := range h.Ports {
		switch s := &h.Ports[i].Status; {
		case s.LinkDown || s.HostDown:
			counts[order[0]]++
		case s.Drained:
			counts[order[1]]++
		case s.Held:
			counts[order[2]]++
		default:
			counts[order[3]]++
		}
	}
	var parts []string
	for _, state := range order {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d ports %s", n, len(h.Ports), state))
		}
	}
	return strings.Join(parts, ", ")
}
