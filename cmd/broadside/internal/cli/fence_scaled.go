//go:build fencescale

package cli

import (
	"strconv"

	"github.com/broadside-pub/broadside/pipeline/publish"
)

// fence divides every constant by BROADSIDE_TEST_FENCE_DIVISOR, for tests of the real binary that cannot wait.
func (a *app) fence() publish.Fence {
	by, err := strconv.Atoi(a.getenv("BROADSIDE_TEST_FENCE_DIVISOR"))
	if err != nil || by < 1 {
		by = 1
	}
	return publish.DefaultFence().Scaled(by)
}
