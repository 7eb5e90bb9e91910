package publish_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
)

func TestRunPublishesWhatIsDueOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "alpha", "beta")
		g.post("hello", time.Now().Add(time.Minute), "Hello, **world**.", "alpha", "beta")
		if res := g.run(); len(res.Outcomes) != 0 {
			t.Fatalf("published before its time: %+v", res.Outcomes)
		}
		time.Sleep(2 * time.Minute)
		res := g.run()
		if len(res.Outcomes) != 2 || res.Outcomes[0].State != pipeline.Published {
			t.Fatalf("outcomes: %+v troubles %+v diagnostics %+v", res.Outcomes, res.Troubles, res.Diagnostics)
		}
		for _, d := range []string{"alpha", "beta"} {
			if diff := cmp.Diff([]string{"Hello, world."}, g.texts(d)); diff != "" {
				t.Errorf("%s shows (-want +got):\n%s", d, diff)
			}
			if got := g.delivery("hello", d); got.State != pipeline.Published {
				t.Errorf("%s is %s", d, got.State)
			}
		}
		tip := g.git.Tip("refs/heads/broadside-ledger")
		if res := g.run(); !res.Idle {
			t.Errorf("a further run is not idle: %+v", res)
		}
		if g.git.Tip("refs/heads/broadside-ledger") != tip {
			t.Error("a further run changed the ledger")
		}
	})
}
