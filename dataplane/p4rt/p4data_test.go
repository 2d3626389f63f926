package p4rt

import (
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const testTypes = `
structs { key: "pair" value {
	members { name: "a" type_spec { bitstring { bit { bitwidth: 12 } } } }
	members { name: "b" type_spec { bool { } } }
} }
structs { key: "loop" value { members { name: "again" type_spec { struct { name: "loop" } } } } }
headers { key: "h" value {
	members { name: "x" type_spec { bit { bitwidth: 4 } } }
	members { name: "y" type_spec { int { bitwidth: 12 } } }
} }
enums { key: "e" value { members { name: "one" } members { name: "two" } } }
error { members: "NoError" members: "Trouble" }
serializable_enums { key: "s" value { underlying_type { bitwidth: 8 } members { name: "A" value: "\x01" } } }
new_types { key: "plain" value { original_type { bitstring { bit { bitwidth: 9 } } } } }
new_types { key: "numbered" value { translated_type { uri: "x" sdn_bitwidth: 32 } } }
new_types { key: "named" value { translated_type { uri: "x" sdn_string { } } } }
`

func types(t *testing.T) *typeInfo {
	t.Helper()
	info := &configv1.P4TypeInfo{}
	if err := prototext.Unmarshal([]byte(testTypes), info); err != nil {
		t.Fatal(err)
	}
	return newTypeInfo(info)
}

func spec(t *testing.T, text string) *configv1.P4DataTypeSpec {
	t.Helper()
	s := &configv1.P4DataTypeSpec{}
	if err := prototext.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func data(t *testing.T, text string) *p4v1.P4Data {
	t.Helper()
	d := &p4v1.P4Data{}
	if err := prototext.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Values of every type go to the switch's form and come back canonical.
func TestP4Data(t *testing.T) {
	info := types(t)
	for name, width := range map[string]int{"numbered": 9, "named": 12} {
		if err := info.translations[name].bind(width, "it"); err != nil {
			t.Fatal(err)
		}
	}
	x := newTexts(info.translations, texts{})
	for _, c := range []struct{ spec, in, flat, out string }{
		{`bitstring { bit { bitwidth: 12 } }`, `bitstring: "\x00\x00\x05"`, "\x00\x05",
			`bitstring: "\x05"`},
		{`bitstring { int { bitwidth: 12 } }`, `bitstring: "\xfe"`, "\x0f\xfe", `bitstring: "\xfe"`},
		{`bitstring { int { bitwidth: 8 } }`, `bitstring: "\x80"`, "\x80", `bitstring: "\x80"`},
		{`bool { }`, `bool: true`, "\x01", `bool: true`},
		{`bool { }`, `bool: false`, "\x00", `bool: false`},
		{`struct { name: "pair" }`, `struct { members { bitstring: "\x03" } members { bool: true } }`,
			"\x00\x03\x01",
			`struct { members { bitstring: "\x03" } members { bool: true } }`},
		{`tuple { members { bool { } } members { serializable_enum { name: "s" } } }`,
			`tuple { members { bool: true } members { enum_value: "\x00\x07" } }`, "\x01\x07",
			`tuple { members { bool: true } members { enum_value: "\x07" } }`},
		{`header { name: "h" }`, `header { is_valid: true bitstrings: "\x0f" bitstrings: "\xff\xff" }`,
			"\x0f\x0f\xff",
			`header { is_valid: true bitstrings: "\x0f" bitstrings: "\xff" }`},
		{`enum { name: "e" }`, `enum: "two"`, "\x00\x00\x00\x01", `enum: "two"`},
		{`error { }`, `error: "Trouble"`, "\x00\x00\x00\x01", `error: "Trouble"`},
		{`new_type { name: "plain" }`, `bitstring: "\x01\xff"`, "\x01\xff", `bitstring: "\x01\xff"`},
		{`new_type { name: "numbered" }`, `bitstring: "\x00\x00\x00\x07"`, "\x00\x07",
			`bitstring: "\x07"`},
		{`new_type { name: "named" }`, `bitstring: "red"`, "\x08\x00", `bitstring: "red"`},
		{`new_type { name: "named" }`, `bitstring: "17"`, "\x00\x11", `bitstring: "17"`},
		{`tuple { members { new_type { name: "named" } } members { bool { } } }`,
			`tuple { members { bitstring: "blue" } members { bool: true } }`, "\x08\x01\x01",
			`tuple { members { bitstring: "blue" } members { bool: true } }`},
	} {
		s := spec(t, c.spec)
		if err := info.check(s, "it"); err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		flat, err := info.encode(x, nil, s, data(t, c.in))
		if err != nil || string(flat) != c.flat {
			t.Errorf("%s: %s: got %x, %v; want %x", c.spec, c.in, flat, err, c.flat)
			continue
		}
		if got := info.decode(x, &flat, s); !proto.Equal(got, data(t, c.out)) || len(flat) != 0 {
			t.Errorf("%s: %s comes back as %v with %x left, want %s", c.spec, c.in, got, flat, c.out)
		}
	}
}

func TestP4DataErrors(t *testing.T) {
	info := types(t)
	for name, width := range map[string]int{"numbered": 9, "named": 1} {
		if err := info.translations[name].bind(width, "it"); err != nil {
			t.Fatal(err)
		}
	}
	x := newTexts(info.translations, texts{})
	if _, err := x.tables[info.translations["named"].index].value([]byte("the only one"),
		false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec, in string
		code     codes.Code
		want     string
	}{
		{`bitstring { bit { bitwidth: 4 } }`, `bitstring: "\x10"`, codes.OutOfRange,
			`value 0x10 needs 5 bits; want at most 4`},
		{`bitstring { bit { bitwidth: 4 } }`, `bool: true`, codes.InvalidArgument,
			`the data is a bool; want a bitstring`},
		{`struct { name: "pair" }`, `struct { members { bitstring: "\x03" } }`, codes.InvalidArgument,
			`the data has 1 members; want 2`},
		{`struct { name: "pair" }`, `struct { members { bitstring: "\x10\x00" } members { bool: true } }`,
			codes.OutOfRange, `member "a": value 0x1000 needs 13 bits; want at most 12`},
		{`tuple { members { bool { } } }`, `tuple { members { } }`, codes.InvalidArgument,
			`member 0: the data is missing; want a bool`},
		{`header { name: "h" }`, `header { }`, codes.InvalidArgument,
			`the data is a header; want a valid header "h"`},
		{`header { name: "h" }`, `header { is_valid: true bitstrings: "\x01" }`, codes.InvalidArgument,
			`the header has 1 bitstrings; want 2`},
		{`header { name: "h" }`, `header { is_valid: true bitstrings: "\x01" bitstrings: "\x08\x00" }`,
			codes.OutOfRange, `field "y": signed value 0x0800 needs 13 bits; want at most 12`},
		{`enum { name: "e" }`, `enum: "three"`, codes.InvalidArgument,
			`"three" is not a member of enum "e"`},
		{`error { }`, `error: "Bliss"`, codes.InvalidArgument, `"Bliss" is not an error of the program`},
		{`new_type { name: "numbered" }`, `bitstring: "\x02\x00"`, codes.OutOfRange,
			`value 0x0200 needs 10 bits; type "numbered" has 9 in the program`},
		{`new_type { name: "numbered" }`, `bitstring: "\x01\x00\x00\x00\x00"`, codes.OutOfRange,
			`value 0x0100000000 needs 33 bits; want at most 32`},
		{`new_type { name: "numbered" }`, `bool: true`, codes.InvalidArgument,
			`the data is a bool; want a bitstring`},
		{`new_type { name: "named" }`, `bitstring: "another"`, codes.ResourceExhausted,
			`type "named" has no value left for string "another": 1 strings use its 1 bits`},
		{`new_type { name: "named" }`, `bitstring: ""`, codes.InvalidArgument,
			`the string has 0 octets; want 1 to 1024`},
		{`serializable_enum { name: "s" }`, `enum: "A"`, codes.InvalidArgument,
			`the data is an enum; want an enum_value`},
		{`serializable_enum { name: "s" }`, `enum_value: "\x01\x00"`, codes.OutOfRange,
			`value 0x0100 needs 9 bits; want at most 8`},
		{`bitstring { bit { bitwidth: 4 } }`, `bitstring: ""`, codes.OutOfRange,
			`the byte string is empty; want a value of at most 4 bits in 1 or more octets`},
		{`bitstring { int { bitwidth: 4 } }`, `bitstring: ""`, codes.OutOfRange,
			`the byte string is empty; want a value of at most 4 bits in 1 or more octets`},
		{`header { name: "h" }`, `header { bitstrings: "\x01" bitstrings: "\x01" }`,
			codes.InvalidArgument, `the data is a header; want a valid header "h"`},
	} {
		_, err := info.encode(x, nil, spec(t, c.spec), data(t, c.in))
		if err == nil || err.Code != c.code || err.Message != c.want {
			t.Errorf("%s: %s: got %v, want %s: %s", c.spec, c.in, err, c.code, c.want)
		}
	}
	for text, want := range map[string]string{
		`struct { name: "none" }`:         `P4Info: the type of it names struct "none", which is not in type_info`,
		`struct { name: "loop" }`:         `P4Info: the type of it is nested more than 16 deep`,
		`bitstring { varbit { } }`:        `P4Info: the type of it holds a bit string that is not bit<W> or int<W> with W in 1 to 65536`,
		`bitstring { bit { } }`:           `P4Info: the type of it holds a bit string that is not bit<W> or int<W> with W in 1 to 65536`,
		`header_union { name: "u" }`:      `P4Info: the type of it is a header union; want bit<W>, int<W>, bool, tuple, struct, header, enum, error or a new type`,
		`header_stack { }`:                `P4Info: the type of it is a header stack; want bit<W>, int<W>, bool, tuple, struct, header, enum, error or a new type`,
		``:                                `P4Info: the type of it is missing; want bit<W>, int<W>, bool, tuple, struct, header, enum, error or a new type`,
		`serializable_enum { name: "z" }`: `P4Info: the type of it names serializable enum "z", which is not in type_info`,
	} {
		if err := info.check(spec(t, text), "it"); err == nil || err.Code != codes.InvalidArgument ||
			err.Message != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
