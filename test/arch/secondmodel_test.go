package arch

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// aboveAPI are the folders that may use the types of package api. Folders such as topology and
// hostapi may not use api: a type shared with these folders belongs to their own model.
var aboveAPI = []string{"access", "cmd", "controller", "lab", "northbound", "service",
	"telemetry"}

// alike lists types outside of api that share most field names with a type in api, and the reasons.
var alike = map[string]string{
	"access.Principal": "who asks, with what it may do; the API shows one's " +
		"own session",
	"service/cluster.Member": "the record of a controller in the store; the API " +
		"adds what it does",
	"cmd/weft.resource":                  "a document of any kind, with its place in a file",
	"controller/job/layout.Communicator": "its ranks one by one; the API has ranges",
	"controller/job/lease.Path":          "the ledger's, with nodes and the ends that must be up",
	"controller/job/lease.ranked":        "has a Path",
	"controller/job/lease.Request":       "the ledger's, with its name",
	"controller/job/ready.Other":         "a fact of which a blocker may be made",
	"controller/mrc.Target":              "the core's, with nodes by id and links by one direction",
	"controller/mrc/selfprobe.Gap":       "what a plan lacks, by the place of a link",
	"controller/mrc.drain":               "has a Target",
	"lab.FlowConfig":                     "what a test or a demo sends",
	"lab/simulate.Maintenance":           "times from the start of jobs, objects by names of a fabric",
	"lab/simulate.Message":               "octets from rank to rank, not places of a network",
	"controller/mrc.Override": "the spec as the core applies it, with the mode " +
		"that hosts are sent",
	"controller/mrc/ev.Hop": "a step with the links of a topology; the API has " +
		"their names",
	"controller/multicast/tree.PlacedBranch": "the decision that is stored and makes entities; " +
		"the API shows less",
	"controller/multicast/tree.PlacedNode": "the decision that is stored and makes entities; " +
		"the API shows less",
	"controller/multicast/tree.PlacedReceiver": "the decision that is stored and makes entities; " +
		"the API shows less",
	"controller/multicast/tree.Placement": "the decision that is stored and makes entities; " +
		"the API shows less",
	"controller/pfc/tunnel.Marks":       "the core's, in cells of the switch",
	"controller/pfc/tunnel.PFCPolicy":   "the core's, with nodes in the place of names",
	"controller/pfc/tunnel.Report":      "a packet that a switch sends",
	"controller/pfc/tunnel.pfcPolicy":   "has a PFCPolicy",
	"controller/pfc/tunnel.report":      "has a Report",
	"controller/pfc/tunnel.Segment":     "the core's, with nodes in the place of names",
	"controller/pfc/tunnel.Site":        "the core's, with nodes in the place of names",
	"controller/pfc/tunnel.Tenant":      "the core's, with nodes in the place of names",
	"controller/pfc/tunnel.PathRequest": "the core's, with nodes in the place of names",
	"controller/resource.Item":          "what is kept of a resource of any kind",
	"controller/resource.Stored":        "what is kept of a resource of any kind",
	"controller/resource.record":        "what is kept of a resource of any kind",
	"telemetry.History":                 "values of anything, without kind and name",
}

// structOf is a struct type with the exported names of its fields. An embedded type from the same
// folder counts as its fields.
type structOf struct {
	name   string // folder.Type
	fields map[string]bool
}

// TestOneModel fails on a second model of REST data: a struct type outside of api that shares most
// of its exported field names with a type in api.
func TestOneModel(t *testing.T) {
	first := structsIn(t, "api")
	used := map[string]bool{}
	for _, folder := range aboveAPI {
		for _, s := range structsIn(t, folder) {
			for _, of := range first {
				n := inCommon(s.fields, of.fields)
				if !isSecond(n, len(s.fields), len(of.fields)) {
					continue
				}
				if alike[s.name] == "" {
					t.Errorf("%s has %d of its %d fields in common with %s: return the type of api, or say in "+
						"alike why there are two", s.name, n, len(s.fields), of.name)
				}
				used[s.name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(alike)) {
		if !used[name] {
			t.Errorf("alike: %s is like no type of api: delete the line", name)
		}
	}
}

// isSecond reports whether n common field names make a type with own fields a second model of an
// api type with all fields: n must exceed half of own, and must exceed half of all or be many.
func isSecond(n, own, all int) bool {
	return n >= 3 && 2*n > own && (n >= 5 || 2*n > all)
}

func inCommon(a, b map[string]bool) (n int) {
	for f := range a {
		if b[f] {
			n++
		}
	}
	return n
}

// structsIn returns the struct types of a folder and those below it, without generated code and
// tests.
func structsIn(t *testing.T, folder string) (out []structOf) {
	t.Helper()
	var declared []*ast.TypeSpec
	places := map[*ast.TypeSpec]string{}
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry,
		err error) error {
		if d != nil && d.IsDir() && d.Name() == "hostapi" {
			return filepath.SkipDir // the stream to hosts is no part of the REST API
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					declared = append(declared, ts)
					places[ts] = filepath.ToSlash(dir)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*ast.StructType{}
	for _, ts := range declared {
		if s, ok := ts.Type.(*ast.StructType); ok {
			types[places[ts]+"."+ts.Name.Name] = s
		}
	}
	for name, s := range types {
		fields := map[string]bool{}
		addFields(fields, name[:strings.LastIndex(name, ".")], s, types)
		out = append(out, structOf{name, fields})
	}
	slices.SortFunc(out, func(a, b structOf) int { return cmp.Compare(a.name, b.name) })
	return out
}

func addFields(fields map[string]bool, dir string, s *ast.StructType,
	types map[string]*ast.StructType) {
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				fields[n.Name] = true
			}
		}
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && types[dir+"."+id.Name] != nil {
			addFields(fields, dir, types[dir+"."+id.Name], types)
		}
	}
}

// TestFindsSecondModels: the former MRC statuses of the core count as second models; a type that
// merely shares a name or two does not.
func TestFindsSecondModels(t *testing.T) {
	set := func(names string) map[string]bool {
		out := map[string]bool{}
		for _, n := range strings.Fields(names) {
			out[n] = true
		}
		return out
	}
	of := map[string]map[string]bool{}
	for _, s := range structsIn(t, "api") {
		of[s.name] = s.fields
	}
	for _, c := range []struct {
		fields, like string
		second       bool
	}{
		{"ID Name Tier Planes Links DeniedLinks Present Drains", "api.NodeStatus", true},
		{"Plane Links DeniedLinks Drains", "api.PlaneStatus", true},
		{"ID From To Plane FromPort ToPort Phase Cause Since Until Drained Denied Drains",
			"api.LinkStatus", true},
		{"Links Loss Confidence Sent Lost Paths From To End Since Denied Why", "api.Suspect", true},
		{"Node Plane Denied", "api.LinkStatus", false},
		{"Name Sent Lost Active Denied AssumedBad", "api.EVProfileStatus", false},
	} {
		if of[c.like] == nil {
			t.Fatalf("there is no %s", c.like)
		}
		own := set(c.fields)
		n := inCommon(own, of[c.like])
		if got := isSecond(n, len(own), len(of[c.like])); got != c.second {
			t.Errorf("%s is a second %s: %t, want %t (%d fields in common)", c.fields, c.like, got, c.second,
				n)
		}
	}
}
