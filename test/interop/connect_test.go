//go:build linux

package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	weftapi "github.com/weft-sdn/weft/api"
)

const (
	connectPort  = 4242
	connectToken = "open sesame"
	tensors      = 200
	finishTime   = 900 // s, of a program
)

// replicas are the guests whose programs connect by RDMA CM as receivers.
var replicas = []string{"R1", "R2", "R3", "R4", "R5"}

// plugged fails if a guest has a neighbor entry written by hand, or no entry for its router.
func (s *session) plugged() {
	s.Helper()
	for name, g := range s.guests {
		router := " router "
		if a := s.addressOf(name); a.Is4() {
			p, _ := a.Prefix(24)
			router = p.Addr().Next().String() + " dev eth0 "
		}
		var text string
		s.check(g.call("neighbors", nil, &text))
		if strings.Contains(text, "PERMANENT") || !strings.Contains(text, router) {
			s.Errorf("%s: neighbors %q: want %q, and none that is written", name, text, router)
		}
	}
}

// connectGroup writes a group whose members connect.
func (s *session) connectGroup(name string, proxy netip.Addr, receivers ...string) {
	s.Helper()
	spec := weftapi.MulticastGroupSpec{ProxyAddress: proxy, DesignatedQPN: designated,
		InitialPSN: firstPSN, Connect: &weftapi.GroupConnect{Port: connectPort, Token: connectToken},
		Source: weftapi.GroupSource{Address: s.addressOf("S1")}}
	for _, r := range receivers {
		spec.Receivers = append(spec.Receivers, weftapi.GroupReceiver{Address: s.addressOf(r)})
	}
	s.check(s.request(http.MethodPut, "/v1/multicast-groups/"+name, map[string]any{"spec": spec}, nil))
}

func (s *session) start(guest string, argv ...string) {
	s.Helper()
	s.check(s.guests[guest].call("start", arguments{"name": "program", "argv": argv}, nil))
}

// finished waits for a guest's program, and returns the program's output.
func (s *session) finished(guest string) string {
	s.Helper()
	text, code := s.ended(guest)
	if code != 0 {
		s.Fatalf("%s: the program ended with %d: %s", guest, code, text)
	}
	return text
}

func (s *session) ended(guest string) (text string, code int) {
	s.Helper()
	var out struct {
		Code int
		Text string
	}
	s.check(s.guests[guest].within(finishTime).call("finish", arguments{"name": "program",
		"seconds": finishTime - 10}, &out))
	return out.Text, out.Code
}

// python starts the example that distributes the weights of a model.
func (s *session) python(guest, role string, proxies []netip.Addr, more ...string) {
	s.Helper()
	var groups []string
	for _, p := range proxies {
		groups = append(groups, p.String())
	}
	s.start(guest, append([]string{"/usr/bin/python3", "/weights.py", role, "--group",
		strings.Join(groups, ","), "--port", strconv.Itoa(connectPort), "--address",
		s.addressOf(guest).String(), "--token", connectToken, "--octets", strconv.Itoa(s.weights),
		"--tensors", strconv.Itoa(tensors)}, more...)...)
}

// relay starts the program that uses the client in C.
func (s *session) relay(guest, role string, proxy netip.Addr, port int, token string, count int) {
	s.Helper()
	s.start(guest, "/relay", role, proxy.String(), strconv.Itoa(port), s.addressOf(guest).String(),
		token, "65536", strconv.Itoa(count))
}

// distributed are the weights that have got from S1 to all replicas.
type distributed struct {
	Sent    uint64
	Seconds float64
	SHA256  string
}

// distribute starts replicas, each of its group, and the trainer, and compares the weights.
func (s *session) distribute(of map[string]netip.Addr, listens string, between func()) distributed {
	s.Helper()
	all := slices.SortedFunc(maps.Values(of), netip.Addr.Compare)
	s.python("S1", "trainer", slices.Compact(all))
	if between != nil {
		between()
	}
	for _, name := range replicas {
		if name == listens {
			s.python(name, "replica", []netip.Addr{of[name]}, "--listen")
		} else {
			s.python(name, "replica", []netip.Addr{of[name]})
		}
	}
	var d, r distributed
	text := s.finished("S1")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		s.Fatalf("the trainer said %q: %v", text, err)
	}
	for _, name := range replicas {
		text := s.finished(name)
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.SHA256 != d.SHA256 {
			s.Fatalf("%s said %q: want SHA-256 %s (%v)", name, text, d.SHA256, err)
		}
	}
	return d
}

// connect has applications of librdmacm join groups: those of clients/python and clients/c.
func (s *session) connect() {
	proxyOf := func(n int) netip.Addr { return s.proxy(0x10 + n) }
	// The trainer connects first and waits; another controller answers it.
	one := proxyOf(0)
	s.connectGroup("weights", one, replicas...)
	of := map[string]netip.Addr{}
	for _, name := range replicas {
		of[name] = one
	}
	tree := s.distribute(of, "R1", func() {
		s.check(s.kill("controller"))
		s.check(s.startController())
	})
	for i, name := range replicas {
		of[name] = proxyOf(1 + i)
		s.connectGroup("unicast"+strconv.Itoa(1+i), of[name], name)
	}
	five := s.distribute(of, "", nil)
	fmt.Printf(
		"%-20s  weights of %d octets in %d tensors to %d replicas: one group sent %d octets in "+
			"%.1f s, five unicasts %d in %.1f s\n",
		s.name,
		s.weights,
		tensors,
		len(replicas),
		tree.Sent,
		tree.Seconds,
		five.Sent,
		five.Seconds,
	)
	w := uint64(s.weights)
	most := w * 3 / 2
	if s.switches != "weft" {
		most = five.Sent / 2 // a round trip is so long that the source sends much of it again
	}
	if tree.Sent < w || tree.Sent > most || five.Sent < 5*w {
		s.Errorf("octets sent: %d by the group, %d by five unicasts", tree.Sent, five.Sent)
	}
	for i := range replicas {
		s.check(s.request(http.MethodDelete, "/v1/multicast-groups/unicast"+strconv.Itoa(1+i), nil, nil))
	}
	s.check(s.request(http.MethodDelete, "/v1/multicast-groups/weights", nil, nil))
	s.refusals(proxyOf(6))
	s.inC(proxyOf(7))
}

// refusals are what applications get that may not connect.
func (s *session) refusals(proxy netip.Addr) {
	s.connectGroup("refusals", proxy, "R2")
	for _, c := range []struct {
		guest, role, token string
		port               int
		want               string
	}{
		{"S1", "source", "wrong", connectPort, "reason 28: the token"},
		{"R2", "join", connectToken, connectPort + 5, "reason 8: port 4248"},
		{"R2", "source", connectToken, connectPort, "reason 28: " + s.addressOf("R2").String()},
	} {
		s.relay(c.guest, c.role, proxy, c.port, c.token, 1)
		if text, code := s.ended(c.guest); code != 1 || !strings.Contains(text, c.want) {
			s.Errorf("%s as %s: %d, %q: want %q", c.guest, c.role, code, text, c.want)
		}
	}
	s.check(s.request(http.MethodDelete, "/v1/multicast-groups/refusals", nil, nil))
	fmt.Printf("%-20s  refusals have IBTA's reasons\n", s.name)
}

// inC is a group of programs that use clients/c: one listens, one connects.
func (s *session) inC(proxy netip.Addr) {
	const messages = 20
	s.connectGroup("c", proxy, "R2", "R3")
	s.relay("R2", "join", proxy, connectPort, connectToken, messages)
	s.relay("R3", "listen", proxy, connectPort, connectToken, messages)
	s.relay("S1", "source", proxy, connectPort, connectToken, messages)
	want := fmt.Sprintf("mtu %d length 65536 messages %d", pathMTU, messages)
	for _, name := range []string{"R2", "R3", "S1"} {
		text, code := s.ended(name)
		if code != 0 || !strings.Contains(text, fmt.Sprintf("messages %d", messages)) ||
			name == "S1" && !strings.Contains(text, want) {
			s.Errorf("%s ended with %d and said %q: want %q", name, code, text, want)
		}
	}
	s.check(s.request(http.MethodDelete, "/v1/multicast-groups/c", nil, nil))
	fmt.Printf("%-20s  %d messages by the client in C\n", s.name, messages)
}
