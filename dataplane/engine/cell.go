package engine

// Cell is the address of one counter or one meter (P4Runtime specification, sections 9.3 and 9.4):
// an element of an indirect array, or the direct counter or meter of an entry or of a table's
// misses.
type Cell struct {
	of       cellOf
	array    int // counter or meter of the program; of a direct one the table
	index    int
	match    []Match
	priority int32
}

// cellOf is what a cell belongs to.
type cellOf uint8

const (
	indirect cellOf = iota
	anEntry
	misses
)

// Element returns the address of an element of an indirect counter or meter, by their indices.
func Element(array, index int) Cell { return Cell{array: array, index: index} }

// CellOf returns the address of the direct counter or meter of the entry with this match and
// priority.
func CellOf(table int, match []Match, priority int32) Cell {
	return Cell{of: anEntry, array: table, match: match, priority: priority}
}

// CellOfMisses returns the address of the direct counter or meter of the default entry of a table,
// which counts misses.
func CellOfMisses(table int) Cell { return Cell{of: misses, array: table} }
