package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

const (
	auditPath       = "/v1/audit"
	auditChainsPath = auditPath + "/chains"
)

func newAudit(env environment) *cobra.Command {
	var out format
	var identity, path, outcome string
	limit := 100
	c := &cobra.Command{
		Use: "audit", Short: "Show who changed what",
		Long: `Shows the latest records of the audit log: changes, refusals, failed sign-ins and reads of
secrets. "-o json" has all fields, with the specs before and after.`,
		Args: arguments(0, 0),
	}
	f := c.Flags()
	f.StringVar(&identity, "identity", "", "only requests of this principal")
	f.StringVar(&path, "path", "", "only requests whose paths begin with this")
	f.StringVar(&outcome, "outcome", "", "only success, or only failure")
	f.IntVar(&limit, "limit", limit, "records at most, 1 to 1000")
	flagValues(c, "outcome", values(string(api.AuditSuccess), string(api.AuditFailure)))
	out.register(c)
	at(env, c, func(cmd *cobra.Command, rest *client.Client, _ []string) error {
		query := url.Values{"latest": {"true"}, "limit": {strconv.Itoa(limit)}}
		for name, value := range map[string]string{"identity": identity, "path": path,
			"outcome": outcome} {
			if value != "" {
				query.Set(name, value)
			}
		}
		a, err := rest.Get(cmd.Context(), auditPath, query)
		if err != nil {
			return err
		}
		var list api.List[api.AuditRecord]
		if err := a.Decode(&list); err != nil {
			return err
		}
		return out.write(env.stdout, a.Body, sure(func(w *bytes.Buffer) {
			auditTable(w, list.Items)
		}))
	})
	c.AddCommand(newAuditVerify(env))
	return c
}

func auditTable(w *bytes.Buffer, records []api.AuditRecord) {
	g := newGrid("TIME", "WHO", "ROLE", "FROM", "METHOD", "PATH", "OUTCOME", "DETAIL")
	for i := range records {
		r := &records[i]
		outcome := string(r.Outcome)
		if r.Status != 0 {
			outcome = strconv.Itoa(r.Status)
		}
		detail := r.Detail
		if r.Suppressed > 0 {
			detail += fmt.Sprintf(" (and %d failures that are not recorded)", r.Suppressed)
		}
		user := r.SessionInfo.User
		g.row(dayTime(r.Timestamp), dash(user.Identity), dash(user.Role), r.SessionInfo.RemoteAddress,
			r.ServiceRequest.Method, r.ServiceRequest.Path, outcome, detail)
	}
	g.writeTo(w)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// places returns what was noted of chains: in arguments, and in files of a notary.
func places(noted, files []string) (out []audit.Noted, err error) {
	for _, text := range noted {
		p, err := audit.ParseNoted(text)
		if err != nil {
			return nil, usagef("--noted %v, as audit verify prints it", err)
		}
		out = append(out, p)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		in, err := audit.ReadNoted(f, false)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(in) == 0 {
			return nil, fmt.Errorf("%s has no record that was noted", name)
		}
		out = append(out, in...)
	}
	return out, nil
}

func newAuditVerify(env environment) *cobra.Command {
	var noted, files []string
	c := &cobra.Command{
		Use: "verify", Short: "Check that no record of the audit log was changed",
		Long: `Reads the whole audit log and computes the hashes of its chains. It fails when a record was
altered, removed or put in, and when a chain is gone, or ends before a record that the cluster has
noted. Who can write to the store can write all of it anew: have the controller note the chains in
a file elsewhere (api.access.audit.noted) and give that to --noted-file, or note the lines that
this command prints, and give them to --noted the next time.`,
		Args: arguments(0, 0),
	}
	c.Flags().StringArrayVar(&files, "noted-file", nil,
		"file with records that a controller has noted; may be repeated")
	c.Flags().StringArrayVar(&noted, "noted", nil,
		"CHAIN:SEQ:HASH of a record, noted before; may be repeated")
	return at(env, c, func(cmd *cobra.Command, rest *client.Client, _ []string) error {
		had, err := places(noted, files)
		if err != nil {
			return err
		}
		chains, records, err := readAudit(cmd.Context(), rest)
		if err != nil {
			return err
		}
		var errs []error
		for _, fault := range audit.Verify(chains, records) {
			errs = append(errs, errors.New(inLine(fault)))
		}
		for _, p := range had {
			errs = append(errs, checkNoted(p, chains, records))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for _, c := range chains {
			if _, err := fmt.Fprintf(env.stdout, "%s:%d:%s\n", c.Name, c.NewestSeq,
				c.NewestHash); err != nil {
				return err
			}
		}
		fmt.Fprintf(env.stderr, "%d records in %d chains are as they were written\n", len(records),
			len(chains))
		return nil
	})
}

// checkNoted looks for a record that was noted before.
func checkNoted(p audit.Noted, chains []api.AuditChain, records []api.AuditRecord) error {
	for i := range records {
		if r := &records[i]; r.Chain == p.Chain && r.Seq == p.Seq {
			if r.Hash != p.Hash {
				return fmt.Errorf("chain %s: record %d has the hash %s, and had %s", p.Chain, p.Seq, r.Hash,
					p.Hash)
			}
			return nil
		}
	}
	for _, c := range chains {
		if c.Name == p.Chain && p.Seq < c.PrunedSeq {
			return nil // removed for its age or for room
		}
		if c.Name == p.Chain && p.Seq == c.PrunedSeq && p.Hash == c.PrunedHash {
			return nil
		}
	}
	return fmt.Errorf("chain %s: record %d, which was noted, is gone", p.Chain, p.Seq)
}

// auditAttempts bounds how often the log is read again because records were removed meanwhile.
const auditAttempts = 5

// readAudit reads all chains, as they were before their records were read.
func readAudit(ctx context.Context, rest *client.Client) ([]api.AuditChain, []api.AuditRecord,
	error) {
	for range auditAttempts {
		before, err := get[api.List[api.AuditChain]](ctx, rest, auditChainsPath)
		if err != nil {
			return nil, nil, err
		}
		items, err := rest.List(ctx, auditPath, nil)
		if err != nil {
			return nil, nil, err
		}
		after, err := get[api.List[api.AuditChain]](ctx, rest, auditChainsPath)
		if err != nil {
			return nil, nil, err
		}
		if !reflect.DeepEqual(pruned(before.Items), pruned(after.Items)) {
			continue
		}
		records := make([]api.AuditRecord, len(items.Items))
		for i, raw := range items.Items {
			if err := json.Unmarshal(raw, &records[i]); err != nil {
				return nil, nil, err
			}
		}
		chains := after.Items
		for i := range chains {
			// Records written meanwhile may be missing.
			chains[i].NewestSeq, chains[i].NewestHash, chains[i].NotedSeq, chains[i].NotedHash = 0, "", 0, ""
			for _, c := range before.Items {
				if c.Name == chains[i].Name {
					chains[i] = c
				}
			}
		}
		return chains, records, nil
	}
	return nil, nil, errors.New("records are removed from the audit log faster than it can be read")
}

// pruned returns what was removed of each chain.
func pruned(chains []api.AuditChain) map[string]uint64 {
	out := make(map[string]uint64)
	for _, c := range chains {
		out[c.Name] = c.PrunedSeq
	}
	return out
}
