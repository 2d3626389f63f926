package bmv2json

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// Program is a whole program.
type Program struct {
	Meta struct {
		Version []int `json:"version"`
	} `json:"__meta__"`
	HeaderTypes       []HeaderType  `json:"header_types"`
	Headers           []Header      `json:"headers"`
	HeaderStacks      []Stack       `json:"header_stacks"`
	HeaderUnionTypes  []UnionType   `json:"header_union_types"`
	HeaderUnions      []Union       `json:"header_unions"`
	HeaderUnionStacks []UnionStack  `json:"header_union_stacks"`
	FieldLists        []FieldList   `json:"field_lists"`
	Errors            [][2]any      `json:"errors"`
	Parsers           []Parser      `json:"parsers"`
	ParseVSets        []VSet        `json:"parse_vsets"`
	Deparsers         []Deparser    `json:"deparsers"`
	MeterArrays       []Meter       `json:"meter_arrays"`
	CounterArrays     []Counter     `json:"counter_arrays"`
	RegisterArrays    []Register    `json:"register_arrays"`
	Calculations      []Calculation `json:"calculations"`
	LearnLists        []FieldList   `json:"learn_lists"`
	Actions           []Action      `json:"actions"`
	Pipelines         []Pipeline    `json:"pipelines"`
	Checksums         []Checksum    `json:"checksums"`
	ExternInstances   []Extern      `json:"extern_instances"`
	FieldAliases      [][2]any      `json:"field_aliases"`
}

// Source is a place in the P4 source.
type Source struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Fragment string `json:"source_fragment"`
}

// String is "file:line:column", or nothing when the JSON does not say.
func (s *Source) String() string {
	if s == nil || s.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", s.Filename, s.Line, s.Column)
}

// Value is a "type value object": a type tag, and a value whose shape depends on it.
type Value struct {
	Type     string          `json:"type"`
	Value    json.RawMessage `json:"value"`
	Bitwidth int             `json:"bitwidth"`
}

// Expr is the value of an expression: an operation, or one more wrapping.
type Expr struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
	Op    string          `json:"op"`
	Left  json.RawMessage `json:"left"`
	Right json.RawMessage `json:"right"`
	Cond  json.RawMessage `json:"cond"`
}

// HeaderType is a type of header, packet headers and metadata alike.
type HeaderType struct {
	Name      string            `json:"name"`
	ID        int               `json:"id"`
	Fields    []json.RawMessage `json:"fields"`
	LengthExp json.RawMessage   `json:"length_exp"`
	MaxLength int               `json:"max_length"`
	Source    *Source           `json:"source_info"`
}

// Header is an instance of a header type.
type Header struct {
	Name       string `json:"name"`
	ID         int    `json:"id"`
	HeaderType string `json:"header_type"`
	Metadata   bool   `json:"metadata"`
}

// Stack is a header stack.
type Stack struct {
	Name       string `json:"name"`
	ID         int    `json:"id"`
	HeaderType string `json:"header_type"`
	HeaderIDs  []int  `json:"header_ids"`
}

// UnionType is a type of header union.
type UnionType struct {
	Name    string      `json:"name"`
	ID      int         `json:"id"`
	Headers [][2]string `json:"headers"`
}

// Union is an instance of a union type.
type Union struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	UnionType string `json:"union_type"`
	HeaderIDs []int  `json:"header_ids"`
}

// UnionStack is a stack of header unions.
type UnionStack struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	UnionType string `json:"union_type"`
	UnionIDs  []int  `json:"header_union_ids"`
}

// FieldList is a list of fields: of a clone, a resubmission, a recirculation or a digest.
type FieldList struct {
	ID       int     `json:"id"`
	Name     string  `json:"name"`
	Elements []Value `json:"elements"`
	Source   *Source `json:"source_info"`
}

// Parser is a parser.
type Parser struct {
	Name      string       `json:"name"`
	ID        int          `json:"id"`
	InitState string       `json:"init_state"`
	States    []ParseState `json:"parse_states"`
}

// ParseState is a state of a parser.
type ParseState struct {
	Name          string       `json:"name"`
	ID            int          `json:"id"`
	Ops           []ParserOp   `json:"parser_ops"`
	TransitionKey []Value      `json:"transition_key"`
	Transitions   []Transition `json:"transitions"`
	Source        *Source      `json:"source_info"`
}

// ParserOp is an operation of a parse state.
type ParserOp struct {
	Op         string            `json:"op"`
	Parameters []json.RawMessage `json:"parameters"`
	Source     *Source           `json:"source_info"`
}

// Transition is a way out of a parse state.
type Transition struct {
	Type      string  `json:"type"`
	Value     any     `json:"value"`
	Mask      *string `json:"mask"`
	NextState *string `json:"next_state"`
}

// VSet is a parser value set.
type VSet struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	Bitwidth int    `json:"compressed_bitwidth"`
}

// Deparser is a deparser.
type Deparser struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	Order      []string    `json:"order"`
	Primitives []Primitive `json:"primitives"`
	Source     *Source     `json:"source_info"`
}

// Meter is an array of meters.
type Meter struct {
	Name         string   `json:"name"`
	ID           int      `json:"id"`
	Type         string   `json:"type"`
	RateCount    int      `json:"rate_count"`
	Size         int      `json:"size"`
	IsDirect     bool     `json:"is_direct"`
	Binding      string   `json:"binding"`
	ResultTarget []string `json:"result_target"`
	Source       *Source  `json:"source_info"`
}

// Counter is an array of counters.
type Counter struct {
	Name     string  `json:"name"`
	ID       int     `json:"id"`
	Size     int     `json:"size"`
	IsDirect bool    `json:"is_direct"`
	Binding  string  `json:"binding"`
	Source   *Source `json:"source_info"`
}

// Register is an array of registers.
type Register struct {
	Name     string  `json:"name"`
	ID       int     `json:"id"`
	Size     int     `json:"size"`
	Bitwidth int     `json:"bitwidth"`
	Source   *Source `json:"source_info"`
}

// Calculation is a hash or checksum over fields.
type Calculation struct {
	Name   string  `json:"name"`
	ID     int     `json:"id"`
	Algo   string  `json:"algo"`
	Input  []Value `json:"input"`
	Source *Source `json:"source_info"`
}

// Action is an action.
type Action struct {
	Name        string `json:"name"`
	ID          int    `json:"id"`
	RuntimeData []struct {
		Name     string `json:"name"`
		Bitwidth int    `json:"bitwidth"`
	} `json:"runtime_data"`
	Primitives []Primitive `json:"primitives"`
	Source     *Source     `json:"source_info"`
}

// Primitive is one statement of an action or a deparser.
type Primitive struct {
	Op         string  `json:"op"`
	Parameters []Value `json:"parameters"`
	Source     *Source `json:"source_info"`
}

// Pipeline is the ingress or the egress.
type Pipeline struct {
	Name           string        `json:"name"`
	ID             int           `json:"id"`
	InitTable      *string       `json:"init_table"`
	Tables         []Table       `json:"tables"`
	ActionProfiles []Profile     `json:"action_profiles"`
	Conditionals   []Conditional `json:"conditionals"`
	ActionCalls    []ActionCall  `json:"action_calls"`
}

// Profile is an action profile or selector.
type Profile struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	MaxSize  int    `json:"max_size"`
	Selector *struct {
		Algo  string  `json:"algo"`
		Input []Value `json:"input"`
	} `json:"selector"`
	Source *Source `json:"source_info"`
}

// Table is a match-action table.
type Table struct {
	Name           string             `json:"name"`
	ID             int                `json:"id"`
	MatchType      string             `json:"match_type"`
	Type           string             `json:"type"`
	ActionProfile  string             `json:"action_profile"`
	MaxSize        int                `json:"max_size"`
	WithCounters   bool               `json:"with_counters"`
	SupportTimeout bool               `json:"support_timeout"`
	Key            []Key              `json:"key"`
	ActionIDs      []int              `json:"action_ids"`
	Actions        []string           `json:"actions"`
	NextTables     map[string]*string `json:"next_tables"`
	DefaultNext    *string            `json:"base_default_next"`
	DirectMeters   *string            `json:"direct_meters"`
	DefaultEntry   *struct {
		ActionID    int      `json:"action_id"`
		ActionConst bool     `json:"action_const"`
		ActionData  []string `json:"action_data"`
		EntryConst  bool     `json:"action_entry_const"`
	} `json:"default_entry"`
	Entries []Entry `json:"entries"`
	Source  *Source `json:"source_info"`
}

// Key is a key field of a table.
type Key struct {
	MatchType string          `json:"match_type"`
	Target    json.RawMessage `json:"target"`
	Mask      *string         `json:"mask"`
	Name      string          `json:"name"`
}

// Entry is a table entry of the program.
type Entry struct {
	MatchKey []struct {
		MatchType    string          `json:"match_type"`
		Key          json.RawMessage `json:"key"`
		Mask         string          `json:"mask"`
		PrefixLength int             `json:"prefix_length"`
		Start        string          `json:"start"`
		End          string          `json:"end"`
	} `json:"match_key"`
	ActionEntry struct {
		ActionID   int      `json:"action_id"`
		ActionData []string `json:"action_data"`
	} `json:"action_entry"`
	Priority int     `json:"priority"`
	Source   *Source `json:"source_info"`
}

// Conditional is a condition of a control.
type Conditional struct {
	Name       string          `json:"name"`
	ID         int             `json:"id"`
	Expression json.RawMessage `json:"expression"`
	TrueNext   *string         `json:"true_next"`
	FalseNext  *string         `json:"false_next"`
	Source     *Source         `json:"source_info"`
}

// ActionCall is an action that a control calls directly.
type ActionCall struct {
	Name     string  `json:"name"`
	ID       int     `json:"id"`
	ActionID int     `json:"action_id"`
	NextNode *string `json:"next_node"`
	Source   *Source `json:"source_info"`
}

// Checksum is a checksum to verify or to update.
type Checksum struct {
	Name        string          `json:"name"`
	ID          int             `json:"id"`
	Target      [2]string       `json:"target"`
	Type        string          `json:"type"`
	Calculation string          `json:"calculation"`
	Update      *bool           `json:"update"`
	Verify      *bool           `json:"verify"`
	IfCond      json.RawMessage `json:"if_cond"`
	Source      *Source         `json:"source_info"`
}

// Extern is an instance of an extern.
type Extern struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Source *Source `json:"source_info"`
}

// IsNull reports whether a raw value is absent or null.
func IsNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// ParseHex reads a BMv2 hexstr: hexadecimal digits with an optional sign and
// an optional 0x.
func ParseHex(s string) (*big.Int, bool) {
	neg := false
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		neg, s = true, rest
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if s == "" || strings.ContainsAny(s, "+-_") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(s, 16)
	if ok && neg {
		n.Neg(n)
	}
	return n, ok
}
