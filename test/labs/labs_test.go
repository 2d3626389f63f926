//go:build linux

package labs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/export"
)

// Bounds of what never takes as long.
const (
	patience = 3 * time.Minute
	poll     = 200 * time.Millisecond
)

func TestMain(m *testing.M) {
	// the process is the command of a Mininet lab
	if what := os.Getenv("WEFT_LAB_INSIDE"); what != "" {
		if err := inside(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if built.dir != "" {
			if err := os.RemoveAll(built.dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		os.Exit(status)
	}))
}

// built is the program, once a test has asked for it.
var built struct {
	once      sync.Once
	dir, path string
	err       error
}

// weft returns the program.
func weft(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "weft-labs-"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "weft")
		_, built.err = run(context.Background(), ".", nil, "go", "build", "-o", built.path,
			"github.com/weft-sdn/weft/cmd/weft")
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// require skips a test where a program or the rights of root are missing.
func require(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it makes network namespaces and interfaces")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not on the PATH", p)
		}
	}
}

// asked skips a test that takes long or starts daemons, unless WEFT_LABS names it.
func asked(t *testing.T, name string) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("WEFT_LABS"), ","), name) {
		t.Skipf("WEFT_LABS does not name %s", name)
	}
}

// write exports a lab to a folder.
func write(t *testing.T, network lab.Network, o export.Options) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files, err := export.Files(network, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Write(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fabric is the network of docs/examples/fabric.yaml.
func fabric(t *testing.T) lab.Network {
	t.Helper()
	n, err := lab.Load("../../docs/examples/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// await calls ok until it returns nil.
func await(ctx context.Context, what string, ok func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(poll) // another process says nothing when it has done its work
	defer ticker.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

var receivedPattern = regexp.MustCompile(`received=(\d+)`)

// received returns the octets that the log of a host reports last.
func received(log []byte) uint64 {
	all := receivedPattern.FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.ParseUint(string(all[len(all)-1][1]), 10, 64) // digits
	return n
}

// get reads a resource of the API.
func get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// more waits until each host has received so many octets more.
func more(ctx context.Context, logs func(host string) ([]byte, error), octets uint64,
	hosts ...string) error {
	begin := map[string]uint64{}
	for _, h := range hosts {
		log, err := logs(h)
		if err != nil {
			return err
		}
		begin[h] = received(log)
	}
	return await(ctx, "traffic", func() error {
		for _, h := range hosts {
			log, err := logs(h)
			if err != nil {
				return err
			}
			if n := received(log); n < begin[h]+octets {
				return fmt.Errorf("host %s has received %d octets, and had %d; its log ends with %q", h, n,
					begin[h], log[max(0, len(log)-300):])
			}
		}
		return nil
	})
}

// parentOf returns the node above another one in a group's tree.
func parentOf(ctx context.Context, url, group, node string) (string, error) {
	var g api.MulticastGroup
	if err := get(ctx, url+"/v1/multicast-groups/"+group, &g); err != nil {
		return "", err
	}
	if g.Status.Tree == nil {
		return "", errors.New("the group has no tree")
	}
	for _, n := range g.Status.Tree.Nodes {
		if n.Switch == node {
			return n.Parent, nil
		}
	}
	return "", fmt.Errorf("%s is not in the tree", node)
}

// linkPhase returns the phase of the MRC link between two nodes.
func linkPhase(ctx context.Context, url, from, to string) (string, error) {
	var list struct{ Items []api.Link }
	if err := get(ctx, url+"/v1/links?limit=1000", &list); err != nil {
		return "", err
	}
	for _, l := range list.Items {
		if l.Status.FromName == from && l.Status.ToName == to {
			return l.Status.Phase, nil
		}
	}
	return "", fmt.Errorf("there is no link from %s to %s", from, to)
}

// run runs a program that must succeed, and returns what it prints.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string,
	error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}
