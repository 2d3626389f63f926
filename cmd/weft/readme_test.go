package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/test/speech"
)

// unprompted returns the commands of a code block without prompts, without its comments.
func unprompted(text, heading string) (out []documentedCommand) {
	_, text, _ = strings.Cut(text, heading)
	_, text, _ = strings.Cut(text, "```\n")
	text, _, _ = strings.Cut(text, "```")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		out = append(out, documentedCommand{line: strings.TrimSpace(line), output: "…"})
	}
	return out
}

// TestReadmeInOneShell runs every command of the README as printed, in order, in one shell with a
// separate home: each command must succeed, and print the README's output. TestDocumentedExamples
// gives each lab a separate API instead, and so misses the effects of a command on the next. The
// test waits for nothing between the commands. For "make demo" the test runs
// only its second half, the demo, since the program is already built; the test leaves out "make
// test", which runs this test.
func TestReadmeInOneShell(t *testing.T) {
	processes(t)
	if exec.Command("unshare", "-n", "ip", "link").Run() != nil {
		t.Skip("the labs use fixed ports: it needs a network namespace, that is unshare, ip and " +
			"CAP_SYS_ADMIN")
	}
	program, err := exec.LookPath("weft")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(folder, "bin", "weft")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "Makefile"),
		[]byte("demo:\n\t@bin/weft demo multicast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := document(t, "README.md")
	all := append(unprompted(text, "## Try it"), documentedCommands(text)...)
	if len(all) < 14 {
		t.Fatalf("%d commands", len(all))
	}
	var script strings.Builder
	script.WriteString("set -m\nip link set lo up\n")
	for i, c := range all {
		to := fmt.Sprintf(" >out%d 2>err%d", i, i)
		switch lab, background := strings.CutSuffix(c.line, " &"); {
		case c.line == "make test":
			fmt.Fprintf(&script, "echo 0 >status%d; : >out%d\n", i, i)
		case background:
			fmt.Fprintf(&script, "%s%s &\nkill -0 $!; echo $? >status%d; : >out%d\n", lab, to, i, i)
		case c.input != "": // cat > FILE
			fmt.Fprintf(&script, "%s <<END\n%sEND\necho $? >status%d; : >out%d\n", c.line, c.input, i, i)
		default:
			fmt.Fprintf(&script, "%s%s\necho $? >status%d\n", c.line, to, i)
		}
	}
	shell := exec.CommandContext(t.Context(), "unshare", "-n", "bash", "-c", script.String())
	shell.Dir = folder
	speech.Of(t, shell)
	shell.Env = append(os.Environ(), "HOME="+folder, "XDG_CONFIG_HOME=", "WEFT_SERVER=", "WEFT_TOKEN=",
		"MAKELEVEL=", "MAKEFLAGS=", "MFLAGS=") // make says less where it is not run by make
	shell.WaitDelay = time.Minute
	if err := shell.Run(); err != nil {
		t.Logf("the shell: %v", err) // its status is that of the last command
	}
	read := func(name string, i int) string {
		text, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(name, i)))
		if err != nil {
			return ""
		}
		return string(text)
	}
	for i, c := range all {
		out := read("out", i)
		if status := strings.TrimSpace(read("status", i)); status != "0" {
			t.Errorf("$ %s\nstatus %q\n%.2000s%.2000s", c.line, status, out, read("err", i))
			continue
		}
		words := strings.Fields(c.line)
		figures := len(words) > 1 && (words[1] == "demo" || words[1] == "trace")
		if part := differs(out, c.output, figures); part != "" {
			t.Errorf("$ %s\n%.4000s\nthe README says\n%s\nof which this is not there:\n%s", c.line, out,
				c.output, part)
		}
	}
}
