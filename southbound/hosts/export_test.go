package hosts

// TakeTurns takes all turns to encode what hosts hold, until the returned function is called.
func (s *Server) TakeTurns() (giveBack func()) {
	for range cap(s.encoders) {
		s.encoders <- struct{}{}
	}
	return func() {
		for range cap(s.encoders) {
			<-s.encoders
		}
	}
}
