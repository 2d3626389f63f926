package queues

// Jain is Jain's fairness index of some amounts: 1 when all are the same, 1/n when one has everything; 0 for none.
func Jain(amounts []float64) float64 {
	var sum, squares float64
	for _, x := range amounts {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(amounts)) * squares)
}

// Spread is Jain's index over the data that the links of a tier and plane have sent, in octets.
func (f *Fabric) Spread(tier Tier, plane int) float64 {
	var octets []float64
	for _, l := range f.links {
		if l.Tier == tier && l.Plane == plane {
			octets = append(octets, float64(l.stats.Data))
		}
	}
	return Jain(octets)
}
