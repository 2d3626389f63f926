package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// answerBodies is how many bodies of a shape are sent: the processor time of a process is known in
// hundredths of a second.
const answerBodies = 20

// bodyShapes are bodies of about 1 MiB that a careless server spends much on.
var bodyShapes = []struct{ name, text string }{
	{"unknown", `{"name":"g","spec":{` + numbered(60_000, `"a%d":0`) + `}}`},
	{"receivers", `{"name":"g","spec":{"receivers":[` +
		numbered(25_000, `{"address":"2001:db8::%x","qpn":7}`) + `]}}`},
	{"empty", `{"name":"g","spec":{"receivers":[` + strings.Repeat("{},", 300_000) + `{}]}}`},
	{"escaped", `{"` + strings.Repeat(`\u006e`, 170_000) + `":0}`},
	{"deep", `{"spec":` + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000) + `}`},
}

// numbered returns n elements with a comma between them.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// spending is the resource use of a controller since its start.
type spending struct {
	seconds float64 // of processor
	octets  float64 // allocated
}

// spent reads it from the controller's metrics.
func spent(ctx context.Context, url string) (s spending, err error) {
	_, text, err := send(ctx, http.MethodGet, url+"/metrics", "")
	if err != nil {
		return s, err
	}
	found := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		var to *float64
		switch name {
		case "process_cpu_seconds_total":
			to = &s.seconds
		case "go_memstats_alloc_bytes_total":
			to = &s.octets
		default:
			continue
		}
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		found++
	}
	if found != 2 {
		return s, errors.New("the metrics lack the processor time or the memory of the process")
	}
	return s, nil
}

// bodies measures what bodies of 1 MiB that no operation takes cost a controller, and prints a line
// a shape.
func bodies(ctx context.Context, out *report, urls []string) error {
	for _, shape := range bodyShapes {
		cpu, allocated := make([]float64, len(urls)), make([]float64, len(urls))
		for i, url := range urls {
			before, err := spent(ctx, url)
			if err != nil {
				return err
			}
			for range answerBodies {
				code, text, err := send(ctx, http.MethodPost, url+groupsPath, shape.text)
				if err != nil {
					return fmt.Errorf("%s: %w", shape.name, err)
				}
				if code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
					return fmt.Errorf("%s: the answer is %d, want 400 or 422: %s", shape.name, code, text)
				}
			}
			after, err := spent(ctx, url)
			if err != nil {
				return err
			}
			cpu[i] = (after.seconds - before.seconds) * 1e3 / answerBodies
			allocated[i] = (after.octets - before.octets) / 1024 / answerBodies
		}
		f := figure{bench: "api/body/" + shape.name, unit: "ms of processor", value: cpu[0]}
		f.more = []field{{"octets", len(shape.text)}, {"allocatedKiB", int(allocated[0])}}
		if len(urls) > 1 {
			f.more = append(f.more, field{"other", cpu[1]},
				field{"otherAllocatedKiB", int(allocated[1])}, field{"ratio", cpu[0] / cpu[1]})
		}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}
