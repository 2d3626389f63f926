//go:build linux

package libmrc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuide runs the commands printed in docs/libmrc.md, in separate namespaces: from "make libmrc"
// to a program that writes memory of another program.
func TestGuide(t *testing.T) {
	dir := built(t)
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(repository, "docs", "libmrc.md"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.Symlink(filepath.Join(repository, "host"), filepath.Join(work, "host")); err != nil {
		t.Fatal(err)
	}
	script := `set -e
mount -t tmpfs none /run
ip link set lo up
`
	ran := 0
	for _, block := range blocks(string(text)) {
		switch {
		case strings.HasPrefix(block, "make libmrc\n"):
			block = "make -s -C host/libmrc OUT=$PWD/bin/libmrc\n"
		case strings.Contains(block, "ip netns add"):
		case strings.Contains(block, "./write"):
			block = strings.ReplaceAll(block, " &\n", " & server=$!\n") + "wait $server\n"
		case !strings.HasPrefix(block, "gcc"):
			continue
		}
		script += strings.ReplaceAll(block, "/tmp/", work+"/")
		ran++
	}
	if ran < 4 {
		t.Fatalf("%d blocks of commands:\n%s", ran, script)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
		"--mount-proc", "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1000000 octets are right") {
		t.Errorf("%v\n%s\n%s", err, script, out)
	}
}

// blocks are what stands between fences of a page.
func blocks(page string) (all []string) {
	for i, part := range strings.Split(page, "\n```") {
		if i%2 == 1 {
			_, commands, _ := strings.Cut(part, "\n")
			all = append(all, commands+"\n")
		}
	}
	return all
}
