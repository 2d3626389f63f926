package hostrun

import (
	"errors"
	"fmt"
	"os"

	"github.com/weft-sdn/weft/host/verbs"
)

// Region is memory that peers may write to.
type Region struct {
	RKey uint32 `yaml:"rkey" doc:"R_Key of memory that peers may write to" default:"required"`
	VA   uint64 `yaml:"va" doc:"virtual address of its first octet" default:"0"`
	Size int    `yaml:"size" doc:"octets" default:"required"`
	Save string `yaml:"save" doc:"file to which the memory is written at the end" default:"nowhere"`
}

// maxRegion bounds the memory of a region, in octets.
const maxRegion = 64 << 30

// CheckRegions checks the regions of a host. Its error is a *FieldError.
func CheckRegions(regions []Region) error {
	var faults []error
	keys := make(map[uint32]int)
	for i, r := range regions {
		at := fmt.Sprintf("regions[%d]", i)
		if r.Size < 1 || r.Size > maxRegion {
			faults = append(faults, Fault(at+".size", "is %d: want 1 to %d octets", r.Size, maxRegion))
		}
		if first, twice := keys[r.RKey]; twice {
			faults = append(faults, Fault(at+".rkey", "%#x is also that of regions[%d]", r.RKey, first))
			continue
		}
		keys[r.RKey] = i
	}
	return errors.Join(faults...)
}

// Register gives the endpoint the memory of regions.
func (r *Runner) Register(regions []Region) error {
	for i, g := range regions {
		buf := make([]byte, g.Size)
		if _, err := r.Endpoint.RegisterMR(g.VA, g.RKey, buf, verbs.AccessRemoteWrite); err != nil {
			return fmt.Errorf("regions[%d]: %w: %w", i, ErrConfig, err)
		}
		r.regions = append(r.regions, region{g, buf})
	}
	return nil
}

// region is the memory of a Region.
type region struct {
	Region
	memory []byte
}

// RegionReport is what a region holds at the end.
type RegionReport struct {
	RKey   uint32 `json:"rkey"`
	VA     uint64 `json:"va"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Saved  string `json:"saved,omitempty"`
}

// SaveRegions reports the regions, and saves the regions with a file.
func (r *Runner) SaveRegions() (out []RegionReport, err error) {
	var errs []error
	for _, g := range r.regions {
		report := RegionReport{RKey: g.RKey, VA: g.VA, Size: g.Size, SHA256: digest(g.memory)}
		if g.Save != "" {
			err := os.WriteFile(g.Save, g.memory, 0o644)
			if err == nil {
				report.Saved = g.Save
			}
			errs = append(errs, err)
		}
		out = append(out, report)
	}
	return out, errors.Join(errs...)
}
