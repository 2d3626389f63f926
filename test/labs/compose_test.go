//go:build linux

package labs

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/export"
)

// maxImage is the compressed size of the image, in octets.
const maxImage = 25_000_000

// A docker is a Docker daemon: the machine's, or a daemon that the test has started.
type docker struct {
	t   *testing.T
	env []string
}

// newDocker finds the machine's daemon, or starts a daemon with separate data.
func newDocker(t *testing.T) *docker {
	t.Helper()
	d := &docker{t: t}
	if _, err := run(t.Context(), ".", nil, "docker", "info"); err == nil {
		return d
	}
	require(t, "dockerd")
	// The path of a socket has 107 octets at most.
	dir, err := os.MkdirTemp("", "weft-docker-")
	if err != nil {
		t.Fatal(err)
	}
	socket := "unix://" + filepath.Join(dir, "s")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("dockerd", "--host", socket, "--data-root", filepath.Join(dir, "data"),
		"--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"))
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = daemon.Wait() // a signal has ended it
		if err := errors.Join(log.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	d.env = []string{"DOCKER_HOST=" + socket}
	if err := await(t.Context(), "dockerd", func() error {
		_, err := run(t.Context(), ".", d.env, "docker", "info")
		return err
	}); err != nil {
		text, _ := os.ReadFile(log.Name()) // the error says enough without it
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// command runs docker, or another program with its daemon.
func (d *docker) command(dir, name string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*patience)
	defer cancel()
	out, err := run(ctx, dir, d.env, name, args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// compressed returns the size of an image as a registry would hold it, in octets.
func (d *docker) compressed(image string) (n int64) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "docker", "save", image)
	cmd.Env = append(os.Environ(), d.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() {
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, out)
		w.CloseWithError(errors.Join(err, z.Close()))
	}()
	n, err = io.Copy(io.Discard, r)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// A project is a lab of Compose that runs.
type project struct {
	*docker
	dir, profile string
	urls         []string // of the controllers
}

// up starts a lab and waits until all of it is healthy.
func (d *docker) up(dir, profile string, controllers int) *project {
	d.t.Helper()
	p := &project{docker: &docker{t: d.t, env: append([]string{
		"COMPOSE_PROJECT_NAME=wefttest", "COMPOSE_PROFILES=" + profile, "WEFT_IMAGE=weft-test",
		"BMV2_IMAGE=weft-test-bmv2",
	}, d.env...)}, dir: dir, profile: profile}
	for i := range controllers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			d.t.Fatal(err)
		}
		name := "WEFT_PORT"
		if i > 0 {
			name = fmt.Sprintf("WEFT_PORT_%d", i+1)
		}
		p.env = append(p.env, fmt.Sprintf("%s=%d", name, l.Addr().(*net.TCPAddr).Port))
		p.urls = append(p.urls, "http://"+l.Addr().String())
		if err := l.Close(); err != nil {
			d.t.Fatal(err)
		}
	}
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if d.t.Failed() {
			out, _ := run(ctx, dir, p.env, "docker-compose", "logs", "--tail", "20") // for the reader
			d.t.Log(out)
		}
		if _, err := run(ctx, dir, p.env, "docker-compose", "down", "-v", "-t", "2"); err != nil {
			d.t.Error(err)
		}
	})
	p.compose("up", "-d")
	p.healthy()
	return p
}

func (p *project) compose(args ...string) string {
	p.t.Helper()
	return p.command(p.dir, "docker-compose", args...)
}

// A container is what docker inspect says.
type container struct {
	Name  string
	State struct {
		Status   string
		Pid      int
		ExitCode int
		Health   *struct{ Status string }
	}
	RestartCount int
	HostConfig   struct {
		Privileged bool
		CapAdd     []string
		CapDrop    []string
		Binds      []string
	}
}

// containers returns those of the lab.
func (p *project) containers() (out []container, err error) {
	ids, err := run(p.t.Context(), p.dir, p.env, "docker-compose", "ps", "-q")
	if err != nil {
		return nil, err
	}
	text, err := run(p.t.Context(), p.dir, p.env, "docker",
		append([]string{"inspect"}, strings.Fields(ids)...)...)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal([]byte(text), &out)
}

// healthy waits until every container runs, or has done its work, and those with a health check are
// healthy.
func (p *project) healthy() {
	p.t.Helper()
	if err := await(p.t.Context(), "the lab", func() error {
		all, err := p.containers()
		if err != nil {
			return err
		}
		for _, c := range all {
			once := strings.Contains(c.Name, "_authority_") || strings.Contains(c.Name, "_certs_")
			switch {
			case once && c.State.Status == "exited" && c.State.ExitCode == 0:
			case once || c.State.Status != "running":
				return fmt.Errorf("%s is %s, exit code %d", c.Name, c.State.Status, c.State.ExitCode)
			case c.State.Health != nil && c.State.Health.Status != "healthy":
				return fmt.Errorf("%s is %s", c.Name, c.State.Health.Status)
			}
		}
		return nil
	}); err != nil {
		p.t.Fatal(err)
	}
}

// logs returns the end of a service's log.
func (p *project) logs(service string) ([]byte, error) {
	out, err := run(p.t.Context(), p.dir, p.env, "docker-compose", "logs", "--no-color", "--tail", "5",
		service)
	return []byte(out), err
}

// traffic waits until each host has received so many octets more.
func (p *project) traffic(octets uint64, hosts ...string) {
	p.t.Helper()
	if err := more(p.t.Context(), p.logs, octets, hosts...); err != nil {
		p.t.Fatal(err)
	}
}

// find returns the container of a service.
func (p *project) find(service string) (container, error) {
	all, err := p.containers()
	if err != nil {
		return container{}, err
	}
	for _, c := range all {
		if strings.Contains(c.Name, "_"+service+"_") {
			return c, nil
		}
	}
	return container{}, fmt.Errorf("there is no container of %s", service)
}

// crash kills a service's process like the kernel's out-of-memory killer, and waits until the
// container is back.
func (p *project) crash(service string) {
	p.t.Helper()
	before, err := p.find(service)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Kill(before.State.Pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	if err := await(p.t.Context(), service, func() error {
		now, err := p.find(service)
		if err == nil && (now.RestartCount <= before.RestartCount || now.State.Status != "running") {
			err = fmt.Errorf("%s after %d restarts", now.State.Status, now.RestartCount)
		}
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
}

// apply applies the group of the lab at a controller.
func (p *project) apply(url, file string) {
	p.t.Helper()
	p.command(p.dir, weft(p.t), "apply", "-f", file, "--wait", "60s", "--server", url)
}

func (p *project) group(url string) (g api.MulticastGroup) {
	p.t.Helper()
	if err := await(p.t.Context(), "group g1", func() error {
		return get(p.t.Context(), url+"/v1/multicast-groups/g1", &g)
	}); err != nil {
		p.t.Fatal(err)
	}
	return g
}

var receiverServices = []string{"r1", "r2", "r3", "r4", "r5"}

// TestCompose runs the labs of the repository: they become healthy, traffic passes, and what is
// killed comes back.
func TestCompose(t *testing.T) {
	asked(t, "compose")
	require(t, "docker", "docker-compose", "make")
	d := newDocker(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	d.command(root, "make", "-s", "image", "IMAGE=weft-test")
	if n := d.compressed("weft-test"); n > maxImage {
		t.Errorf("the image has %d octets compressed: want at most %d", n, maxImage)
	} else {
		t.Logf("the image has %d octets compressed", n)
	}
	at := func(t *testing.T) *docker { return &docker{t: t, env: d.env} }
	const figureGroup = "deploy/compose/figure1/group.yaml"

	t.Run("figure1", func(t *testing.T) {
		p := at(t).up(root, "embedded", 1)
		all, err := p.containers()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if h := c.HostConfig; h.Privileged || len(h.CapDrop) != 1 || len(h.CapAdd) > 1 ||
				strings.Contains(strings.Join(h.Binds, " "), "docker.sock") {
				t.Errorf("%s has more rights than CAP_NET_RAW: %+v", c.Name, h)
			}
		}
		p.apply(p.urls[0], figureGroup)
		p.traffic(2<<20, receiverServices...)
		p.crash("n5")
		p.traffic(2<<20, receiverServices...)
		before := p.group(p.urls[0])
		p.crash("controller")
		p.healthy()
		p.traffic(2<<20, receiverServices...)
		if after := p.group(p.urls[0]); after.Status.Epoch != before.Status.Epoch {
			t.Errorf("the group has epoch %d after the controller's restart, and had %d", after.Status.Epoch,
				before.Status.Epoch)
		}
	})
	t.Run("fabric", func(t *testing.T) {
		p := at(t).up(filepath.Join(root, "deploy/compose/fabric"), "embedded", 1)
		hosts := []string{"h1", "h2", "h3", "h4"}
		p.traffic(2<<20, hosts...)
		phase := func(want string) {
			t.Helper()
			if err := await(t.Context(), "the link from P1-T0-1 to P1-T1-1", func() error {
				phase, err := linkPhase(t.Context(), p.urls[0], "P1-T0-1", "P1-T1-1")
				if err == nil && phase != want {
					err = fmt.Errorf("is %s: want %s", phase, want)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		const cable = "wefttest_p1-t0-1_p1-t1-1"
		id := strings.TrimSpace(p.compose("ps", "-q", "p1-t0-1"))
		phase("up")
		p.command(p.dir, "docker", "network", "disconnect", cable, id)
		phase("down")
		p.traffic(2<<20, hosts...)
		p.command(p.dir, "docker", "network", "connect", "--ip", "10.97.0.2", cable, id)
		p.compose("restart", "-t", "2", "p1-t0-1") // it opens interfaces at its start
		phase("up")
		p.healthy()
		p.crash("h1")
	})
	t.Run("cluster", func(t *testing.T) {
		at(t).cluster(filepath.Join(root, "deploy/compose/cluster"), "embedded")
	})
	t.Run("cluster of bmv2", func(t *testing.T) {
		require(t, "simple_switch_grpc")
		d := at(t)
		d.bmv2Image()
		d.cluster(filepath.Join(root, "deploy/compose/cluster"), "bmv2")
	})
	t.Run("bmv2", func(t *testing.T) {
		require(t, "simple_switch_grpc")
		d := at(t)
		d.bmv2Image()
		p := d.up(root, "bmv2", 1)
		p.apply(p.urls[0], figureGroup)
		p.traffic(1<<20, receiverServices...)
	})
}

// cluster kills one of three controllers after the other, stops each beyond its lease, and cuts
// each off from all other controllers and from the switches. Traffic continues, the group keeps its
// tree, and every controller comes back.
func (d *docker) cluster(dir, profile string) {
	d.t.Helper()
	p := d.up(dir, profile, 3)
	service := func(i int) string {
		if profile == "bmv2" {
			return fmt.Sprintf("c%d-bmv2", i)
		}
		return fmt.Sprintf("c%d", i)
	}
	const octets = 1 << 20
	p.apply(p.urls[1], "group.yaml")
	p.traffic(octets, receiverServices...)
	before := p.group(p.urls[1])
	same := func(what, url string) {
		d.t.Helper()
		p.traffic(octets, receiverServices...)
		if after := p.group(url); after.Status.Epoch != before.Status.Epoch {
			d.t.Errorf("%s: the group has epoch %d, and had %d", what, after.Status.Epoch,
				before.Status.Epoch)
		}
	}
	awaitDecider := func(what string, urls ...string) {
		d.t.Helper()
		if err := await(d.t.Context(), what, func() error {
			for _, url := range urls {
				var list struct{ Items []api.Controller }
				if err := get(d.t.Context(), url+"/v1/controllers", &list); err != nil {
					return err
				}
				deciders := 0
				for _, c := range list.Items {
					if c.Role == api.RoleDecider {
						deciders++
					}
				}
				if deciders != 1 {
					return fmt.Errorf("%s sees %d controllers decide", url, deciders)
				}
			}
			return nil
		}); err != nil {
			d.t.Fatal(err)
		}
	}

	p.crash(service(1))
	awaitDecider("after a kill", p.urls[1], p.urls[2])
	same("after a kill", p.urls[2])
	p.healthy()

	stopped, err := p.find(service(2))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.Kill(stopped.State.Pid, syscall.SIGSTOP); err != nil {
		d.t.Fatal(err)
	}
	awaitDecider("while one is stopped", p.urls[0], p.urls[2])
	same("while one is stopped", p.urls[0])
	if err := syscall.Kill(stopped.State.Pid, syscall.SIGCONT); err != nil {
		d.t.Fatal(err)
	}
	p.healthy()
	same("after it went on", p.urls[1])

	network := strings.TrimSpace(p.command(dir, "docker", "network", "ls", "-q", "--filter",
		"name=wefttest_management"))
	id := strings.TrimSpace(p.compose("ps", "-q", service(3)))
	p.command(dir, "docker", "network", "disconnect", network, id)
	awaitDecider("while one is cut off", p.urls[0], p.urls[1])
	same("while one is cut off", p.urls[0])
	p.command(dir, "docker", "network", "connect", "--ip", "10.96.0.12", network, id)
	p.healthy()
	same("after it is back", p.urls[0])
}

// bmv2Image makes an image of this machine's simple_switch_grpc with what it needs.
func (d *docker) bmv2Image() {
	d.t.Helper()
	dir := d.t.TempDir()
	script := `mkdir -p root/bin root/lib root/lib64 root/tmp
for p in simple_switch_grpc sh grep; do cp -L "$(command -v $p)" root/bin/; done
ldd root/bin/* | grep -o '/[^ ]*so[^ ]*' | sort -u | while read -r l; do cp -L "$l" root/lib/; done
cp -L /lib64/ld-linux* root/lib64/ 2>/dev/null
printf 'FROM scratch\nCOPY root /\nENV LD_LIBRARY_PATH=/lib PATH=/bin\n' >Dockerfile`
	d.command(dir, "sh", "-c", script)
	d.command(dir, "docker", "build", "-q", "-t", "weft-test-bmv2", ".")
}

// TestContainerlab runs Figure 1 with containerlab, which checks the file by its own rules.
func TestContainerlab(t *testing.T) {
	asked(t, "containerlab")
	require(t, "docker", "containerlab", "make")
	d := newDocker(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	d.command(root, "make", "-s", "image", "IMAGE=weft")
	dir := write(t, lab.Figure1(), export.Options{Tool: export.Containerlab})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := run(ctx, dir, d.env, "containerlab", "destroy", "-t", "figure1.clab.yml",
			"--cleanup"); err != nil {
			t.Error(err)
		}
	})
	d.command(dir, "containerlab", "deploy", "-t", "figure1.clab.yml")
	const url = "http://127.0.0.1:8080"
	if err := await(t.Context(), "the controller", func() error {
		return get(t.Context(), url+"/readyz", &struct{}{})
	}); err != nil {
		t.Fatal(err)
	}
	d.command(dir, weft(t), "apply", "-f", "group.yaml", "--wait", "60s", "--server", url)
	logs := func(host string) ([]byte, error) {
		out, err := run(t.Context(), dir, d.env, "docker", "logs", "--tail", "5", host)
		return []byte(out), err
	}
	if err := more(t.Context(), logs, 2<<20, receiverServices...); err != nil {
		t.Fatal(err)
	}
}
