// Package table matches keys against the entries of a match-action table.
//
// A Key says which fields the key of a table has and packs them into 64-bit words. A Table holds
// the entries of one switch: Pack brings a match into words, Insert and Remove change the table,
// and Lookup returns the entry that wins for the words of a packet. What an entry does is its
// Value, which the package never looks at.
//
// Every entry is in a hash table by all that identifies it (index). Exact tables are matched by
// that alone, lpm tables by a trie, and tables with ternary or range fields by a classifier, which
// keeps entries of a common mask in tuples and the others in blocks. Lookup allocates nothing.
//
// A Table belongs to one goroutine. A Key does not change and may be shared.
package table
