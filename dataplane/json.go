package dataplane

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// The types below mirror the BMv2 JSON format (JSON_format.md of
// behavioral-model), version 2.x. Parts whose shape depends on a type tag stay
// raw until the loader knows what to expect.

type jsonProgram struct {
	Meta struct {
		Version []int `json:"version"`
	} `json:"__meta__"`
	HeaderTypes       []jsonHeaderType  `json:"header_types"`
	Headers           []jsonHeader      `json:"headers"`
	HeaderStacks      []jsonStack       `json:"header_stacks"`
	HeaderUnionTypes  []jsonUnionType   `json:"header_union_types"`
	HeaderUnions      []jsonUnion       `json:"header_unions"`
	HeaderUnionStacks []jsonUnionStack  `json:"header_union_stacks"`
	FieldLists        []jsonFieldList   `json:"field_lists"`
	Errors            [][2]any          `json:"errors"`
	Parsers           []jsonParser      `json:"parsers"`
	ParseVSets        []jsonVSet        `json:"parse_vsets"`
	Deparsers         []jsonDeparser    `json:"deparsers"`
	MeterArrays       []jsonMeter       `json:"meter_arrays"`
	CounterArrays     []jsonCounter     `json:"counter_arrays"`
	RegisterArrays    []jsonRegister    `json:"register_arrays"`
	Calculations      []jsonCalculation `json:"calculations"`
	LearnLists        []jsonFieldList   `json:"learn_lists"`
	Actions           []jsonAction      `json:"actions"`
	Pipelines         []jsonPipeline    `json:"pipelines"`
	Checksums         []jsonChecksum    `json:"checksums"`
	ExternInstances   []jsonExtern      `json:"extern_instances"`
	FieldAliases      [][2]any          `json:"field_aliases"`
}

type jsonSource struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Fragment string `json:"source_fragment"`
}

// String is "file:line:column", or nothing when the JSON does not say.
func (s *jsonSource) String() string {
	if s == nil || s.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", s.Filename, s.Line, s.Column)
}

// jsonValue is a "type value object".
type jsonValue struct {
	Type     string          `json:"type"`
	Value    json.RawMessage `json:"value"`
	Bitwidth int             `json:"bitwidth"`
}

// jsonExpr is the value of an expression: an operation, or one more wrapping.
type jsonExpr struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
	Op    string          `json:"op"`
	Left  json.RawMessage `json:"left"`
	Right json.RawMessage `json:"right"`
	Cond  json.RawMessage `json:"cond"`
}

type jsonHeaderType struct {
	Name      string            `json:"name"`
	ID        int               `json:"id"`
	Fields    []json.RawMessage `json:"fields"`
	LengthExp json.RawMessage   `json:"length_exp"`
	MaxLength int               `json:"max_length"`
	Source    *jsonSource       `json:"source_info"`
}

type jsonHeader struct {
	Name       string `json:"name"`
	ID         int    `json:"id"`
	HeaderType string `json:"header_type"`
	Metadata   bool   `json:"metadata"`
}

type jsonStack struct {
	Name       string `json:"name"`
	ID         int    `json:"id"`
	HeaderType string `json:"header_type"`
	HeaderIDs  []int  `json:"header_ids"`
}

type jsonUnionType struct {
	Name    string      `json:"name"`
	ID      int         `json:"id"`
	Headers [][2]string `json:"headers"`
}

type jsonUnion struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	UnionType string `json:"union_type"`
	HeaderIDs []int  `json:"header_ids"`
}

type jsonUnionStack struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	UnionType string `json:"union_type"`
	UnionIDs  []int  `json:"header_union_ids"`
}

type jsonFieldList struct {
	ID       int         `json:"id"`
	Name     string      `json:"name"`
	Elements []jsonValue `json:"elements"`
	Source   *jsonSource `json:"source_info"`
}

type jsonParser struct {
	Name      string           `json:"name"`
	ID        int              `json:"id"`
	InitState string           `json:"init_state"`
	States    []jsonParseState `json:"parse_states"`
}

type jsonParseState struct {
	Name          string           `json:"name"`
	ID            int              `json:"id"`
	Ops           []jsonParserOp   `json:"parser_ops"`
	TransitionKey []jsonValue      `json:"transition_key"`
	Transitions   []jsonTransition `json:"transitions"`
	Source        *jsonSource      `json:"source_info"`
}

type jsonParserOp struct {
	Op         string            `json:"op"`
	Parameters []json.RawMessage `json:"parameters"`
	Source     *jsonSource       `json:"source_info"`
}

type jsonTransition struct {
	Type      string  `json:"type"`
	Value     any     `json:"value"`
	Mask      *string `json:"mask"`
	NextState *string `json:"next_state"`
}

type jsonVSet struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	Bitwidth int    `json:"compressed_bitwidth"`
}

type jsonDeparser struct {
	Name       string          `json:"name"`
	ID         int             `json:"id"`
	Order      []string        `json:"order"`
	Primitives []jsonPrimitive `json:"primitives"`
	Source     *jsonSource     `json:"source_info"`
}

type jsonMeter struct {
	Name         string      `json:"name"`
	ID           int         `json:"id"`
	Type         string      `json:"type"`
	RateCount    int         `json:"rate_count"`
	Size         int         `json:"size"`
	IsDirect     bool        `json:"is_direct"`
	Binding      string      `json:"binding"`
	ResultTarget []string    `json:"result_target"`
	Source       *jsonSource `json:"source_info"`
}

type jsonCounter struct {
	Name     string      `json:"name"`
	ID       int         `json:"id"`
	Size     int         `json:"size"`
	IsDirect bool        `json:"is_direct"`
	Binding  string      `json:"binding"`
	Source   *jsonSource `json:"source_info"`
}

type jsonRegister struct {
	Name     string      `json:"name"`
	ID       int         `json:"id"`
	Size     int         `json:"size"`
	Bitwidth int         `json:"bitwidth"`
	Source   *jsonSource `json:"source_info"`
}

type jsonCalculation struct {
	Name   string      `json:"name"`
	ID     int         `json:"id"`
	Algo   string      `json:"algo"`
	Input  []jsonValue `json:"input"`
	Source *jsonSource `json:"source_info"`
}

type jsonAction struct {
	Name        string `json:"name"`
	ID          int    `json:"id"`
	RuntimeData []struct {
		Name     string `json:"name"`
		Bitwidth int    `json:"bitwidth"`
	} `json:"runtime_data"`
	Primitives []jsonPrimitive `json:"primitives"`
	Source     *jsonSource     `json:"source_info"`
}

type jsonPrimitive struct {
	Op         string      `json:"op"`
	Parameters []jsonValue `json:"parameters"`
	Source     *jsonSource `json:"source_info"`
}

type jsonPipeline struct {
	Name           string            `json:"name"`
	ID             int               `json:"id"`
	InitTable      *string           `json:"init_table"`
	Tables         []jsonTable       `json:"tables"`
	ActionProfiles []jsonProfile     `json:"action_profiles"`
	Conditionals   []jsonConditional `json:"conditionals"`
	ActionCalls    []jsonActionCall  `json:"action_calls"`
}

type jsonProfile struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	MaxSize  int    `json:"max_size"`
	Selector *struct {
		Algo  string      `json:"algo"`
		Input []jsonValue `json:"input"`
	} `json:"selector"`
	Source *jsonSource `json:"source_info"`
}

type jsonTable struct {
	Name           string             `json:"name"`
	ID             int                `json:"id"`
	MatchType      string             `json:"match_type"`
	Type           string             `json:"type"`
	ActionProfile  string             `json:"action_profile"`
	MaxSize        int                `json:"max_size"`
	WithCounters   bool               `json:"with_counters"`
	SupportTimeout bool               `json:"support_timeout"`
	Key            []jsonKey          `json:"key"`
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
	Entries []jsonEntry `json:"entries"`
	Source  *jsonSource `json:"source_info"`
}

type jsonKey struct {
	MatchType string          `json:"match_type"`
	Target    json.RawMessage `json:"target"`
	Mask      *string         `json:"mask"`
	Name      string          `json:"name"`
}

type jsonEntry struct {
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
	Priority int         `json:"priority"`
	Source   *jsonSource `json:"source_info"`
}

type jsonConditional struct {
	Name       string          `json:"name"`
	ID         int             `json:"id"`
	Expression json.RawMessage `json:"expression"`
	TrueNext   *string         `json:"true_next"`
	FalseNext  *string         `json:"false_next"`
	Source     *jsonSource     `json:"source_info"`
}

type jsonActionCall struct {
	Name     string      `json:"name"`
	ID       int         `json:"id"`
	ActionID int         `json:"action_id"`
	NextNode *string     `json:"next_node"`
	Source   *jsonSource `json:"source_info"`
}

type jsonChecksum struct {
	Name        string          `json:"name"`
	ID          int             `json:"id"`
	Target      [2]string       `json:"target"`
	Type        string          `json:"type"`
	Calculation string          `json:"calculation"`
	Update      *bool           `json:"update"`
	Verify      *bool           `json:"verify"`
	IfCond      json.RawMessage `json:"if_cond"`
	Source      *jsonSource     `json:"source_info"`
}

type jsonExtern struct {
	Name   string      `json:"name"`
	Type   string      `json:"type"`
	Source *jsonSource `json:"source_info"`
}

// isNull tells whether a raw value is absent or null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// parseHex reads a BMv2 hexstr: hexadecimal digits with an optional sign and
// an optional 0x.
func parseHex(s string) (*big.Int, bool) {
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
