package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// slurmScript runs a script from deploy/slurm as slurmctld does, for a requeued job on two nodes,
// with stand-ins for the programs that the script calls. A call that begins with an entry of fails
// exits with status 1; programs in missing do not exist. The environment contains the variables in
// set and lacks the variables in unset. slurmScript returns the calls and the script's exit status.
func slurmScript(t *testing.T, name string, fails, missing, set, unset []string) ([]string, int) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	pattern := "''"
	for _, f := range fails {
		pattern += fmt.Sprintf("|'%s'*", f)
	}
	for _, program := range []string{"weft", "scontrol", "logger"} {
		text := fmt.Sprintf(`#!%s
line="%s $*"
if [ "$2" = -f ]; then
	while read -r key value; do
		if [ "$key" = state: ]; then line="$line $value"; fi
	done
fi
echo "$line" >>'%s/calls'
case $line in %s) echo "$line failed" >&2; exit 1 ;; esac
`, sh, program, dir, pattern)
		if slices.Contains(missing, program) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), sh, filepath.Join(root, "deploy/slurm", name))
	cmd.Env = slices.DeleteFunc(append([]string{"PATH=" + dir, "WEFT_SLURM_ENV=" + dir + "/none",
		"SLURM_JOB_ID=7", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=h[1-2]",
		"SLURM_JOB_RESTART_COUNT=1"}, set...), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(unset, name)
	})
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	t.Logf("%s: status %d after\n%s%s", name, cmd.ProcessState.ExitCode(), text, out)
	return strings.Split(strings.TrimSpace(string(text)), "\n"), cmd.ProcessState.ExitCode()
}

// TestPrologFailsClosed: no job starts if a deciding program fails or is missing, or if slurmctld
// has not described the job.
func TestPrologFailsClosed(t *testing.T) {
	decide := []string{"weft apply -f - placed", "weft wait job slurm-7 --for ready --timeout 2m",
		"weft apply -f - running"}
	calls, status := slurmScript(t, "prolog.sh", nil, nil, nil, nil)
	if want := append(slices.Clone(decide), "scontrol --oneliner show job 7",
		"scontrol update JobId=7 AdminComment="); status != 0 || !slices.Equal(calls, want) {
		t.Errorf("status %d after %q, want 0 after %q", status, calls, want)
	}
	forgets := "weft delete job --ignore-missing slurm-7"
	for i, call := range decide {
		calls, status := slurmScript(t, "prolog.sh", []string{call}, nil, nil, nil)
		reason := "weft: not started: " + call + " failed"
		if want := append(slices.Clone(decide[:i+1]), forgets, "scontrol notify 7 "+reason,
			"scontrol --oneliner show job 7", "scontrol update JobId=7 AdminComment="+reason,
			"logger -t weft-prolog JobId=7: status 1: "+reason); status != 1 ||
			!slices.Equal(calls, want) {
			t.Errorf("without %q: status %d after %q, want 1 after %q", call, status, calls, want)
		}
		// Commands that report the failure may fail too.
		for _, next := range []string{"weft delete", "scontrol", "logger"} {
			if _, status := slurmScript(t, "prolog.sh", []string{call, next}, nil, nil, nil); status != 1 {
				t.Errorf("without %q and %q: status %d", call, next, status)
			}
		}
	}
	if _, status := slurmScript(t, "prolog.sh", nil, []string{"weft"}, nil, nil); status == 0 {
		t.Error("the job starts without weft")
	}
	// They are not asked whether it starts.
	missing := []string{"scontrol", "logger"}
	if _, status := slurmScript(t, "prolog.sh", nil, missing, nil, nil); status != 0 {
		t.Errorf("without %q: status %d", missing, status)
	}
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"} {
		if _, status := slurmScript(t, "prolog.sh", nil, nil, nil, []string{name}); status == 0 {
			t.Errorf("the job starts without %s", name)
		}
	}
	for _, wrong := range []string{"SLURM_JOB_NUM_NODES=x y", "WEFT_NICS=x y",
		"SLURM_JOB_NUM_NODES="} {
		if _, status := slurmScript(t, "prolog.sh", nil, nil, []string{wrong}, nil); status == 0 {
			t.Errorf("the job starts with %s", wrong)
		}
	}
	// A job on one node needs no fabric.
	one := []string{"SLURM_JOB_NUM_NODES=1"}
	for _, script := range []string{"prolog.sh", "epilog.sh"} {
		calls, status := slurmScript(t, script, []string{"weft", "scontrol"}, nil, one, nil)
		if status != 0 || calls[0] != "" {
			t.Errorf("%s of one node: status %d after %q", script, status, calls)
		}
	}
}

// TestEpilog: the epilog makes Weft forget the job, or logs the reason for a failure to the system
// log.
func TestEpilog(t *testing.T) {
	forgets := "weft delete job --ignore-missing slurm-7"
	calls, status := slurmScript(t, "epilog.sh", nil, nil, nil, nil)
	if want := []string{forgets}; status != 0 || !slices.Equal(calls, want) {
		t.Errorf("status %d after %q, want 0 after %q", status, calls, want)
	}
	calls, status = slurmScript(t, "epilog.sh", []string{"weft"}, nil, nil, nil)
	if want := []string{forgets, "logger -t weft-epilog JobId=7: weft has slurm-7 still: " + forgets +
		" failed"}; status != 1 || !slices.Equal(calls, want) {
		t.Errorf("status %d after %q, want 1 after %q", status, calls, want)
	}
	if _, status := slurmScript(t, "epilog.sh", nil, []string{"weft", "logger"}, nil,
		nil); status != 1 {
		t.Errorf("without weft: status %d, want 1", status)
	}
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_JOB_NUM_NODES"} {
		if _, status := slurmScript(t, "epilog.sh", nil, nil, nil, []string{name}); status == 0 {
			t.Errorf("without %s: status 0", name)
		}
	}
}
