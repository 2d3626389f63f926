// Package upgrade tests successive releases: the records that releases keep in a store, and the
// effect on traffic when one release replaces another.
package upgrade
