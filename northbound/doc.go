// Package northbound is the REST API of a controller.
//
// A [Server] serves the API over a [Controller], a narrow view of a controller for the API, and
// [Events], to which the controller's owner publishes:
//
//	events := northbound.NewEvents(cfg.EventRing)
//	srv, err := northbound.New(cfg, controller, events)
//	…
//	err = srv.Serve(ctx, listener) // until ctx ends
//
// Resources are records of intent: clients write spec, the controller writes
// status. Updates are conditional on the resource's version (If-Match), lists
// come in pages, and errors are application/problem+json (RFC 9457) with a
// stable code, the offending field, its value and the limit it exceeds. The
// OpenAPI 3.1 document at /openapi.json is generated from the handlers' types.
//
// The package decides nothing: the controller checks a spec beyond its shape and decides its fate.
// No other package uses huma.
package northbound
