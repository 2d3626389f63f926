package sonic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// origin is the origin of paths into the switch's databases, and instance the first elements.
const (
	origin   = "sonic-db"
	instance = "localhost"
)

// The databases.
const (
	configDB = "CONFIG_DB"
	applDB   = "APPL_DB"
	stateDB  = "STATE_DB"
)

func path(db string, elems ...string) *gpb.Path {
	p := &gpb.Path{Origin: origin}
	for _, e := range append([]string{db, instance}, elems...) {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: e})
	}
	return p
}

// pointer escapes "/" and "~" as in a JSON Pointer (RFC 6901, section 3): the server copies the
// elements of a Set unchanged into the pointer of a JSON Patch. The server takes the elements of a
// Get literally.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func written(elems []string) *gpb.Path {
	out := make([]string, len(elems))
	for i, e := range elems {
		out[i] = pointer.Replace(e)
	}
	return path(configDB, out...)
}

// update returns an update of CONFIG_DB to a value.
func update(to any, elems ...string) *gpb.Update {
	text, err := json.Marshal(to)
	if err != nil {
		panic(err) // never: it is made of strings
	}
	return &gpb.Update{Path: written(elems),
		Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}}
}

// get returns the JSON at a path. A path that the switch has nothing at is an empty object: the
// server answers NotFound, also for a table without rows.
func (s *Session) get(ctx context.Context, client gpb.GNMIClient, p *gpb.Path) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	a, err := client.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON_IETF})
	if status.Code(err) == codes.NotFound {
		return []byte("{}"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("gNMI Get: %w", err)
	}
	for _, n := range a.GetNotification() {
		for _, u := range n.GetUpdate() {
			return u.GetVal().GetJsonIetfVal(), nil
		}
	}
	return []byte("{}"), nil
}

// errRefused: the switch has said no, and why.
var errRefused = errors.New("the switch refuses it")

// refusal reports whether an error is the switch's no.
func refusal(err error) bool { return errors.Is(err, errRefused) }

// set carries out a Set. The error wraps errRefused when the switch has answered.
func (s *Session) set(ctx context.Context, client gpb.GNMIClient, req *gpb.SetRequest) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.SetTimeout)
	defer cancel()
	if _, err := client.Set(ctx, req); err != nil {
		return failed("Set", err)
	}
	return nil
}

// failed returns the error of a request. It wraps errRefused when the switch has answered.
func failed(what string, err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fmt.Errorf("gNMI %s: %w", what, err)
	}
	return fmt.Errorf("%w: gNMI %s: %w", errRefused, what, err)
}
