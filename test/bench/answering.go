package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// otherVariable names a second weft binary, measured alternately with this binary.
const otherVariable = "WEFT_BENCH_OTHER"

const (
	answerGroups   = 500  // that are made
	answerGets     = 5000 // readings of one of them
	answerPatience = 2 * time.Minute
	answerPause    = 20 * time.Millisecond
	groupsPath     = "/v1/multicast-groups"
)

const answerTopology = `nodes:
- {name: N1, routerId: 10.0.0.1, loopback: "2001:db8:0:1::1", locator: "5f00:0:1::/48", prefixes: ["2001:db8:1:1::1/128"]}
- {name: N2, routerId: 10.0.0.2, loopback: "2001:db8:0:2::1", locator: "5f00:0:2::/48", prefixes: ["2001:db8:1:2::1/128"]}
links:
- {a: N1, portA: 2, b: N2, portB: 2, delay: 10us}
`

// answerConfiguration has no switch that answers: a group is made when the store has kept it.
const answerConfiguration = `switches:
- {name: N1, address: "127.0.0.1:1", mac: "02:00:00:00:00:01"}
- {name: N2, address: "127.0.0.1:2", mac: "02:00:00:00:00:02"}
hosts:
- {name: S1, address: "2001:db8:1:1::1", mac: "02:00:00:01:00:01", switch: N1, port: 1}
- {name: R1, address: "2001:db8:1:2::1", mac: "02:00:00:01:00:02", switch: N2, port: 1}
topology: {file: %q}
intervals: {settle: 200ms}
api: {listen: %q}
`

// answering measures requests of one client to a single controller with records on disk: POSTs of
// groups until the answer that the group is on disk (api/post), GETs of a group (api/get), and
// refused bodies of about 1 MiB with their processor time and allocatedKiB (api/body). A second
// binary (WEFT_BENCH_OTHER) answers the same requests in turns.
func answering(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-api")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	this := filepath.Join(dir, "weft")
	build := exec.CommandContext(ctx, "go", "build", "-o", this, "github.com/weft-sdn/weft/cmd/weft")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	binaries := []string{this}
	if other := os.Getenv(otherVariable); other != "" {
		binaries = append(binaries, other)
	}
	out.tell("api: %d POST and %d GET to a controller; %s names a second binary", answerGroups,
		answerGets, otherVariable)

	ctx, cancel := context.WithCancel(ctx)
	var processes errgroup.Group
	defer func() {
		cancel()
		_ = processes.Wait() // they were killed
	}()
	urls := make([]string, len(binaries))
	for i, binary := range binaries {
		if urls[i], err = startAnswering(ctx, &processes, binary,
			filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
	}
	posts, gets := make([][]time.Duration, len(binaries)), make([][]time.Duration, len(binaries))
	for n := range answerGroups {
		for i, url := range urls {
			took, err := ask(ctx, http.MethodPost, url+groupsPath, answerGroup(n), http.StatusCreated)
			if err != nil {
				return fmt.Errorf("%s: %w", binaries[i], err)
			}
			posts[i] = append(posts[i], took)
		}
	}
	for n := range answerGets {
		for i, url := range urls {
			took, err := ask(ctx, http.MethodGet, fmt.Sprintf("%s%s/g%d", url, groupsPath, n%answerGroups),
				"", http.StatusOK)
			if err != nil {
				return fmt.Errorf("%s: %w", binaries[i], err)
			}
			gets[i] = append(gets[i], took)
		}
	}
	if err := errors.Join(inTurns(out, "api/post", posts), inTurns(out, "api/get", gets)); err != nil {
		return err
	}
	return bodies(ctx, out, urls)
}

// inTurns prints the latency of this binary; with a second binary, it also prints the other latency
// and the ratio.
func inTurns(out *report, name string, took [][]time.Duration) error {
	f := latency(name, took[0])
	if len(took) > 1 {
		other := latency(name, took[1])
		f.more = append(f.more, field{"other", other.value}, field{"ratio", f.value / other.value})
	}
	return out.print(f)
}

// startAnswering starts a controller with records in a directory, and returns the URL of its API
// when it is ready to answer.
func startAnswering(ctx context.Context, processes *errgroup.Group, binary, dir string) (string,
	error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	config, topology := filepath.Join(dir, "weft.yaml"), filepath.Join(dir, "topology.yaml")
	for name, text := range map[string]string{topology: answerTopology,
		config: fmt.Sprintf(answerConfiguration, topology, address)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "controller", "--config", config, "--name", "c1",
		"--insecure", "--log-level", "error", "--data-dir", filepath.Join(dir, "data"))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	processes.Go(func() error {
		ended <- cmd.Wait()
		return nil
	})
	url := "http://" + address
	deadline := time.After(answerPatience)
	for {
		if _, err = ask(ctx, http.MethodPost, url+groupsPath+"?dryRun=true", answerGroup(0),
			http.StatusCreated); err == nil {
			return url, nil
		}
		select {
		case <-time.After(answerPause):
		case end := <-ended:
			return "", fmt.Errorf("the controller has ended: %w\n%s", end, said.Bytes())
		case <-deadline:
			return "", fmt.Errorf("no group can be made %v after the start: %w", answerPatience, err)
		}
	}
}

// answerGroup is the body of a request for the nth group.
func answerGroup(n int) string {
	return fmt.Sprintf(
		`{"name": "g%d", "spec": {"proxyAddress": "2001:db8:ffff::%x", "designatedQpn": 4096, `+
			`"source": {"address": "2001:db8:1:1::1", "qpn": %d}, "receivers": [{"address": "2001:db8:1:2::1", "qpn": %d}]}}`, n, n+1, 256+n, 256+n)
}

// ask makes a request, and returns how long its answer took to be read.
func ask(ctx context.Context, method, url, body string, want int) (time.Duration, error) {
	start := time.Now()
	code, text, err := send(ctx, method, url, body)
	took := time.Since(start)
	if err == nil && code != want {
		err = fmt.Errorf("%s %s: %d, want %d: %s", method, url, code, want, text)
	}
	return took, err
}

// send makes a request, and returns the status code and the body of its answer.
func send(ctx context.Context, method, url, body string) (code int, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, errors.Join(err, answer.Body.Close())
}
