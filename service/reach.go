package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/service/cluster"
)

// pingPath is the HTTP path by which controllers check each other's listeners.
const pingPath = "/cluster/ping"

// ping opens a new connection to another controller, like a client's request after a fault, and
// compares the clocks. The error explains why requests that this controller forwards would fail.
// Any answer counts, because controllers of other releases may not know the path.
func (m *member) ping(ctx context.Context, o cluster.Member) error {
	ahead, err := m.clock(ctx, o)
	if err != nil {
		return errors.New(unreached(o.Peers, err))
	}
	if ahead.Abs() > access.MaxSkew {
		return fmt.Errorf("its clock is %s that of controller %s", access.Apart(ahead), m.self.Name)
	}
	return nil
}

// clock returns how far the clock of another controller is ahead.
func (m *member) clock(ctx context.Context, o cluster.Member) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.scheme+"://"+o.Peers+pingPath, nil)
	if err != nil {
		return 0, err
	}
	r.Close = true
	asked := time.Now()
	answer, err := m.pings.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	return clockOf(answer, asked), answer.Body.Close()
}

// clockOf returns how far the answering controller's clock runs ahead of this controller's clock.
// The request was sent at asked, and the answer arrived now.
func clockOf(answer *http.Response, asked time.Time) time.Duration {
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return skew(date.Add(time.Second/2), asked, time.Now()) // it is cut to a second
}

// unreached describes why there is no answer at an address, in words that stay the same while the
// reason does.
func unreached(address string, err error) string {
	var timeout net.Error
	fault := certs.Fault(err)
	switch {
	case fault != "":
		return fault
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "the other one has no file descriptor left to connect with"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + address
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "it does not answer at " + address
	}
	return fmt.Sprintf("it does not answer at %s: %v", address, errors.Unwrap(err))
}

// unreachedBy returns the controllers that do not reach a given controller, and why; "": every
// controller that has tried reaches it.
func unreachedBy(v *cluster.View, o cluster.Member) string {
	var out []string
	for i := range v.Members {
		from := &v.Members[i]
		if why := from.Lost(o); why != "" {
			out = append(out, fmt.Sprintf("controller %s does not reach it: %s", from.Name, why))
		}
	}
	return strings.Join(out, "; ")
}

// reach checks whether the controllers reach each other; false: all do. The check makes this
// controller not ready if lost connections stop its work: this controller and the decider cannot
// reach each other, or this controller decides and most controllers cannot reach this controller.
// All other losses are advisory.
func (m *member) reach(v *cluster.View) (check api.ReadinessCheck, lost bool) {
	var all []string
	for _, o := range v.Members {
		if why := unreachedBy(v, o); why != "" {
			all = append(all, o.Name+": "+why)
		}
	}
	check = api.ReadinessCheck{Name: "controllers", Message: "not all controllers reach " +
		strings.Join(all, "; ")}
	self, _ := v.Member(m.self.Name)
	if d, there := v.Member(v.Decider.Name); d.Name == self.Name {
		check.Advisory = v.Served()
	} else {
		check.Advisory = there && self.Lost(d) == "" && d.Lost(self) == ""
	}
	return check, len(all) > 0
}

// certificates reports the certificates between controllers that expire soon or have expired:
// certificates in this controller's files, and certificates that other controllers showed a moment
// ago; "": none.
func (o *Options) certificates(now time.Time) string {
	var of []certs.Certificate
	for _, c := range o.Inventory.Certificates().List() {
		if c.Place == "cluster.tls" && (!c.Peer || now.Sub(c.Seen) < certificateLook) &&
			c.State(now) != certs.Valid {
			of = append(of, c)
		}
	}
	var ends []string
	var monitor certs.Monitor
	for _, c := range monitor.Next(now, of) {
		ends = append(ends, c.Message)
	}
	return strings.Join(ends, "; ")
}
