package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
)

const (
	programRuns  = 20
	programLimit = 2 * time.Minute // for anything of it to happen
	programPoll  = time.Millisecond
)

// programming measures groups on Figure 1 in real time, with REST, P4Runtime and BGP-LS on
// loopback: program/group from the POST of a group of five receivers to Programmed, the median of
// 20; program/connect see connecting.
func programming(ctx context.Context, out *report) (err error) {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	out.tell("program: %d groups on Figure 1", programRuns)
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: lab.Figure1(), Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Close()) }()
	if err := live.Ready(ctx); err != nil {
		return err
	}
	if out.wants("program/group") {
		if err := programGroups(ctx, out, live); err != nil {
			return err
		}
	}
	if out.wants("program/connect") {
		return connecting(ctx, out, live)
	}
	return nil
}

// programGroups measures the time from the POST of a group until the API reports the group
// Programmed.
func programGroups(ctx context.Context, out *report, live *lab.Live) error {
	hosts := live.World.Network.Hosts
	source, receivers := hosts[0], hosts[1:]
	var took runs
	for i := range programRuns {
		spec := api.MulticastGroupSpec{
			ProxyAddress:  netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 15: byte(i + 1)}),
			DesignatedQPN: designatedQPN,
			// a queue pair is of one group
			Source: api.GroupSource{Address: source.Address, QPN: sourceQPN + uint32(i)<<8},
		}
		for k, r := range receivers {
			spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Address, QPN: receiverQPN +
				uint32(i)<<8 + uint32(k)})
		}
		d, err := timeToProgrammed(ctx, live.URL()+"/v1/multicast-groups", fmt.Sprintf("bench-%d", i),
			spec)
		if err != nil {
			return err
		}
		took = append(took, float64(d.Microseconds())/1e3)
	}
	params := []field{{"switches", len(live.World.Network.Switches)}, {"receivers", len(receivers)}}
	return out.print(figure{bench: "program/group", unit: "ms", value: took.median(),
		more: append(params, took.spread()...)})
}

func groupBody(name string, spec api.MulticastGroupSpec) ([]byte, error) {
	return json.Marshal(map[string]any{"name": name, "spec": spec})
}

// timeToProgrammed posts a group and asks for it until it is programmed.
func timeToProgrammed(ctx context.Context, url, name string,
	spec api.MulticastGroupSpec) (time.Duration, error) {
	body, err := groupBody(name, spec)
	if err != nil {
		return 0, err
	}
	ticker := time.NewTicker(programPoll)
	defer ticker.Stop()
	start := time.Now()
	group, err := exchange(ctx, http.MethodPost, url, body)
	for err == nil {
		if c := group.Status.Condition(api.Programmed); c != nil && c.Status {
			return time.Since(start), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%s is not programmed: %w: %+v", name, ctx.Err(), group.Status.Conditions)
		}
		group, err = exchange(ctx, http.MethodGet, url+"/"+name, nil)
	}
	return 0, err
}

// exchange sends a request that is answered by a group.
func exchange(ctx context.Context, method, url string, body []byte) (group api.MulticastGroup,
	err error) {
	code, answer, err := send(ctx, method, url, string(body))
	if err != nil {
		return group, err
	}
	if code >= http.StatusBadRequest {
		return group, fmt.Errorf("%s %s: %d: %s", method, url, code, answer)
	}
	return group, json.Unmarshal(answer, &group)
}
