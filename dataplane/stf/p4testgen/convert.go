package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	addition = regexp.MustCompile(`^(?:add|setdefault) "([^"]*)"`)
	reading  = regexp.MustCompile(`_\d+$`) // which, of a register that is read several times
	argument = regexp.MustCompile(`"(\w+)":(0x[0-9A-Fa-f]+)`)
)

// convert turns a case of a model into a case of the program: it drops comments, and replaces
// entries of tables found only in the model by the objects that they stand for.
func convert(text string) (string, error) {
	var b strings.Builder
	nodes := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := addition.FindStringSubmatch(line)
		if m == nil {
			b.WriteString(line + "\n")
			continue
		}
		table := m[1][strings.LastIndexByte(m[1], '.')+1:]
		register, stored := strings.CutPrefix(table, storedPrefix)
		register = reading.ReplaceAllString(register, "")
		if table != copiesTable && table != copiesOfCopy && !stored {
			b.WriteString(strings.ReplaceAll(line, modelProgram, programPrefix) + "\n")
			continue
		}
		v := map[string]uint64{}
		for _, a := range argument.FindAllStringSubmatch(line, -1) {
			n, err := strconv.ParseUint(a[2], 0, 64)
			if err != nil {
				return "", fmt.Errorf("%s: %w", line, err)
			}
			v[a[1]] = n
		}
		if stored {
			fmt.Fprintf(&b, "register_write %s %d %d\n", register, v["index"], v["value"])
			continue
		}
		fmt.Fprintf(&b, "mc_mgrp_create %d\nmc_node_create %d %d\nmc_node_associate %[1]d %[4]d\n",
			v["group"], v["to_rid"], v["to_port"], nodes)
		nodes++
	}
	return b.String(), nil
}
