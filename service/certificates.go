package service

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
)

// certificateLook is the pause between two looks at the certificates, for events about them.
// Connections look at each handshake.
const certificateLook = 30 * time.Second

// certificateEvents are the events about certificates.
var certificateEvents = map[certs.ChangeType]api.EventType{
	certs.ChangeExpiring: api.EventCertificateExpiring,
	certs.ChangeExpired:  api.EventCertificateExpired,
	certs.ChangeRenewed:  api.EventCertificateRenewed,
	certs.ChangeRefused:  api.EventCertificateRefused,
}

// watchCertificates publishes what happens to the certificates of this controller until ctx ends.
func (s *Service) watchCertificates(ctx context.Context, o *Options) {
	cache := o.Inventory.Certificates()
	if cache == nil {
		return
	}
	var monitor certs.Monitor
	ticker := time.NewTicker(certificateLook)
	defer ticker.Stop()
	for {
		now := time.Now()
		for _, c := range monitor.Next(now, cache.List()) {
			s.publish(o, api.Event{Time: now.UTC(), Type: certificateEvents[c.Type], Object: c.Name,
				Message: c.Message})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
