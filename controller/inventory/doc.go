// Package inventory is the controller's configuration: the switches and hosts
// of the network, the BGP-LS peers, the listeners, and the defaults, limits and
// intervals of everything the controller does.
//
// [Load] reads the inventory from YAML, refuses unknown fields, and names the line of each error.
// [Inventory.Validate] checks an inventory built by a program. The names of switches and hosts in
// the inventory are also the names in the API.
package inventory
