// Package inventory is the controller's configuration: the switches and hosts
// of the network, the BGP-LS peers, the listeners, and the defaults, limits and
// intervals of everything the controller does.
//
// [Load] reads it from YAML, refusing unknown fields and naming the line of
// whatever is wrong; [Inventory.Validate] checks one built by a program. What a
// switch or host is called here is its name in the API.
package inventory
