package main

import (
	"errors"
	"strings"
	"testing"
)

// TestAgentFlags: errors about flags of "weft agent" name the flag and the right value.
func TestAgentFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                 `--backend: "", want mrc_ctl, pathfile, seg6 or simulator`,
		"--backend nic":                    `--backend: "nic", want mrc_ctl, pathfile, seg6 or simulator`,
		"--backend pathfile":               "--address is missing",
		"--backend simulator":              "--address is missing",
		"--backend seg6 --self-probes":     "--address is missing",
		"--backend pathfile --address ::1": "--path-file is missing",
		"--backend pathfile --address ::1 -i c,d,e":    "--interface has 5 names, want at most 4",
		"--backend pathfile --path-file x --address y": "address",
		"--backend mrc_ctl --library-program nosuch0":  "nosuch0",
		"--backend seg6": "--gateway has 0 addresses, want 2",
		"--backend seg6 --gateway fe80::1,192.0.2.1": `--gateway: "192.0.2.1", want an IPv6 address`,
		"--backend seg6 --gateway fe80::1,fe80::1":   "interface nosuch0",
	} {
		c := newAgent(environment{stderr: &strings.Builder{}, stdout: &strings.Builder{}})
		c.SetArgs(append(strings.Fields("--name h1 --controller 192.0.2.1:9400 -i nosuch0,nosuch1"),
			strings.Fields(strings.Replace(args, "::1 -i", "::1 --path-file x -i", 1))...))
		c.SilenceUsage, c.SilenceErrors = true, true
		err := c.ExecuteContext(t.Context())
		var usage *usageError
		if err == nil || !strings.Contains(err.Error(), want) ||
			errors.As(err, &usage) == strings.Contains(want, "nosuch0") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
