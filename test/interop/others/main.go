// Command others runs the tests that use installed third-party programs in place of this
// repository's stand-ins, and lists the missing programs.
//
//	make interop-others
//
// The exit status is 1 if a test failed. CONTRIBUTING.md lists the programs and their stand-ins.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// program is one of others, and the tests that run it.
type program struct{ name, packages, run string }

var programs = []program{
	{"generic_config_updater of SONiC", "./southbound/sonic/...",
		"^(TestRealUpdater|TestUpdaters|TestPlanned)$"},
	{"yanglint and the YANG modules of SONiC", "./southbound/target/sonic/...", "^TestYANG$"},
	{"simple_switch of BMv2", "./dataplane/stf", "OnBMv2$"},
	{"simple_switch_grpc of BMv2", "./southbound ./dataplane/p4rt ./test/fabric ./test/figure1",
		"^(TestBMv2|TestAgainstBMv2|TestFigure1OnBMv2)$"},
	{"slurmctld and scontrol of Slurm", "./test/slurm ./internal/hostlist",
		"^(TestSlurm|TestAgainstSlurm)$"},
	{"gnmic", "./dataplane/gnmi", "^TestGNMIc$"},
	{"promtool of Prometheus", "./test/deploy", "^TestRules$"},
	{"tshark of Wireshark", "./clients/wireshark", "^TestDissector$"},
	{"ev_expansion of OCP", "./api/hostapi", "^TestExpandsAsOCP$"},
}

// verdict is what go test says of a test; the reason of a skip stands before the verdicts.
var verdict = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

func main() {
	failed := false
	for _, p := range programs {
		args := append([]string{"test", "-count=1", "-v", "-run", p.run}, strings.Fields(p.packages)...)
		out, err := exec.Command("go", args...).CombinedOutput()
		said, failure := summary(string(out), err)
		fmt.Printf("%-40s %s\n", p.name, said)
		if failure {
			failed = true
			fmt.Printf("%s\n", out)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// summary returns the results of a program's tests, and whether a test failed.
func summary(out string, err error) (said string, failed bool) {
	if err != nil {
		return "failed: " + err.Error(), true
	}
	passed := 0
	var lacking string
	for _, m := range verdict.FindAllStringSubmatchIndex(out, -1) {
		switch out[m[2]:m[3]] {
		case "PASS":
			passed++
		case "SKIP":
			lines := strings.Split(strings.TrimSpace(verdict.ReplaceAllString(out[:m[0]], "---")), "\n")
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "---") })
			lacking = strings.TrimSpace(lines[len(lines)-1])
		}
	}
	switch {
	case lacking != "":
		return fmt.Sprintf("lacking: %s", lacking), false
	case passed == 0:
		return "no test has this name", true
	}
	return fmt.Sprintf("ran: %d tests", passed), false
}
