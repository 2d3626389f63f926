package main

import (
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
)

func newExplain(env environment) *cobra.Command {
	return &cobra.Command{
		Use: "explain KIND[.FIELD...]", Short: "Explain the fields of documents that apply takes",
		Long: `Prints type, bounds and meaning of a field of a document.
KIND alone prints all fields of the kind's spec. It asks no controller.`,
		Example:           "  weft explain group\n  weft explain group.receivers.qpn",
		Args:              arguments(1, 1),
		ValidArgsFunction: completePath,
		RunE: func(_ *cobra.Command, args []string) error {
			return explain(env.stdout, args[0])
		},
	}
}

// explainable are the kinds that have documents.
func explainable() (names []string) {
	for _, k := range kinds {
		if k.document != nil {
			names = append(names, k.noun)
		}
	}
	return names
}

// A fieldPath is a kind, or a field of one: "group", "group.source.qpn", "group.spec.source.qpn".
type fieldPath struct {
	of     *kind
	at     string      // "spec.source"
	one    *explained  // nil: the kind itself
	fields []explained // below it
}

// resolve returns what a path names.
func resolve(path string) (*fieldPath, error) {
	name, rest, _ := strings.Cut(path, ".")
	of := documented(name)
	if of == nil {
		return nil, usagef("explain: kind is %q: want one of %s", name, strings.Join(explainable(), ", "))
	}
	spec, _ := of.document.FieldByName("Spec")
	p := &fieldPath{of: of, at: "spec", fields: fieldsOf(spec.Type)}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "spec"), ".")
	for name := range strings.SplitSeq(rest, ".") {
		if rest == "" {
			break
		}
		i := slices.IndexFunc(p.fields, func(f explained) bool { return f.name == name })
		if i < 0 {
			want := "it has no fields"
			if len(p.fields) > 0 {
				want = "want one of " + strings.Join(p.names(), ", ")
			}
			return nil, usagef("explain: %s has no field %q: %s", p.at, name, want)
		}
		p.one = &p.fields[i]
		p.at, p.fields = p.at+"."+name, fieldsOf(p.one.of)
	}
	return p, nil
}

// names returns the names of the fields below.
func (p *fieldPath) names() (names []string) {
	for i := range p.fields {
		names = append(names, p.fields[i].name)
	}
	return names
}

// completePath completes a kind, and behind a dot the fields of what is before it.
func completePath(_ *cobra.Command, args []string, begun string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dot := strings.LastIndex(begun, ".")
	if dot < 0 {
		return matching(explainable(), begun)
	}
	above, err := resolve(begun[:dot])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := above.names()
	for i := range names {
		names[i] = begun[:dot+1] + names[i]
	}
	return matching(names, begun)
}

// explain prints a kind, or a field of one.
func explain(w io.Writer, path string) error {
	p, err := resolve(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", p.of.name, p.of.Help)
	if p.one != nil {
		fmt.Fprintf(w, "\n%s  %s\n", p.at, p.one.facts)
		wrapped(w, "    ", p.one.doc)
	}
	if len(p.fields) > 0 {
		fmt.Fprintf(w, "\n%s has the fields:\n", p.at)
		explainFields(w, "  ", p.fields)
	}
	return nil
}

// explainFields prints fields, and those in them deeper.
func explainFields(w io.Writer, indent string, fields []explained) {
	for _, f := range fields {
		fmt.Fprintf(w, "%s%s  %s\n", indent, f.name, f.facts)
		wrapped(w, indent+"    ", f.doc)
		explainFields(w, indent+"  ", fieldsOf(f.of))
	}
}

// wrapped prints a text in lines of at most 100 columns.
func wrapped(w io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > 100 {
			fmt.Fprintln(w, line)
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	if len(line) > len(indent) {
		fmt.Fprintln(w, line)
	}
}

// explained is a field of a document.
type explained struct {
	name, facts, doc string
	of               reflect.Type
}

// fieldsOf returns the fields of an object, or of a list's objects; nil: no fields. The tags are
// the tags from which the OpenAPI document is made.
func fieldsOf(t reflect.Type) (fields []explained) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if scalar(t) != "" {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			fields = append(fields, fieldsOf(f.Type)...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		facts := []string{typeOf(f.Type)}
		if f.Tag.Get("format") == "ipv6" {
			facts[0] = "IPv6 " + facts[0]
		}
		if !strings.Contains(options, "omit") && f.Tag.Get("required") != "false" {
			facts = append(facts, "required")
		}
		for _, tag := range []struct{ name, text string }{
			{"enum", "one of %s"}, {"minimum", "at least %s"}, {"maximum", "at most %s"},
			{"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
			{"minItems", "items: at least %s"}, {"maxItems", "items: at most %s"},
			{"patternDescription", "%s"}, {"default", "default %s"}, {"example", "such as %s"},
		} {
			if v := f.Tag.Get(tag.name); v != "" {
				facts = append(facts, fmt.Sprintf(tag.text, strings.ReplaceAll(v, ",", ", ")))
			}
		}
		fields = append(fields, explained{name, strings.Join(facts, "; "), f.Tag.Get("doc"), f.Type})
	}
	return fields
}

// typeOf is the type of a field in words.
func typeOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeOf(t.Elem())
	case scalar(t) != "":
		return scalar(t)
	case t.Kind() == reflect.Slice:
		return "list of " + plural(typeOf(t.Elem()))
	case t.Kind() == reflect.Map:
		return "map of names to " + plural(typeOf(t.Elem()))
	}
	return "object"
}

// plural is the plural of a type in words.
func plural(of string) string {
	switch of {
	case "address", "prefix":
		return of + "es"
	}
	if strings.HasPrefix(of, "list of") || strings.HasPrefix(of, "map of") {
		return of
	}
	return of + "s"
}

// scalar returns the type of a single value in words, "" for any other type.
func scalar(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[netip.Addr]():
		return "address"
	case reflect.TypeFor[netip.Prefix]():
		return "prefix"
	case reflect.TypeFor[api.Duration]():
		return "duration"
	case reflect.TypeFor[time.Time]():
		return "time"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		return ""
	}
	return "integer"
}
