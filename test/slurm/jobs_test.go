package slurm

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// jobsBed runs a Slurm cluster of two nodes with prolog and epilog from deploy/slurm, and the API
// for these scripts.
type jobsBed struct {
	*cluster
	ctl *northboundtest.Controller
	// ready reports whether the fabric is ready for jobs, broken makes the API answer with 500.
	ready, broken atomic.Bool
	mu            sync.Mutex
	states        []api.JobState // that jobs were put with
	env           string         // slurm.env
	out           string         // what programs of jobs append to
}

func newJobsBed(t *testing.T) *jobsBed {
	t.Helper()
	b := &jobsBed{ctl: northboundtest.NewController(nil)}
	b.ctl.Jobs.Check = nil
	b.ctl.Jobs.Show = func(j *api.Job, _ bool) {
		if b.ready.Load() {
			j.Status.Conditions.Set(api.Ready, true, api.ReasonGo, "", northboundtest.Began)
		} else {
			j.Status.Conditions.Set(api.Ready, false, api.ReasonBlocked, "h2: 2 of 2 ports down",
				northboundtest.Began)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.states = append(b.states, j.Spec.State)
	}
	server, err := northbound.New(northbound.DefaultConfig(), b.ctl,
		northbound.NewEvents(16, northboundtest.Began))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.broken.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		server.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "weft"),
		"github.com/weft-sdn/weft/cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	scripts, err := filepath.Abs("../../deploy/slurm")
	if err != nil {
		t.Fatal(err)
	}
	b.env, b.out = filepath.Join(bin, "slurm.env"), filepath.Join(bin, "out")
	t.Setenv("WEFT_SLURM_ENV", b.env)
	nodes := fmt.Sprintf("SlurmdSpoolDir=%[1]s/%%n\nSlurmdPidFile=%[1]s/%%n.pid\nReturnToService=2\n",
		bin)
	for _, name := range []string{"prolog", "epilog"} {
		// slurmctld starts scripts with an environment of its own.
		script := fmt.Sprintf("#!/bin/sh\nexport WEFT_SLURM_ENV=%s\nexec %s/%s.sh\n", b.env, scripts,
			name)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		nodes += fmt.Sprintf("%sSlurmctld=%s/%s\n", strings.ToUpper(name[:1])+name[1:], bin, name)
	}
	names := []string{"h1", "h2"}
	for _, name := range names {
		nodes += fmt.Sprintf("NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d "+
			"State=UNKNOWN\n", name, freePort(t))
	}
	b.cluster = start(t, "SwitchName=fabric Nodes=h[1-2]\n", nodes)
	b.settings("PATH="+bin+":$PATH", "SLURM_CONF="+filepath.Join(b.dir, "slurm.conf"),
		"WEFT_SERVER="+web.URL, "WEFT_WAIT=300ms")
	for _, name := range names {
		run(t, "slurmd", "-D", "-N", name)
	}
	for _, name := range names {
		b.until(func() error {
			if n := b.node(name); fmt.Sprint(n.State) != "[IDLE]" {
				return fmt.Errorf("%+v", n)
			}
			return nil
		})
	}
	return b
}

// settings writes slurm.env.
func (b *jobsBed) settings(lines ...string) {
	b.t.Helper()
	if err := os.WriteFile(b.env, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// client runs a client of Slurm for a job on two nodes, and returns what it prints.
func (b *jobsBed) client(program string, args ...string) (string, error) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), program, append([]string{"-N2"}, args...)...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	b.t.Logf("%s %v: %v: %s", program, args, err, out)
	return string(out), err
}

// ran returns how many programs of jobs have run since the last call.
func (b *jobsBed) ran() int {
	b.t.Helper()
	text, err := os.ReadFile(b.out)
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	os.Remove(b.out)
	return strings.Count(string(text), "\n")
}

// forgotten waits until Weft has no job, and returns the states that jobs had.
func (b *jobsBed) forgotten() []api.JobState {
	b.t.Helper()
	b.until(func() error {
		b.ctl.Mu.Lock()
		defer b.ctl.Mu.Unlock()
		if n := len(b.ctl.Jobs.Items); n > 0 {
			return fmt.Errorf("Weft has %d jobs", n)
		}
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	had := b.states
	b.states = nil
	return had
}

// job waits until a job of Slurm has fields.
func (b *jobsBed) job(id string, fields ...string) {
	b.t.Helper()
	b.until(func() error {
		text := b.must("--oneliner", "show", "job", id)
		for _, field := range fields {
			if !strings.Contains(text, " "+field+" ") {
				return fmt.Errorf("job %s lacks %q: %s", id, field, text)
			}
		}
		return nil
	})
}

// TestJobs: with slurmctld, slurmd, srun, salloc and sbatch, a job runs when the fabric is ready,
// and its user is told why when it does not start; Weft forgets every job that is over.
func TestJobs(t *testing.T) {
	if os.Getenv("WEFT_INTEROP") == "" {
		t.Skip("WEFT_INTEROP is not set: make interop runs it")
	}
	needs(t, "slurmctld", "slurmd", "scontrol", "srun", "salloc", "sbatch", "scancel", "go")
	b := newJobsBed(t)
	program := "echo ran >>" + b.out
	srun := []string{"sh", "-c", program}

	b.ready.Store(true)
	if _, err := b.client("srun", srun...); err != nil || b.ran() != 2 {
		t.Fatalf("a job that can start did not run: %v", err)
	}
	if had := b.forgotten(); fmt.Sprint(had) != "[placed running]" {
		t.Errorf("the job was %v", had)
	}

	b.ready.Store(false)
	why := "not ready after 300ms: Ready: Blocked h2: 2 of 2 ports down"
	for _, program := range []string{"srun", "salloc"} {
		out, err := b.client(program, srun...)
		if err == nil || !strings.Contains(out, program+": weft: not started: job slurm-") ||
			!strings.Contains(out, why) {
			t.Errorf("%s does not say why it did not start: %v, %s", program, err, out)
		}
	}
	out, err := b.client("sbatch", "--parsable", "--wrap", program)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(out)
	reason := "AdminComment=weft: not started: job slurm-" + id + ": " + why
	b.job(id, "JobState=PENDING", "Restarts=1", reason)
	b.must("update", "jobid="+id, "starttime=now")
	b.job(id, "JobState=PENDING", "Restarts=2", reason)
	if n := b.ran(); n != 0 {
		t.Errorf("%d programs ran without the fabric", n)
	}
	b.forgotten()
	b.ready.Store(true)
	b.must("update", "jobid="+id, "starttime=now")
	b.job(id, "JobState=COMPLETED")
	if text := b.must("show", "job", id); b.ran() != 1 || strings.Contains(text, "weft: ") {
		t.Errorf("the job that was queued again has %s", text)
	}
	b.forgotten()

	// Text of administrators stays.
	b.ready.Store(false)
	out, err = b.client("sbatch", "--parsable", "--begin=now+1hour", "--wrap", program)
	if err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(out)
	b.must("update", "jobid="+id, "admincomment=ours", "starttime=now")
	b.job(id, "JobState=PENDING", "Restarts=1", "AdminComment=ours")
	cancel(t, id)

	// A job that is cancelled while it waits for the fabric is forgotten.
	text, err := os.ReadFile(b.env)
	if err != nil {
		t.Fatal(err)
	}
	well := strings.Split(strings.TrimSpace(string(text)), "\n")
	b.settings(append(well, "WEFT_WAIT=1h")...)
	if out, err = b.client("sbatch", "--parsable", "--wrap", program); err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(out)
	b.until(func() error {
		b.ctl.Mu.Lock()
		defer b.ctl.Mu.Unlock()
		if _, ok := b.ctl.Jobs.Items["slurm-"+id]; !ok {
			return fmt.Errorf("Weft has no job slurm-%s", id)
		}
		return nil
	})
	cancel(t, id)
	b.forgotten()

	// Nothing starts when Weft cannot be asked.
	b.ready.Store(true)
	gone := httptest.NewServer(nil)
	gone.Close()
	for what, more := range map[string]string{"no weft": "PATH=/usr/bin:/bin",
		"no controller": "WEFT_SERVER=" + gone.URL, "no CA": "WEFT_CA=/nowhere",
		"no slurm.conf": "SLURM_CONF=/nowhere WEFT_SERVER=" + gone.URL, "errors": ""} {
		b.settings(append(well, more)...)
		b.broken.Store(what == "errors")
		if _, err := b.client("srun", srun...); err == nil || b.ran() != 0 {
			t.Errorf("a job starts with %s", what)
		}
		b.broken.Store(false)
	}
}

// cancel cancels a job.
func cancel(t *testing.T, id string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "scancel", id).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
}
