package p4rt

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

func stringsOf(width int, given map[string][]byte) *textTable {
	return newTextTable(&translation{name: "t", width: width, given: given})
}

// expect checks what a string becomes, and that it comes back.
func (x *textTable) expect(t *testing.T, s, want string) {
	t.Helper()
	v, err := x.value([]byte(s), false)
	if err != nil || string(v) != want {
		t.Errorf("%q is %x, %v; want %x", s, v, err, want)
	}
	if back := string(x.text(append([]byte{0, 0}, v...))); back != s {
		t.Errorf("%x is %q; want %q", v, back, s)
	}
}

func TestTexts(t *testing.T) {
	x := stringsOf(9, map[string][]byte{"": {0}, "cpu": {1, 0xfe}})
	x.expect(t, "", "\x00")
	x.expect(t, "cpu", "\x01\xfe")
	x.expect(t, "7", "\x07")
	x.expect(t, "300", "\x01\x2c")
	x.expect(t, "eth0", "\x01\x00")
	x.expect(t, "eth1", "\x01\x01")
	x.expect(t, "256", "\x01\x02")  // eth0 has its value
	x.expect(t, "0", "\x01\x03")    // "" has it
	x.expect(t, "007", "\x01\x04")  // no numeral of ours
	x.expect(t, "9999", "\x01\x05") // no value of 9 bits
	x.expect(t, "\xff\x00", "\x01\x06")
	x.expect(t, "eth0", "\x01\x00")
	if s := string(x.text([]byte{1, 0x90})); s != "400" {
		t.Errorf("a value without a string is told as %q; want 400", s)
	}
	if _, err := x.value([]byte("eth2"), true); err == nil || err.Code != codes.NotFound ||
		err.Message != `string "eth2" of type "t" is not in use` {
		t.Errorf("looking for what is not there: %v", err)
	}
	if v, err := x.value([]byte("42"), true); err != nil || string(v) != "\x2a" ||
		len(x.names[string(v)]) != 0 {
		t.Errorf("looking for a numeral: %x, %v", v, err)
	}
	long := strings.Repeat("x", 1025)
	if _, err := x.value([]byte(long), false); err == nil || err.Code != codes.InvalidArgument {
		t.Errorf("a string of 1025 octets: %v", err)
	}
}

// Every value but 0 can have a name, whatever numerals took on the way.
func TestTextsExhausted(t *testing.T) {
	x := stringsOf(4, nil)
	x.expect(t, "12", "\x0c")
	seen := map[string]bool{"\x00": true, "\x0c": true}
	for i := range 14 {
		v, err := x.value(fmt.Append(nil, "name ", i), false)
		if err != nil || seen[string(v)] || bitLen(v) > 4 {
			t.Fatalf("name %d: %x, %v", i, v, err)
		}
		seen[string(v)] = true
	}
	want := `type "t" has no value left for string "one more": 15 strings use its 4 bits`
	if _, err := x.value([]byte("one more"), false); err == nil ||
		err.Code != codes.ResourceExhausted || err.Message != want {
		t.Errorf("got %v; want %s", err, want)
	}
	x.expect(t, "0", "\x00")
	if _, err := x.value([]byte("one more"), false); err == nil {
		t.Error("there is room for one more")
	}
}

// Wide types have values beyond 64 bits.
func TestTextsWide(t *testing.T) {
	x := stringsOf(128, nil)
	x.expect(t, "first", "\x80"+strings.Repeat("\x00", 15))
	x.expect(t, "18446744073709551616", "\x01\x00\x00\x00\x00\x00\x00\x00\x00")
}

// TestTextsAdopt: a pipeline keeps the values of the previous pipeline, except for values given in
// its P4Info.
func TestTextsAdopt(t *testing.T) {
	old := stringsOf(8, nil)
	old.expect(t, "red", "\x80")
	old.expect(t, "blue", "\x81")
	old.expect(t, "5", "\x05")
	types := map[string]*translation{"t": {name: "t", width: 8,
		given: map[string][]byte{"green": {0x81}}}, "n": {name: "n", index: 1, sdn: 32, width: 9}}
	x := newTexts(types, texts{tables: []*textTable{old}}).tables[0]
	x.expect(t, "red", "\x80")
	x.expect(t, "green", "\x81")
	x.expect(t, "5", "\x05")
	x.expect(t, "blue", "\x82")
	types["t"].width = 9
	newTexts(types, texts{tables: []*textTable{old}}).tables[0].expect(t, "blue", "\x01\x00")
}

func TestGivenStrings(t *testing.T) {
	got := givenStrings([]string{
		`@p4runtime_translation_mappings({ { "cpu" , 510 } , { "a \"b\", 3" , 9w0x1F } , { "" , 0 } , })`,
		`@name("x, 5")`,
	})
	if want := map[string]string{"cpu": "\x01\xfe", `a "b", 3`: "\x1f",
		"": "\x00"}; len(got) != len(want) || string(got["cpu"]) != want["cpu"] ||
		string(got[`a "b", 3`]) != "\x1f" || string(got[""]) != "\x00" {
		t.Errorf("got %x", got)
	}
}
