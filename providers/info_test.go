package providers_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
)

// plain can publish and nothing else.
type plain struct{}

func (plain) Publish(context.Context, providers.Message) (providers.Receipt, error) {
	return providers.Receipt{}, nil
}

// able can do everything.
type able struct{ plain }

func (able) Find(context.Context, providers.Query) (providers.Receipt, error) {
	return providers.Receipt{}, nil
}

func (able) KeyRule(context.Context) (providers.KeyRule, bool, error) {
	return providers.KeyRule{}, false, nil
}

func (able) Reply(context.Context, providers.Message, providers.Thread) (providers.Receipt, error) {
	return providers.Receipt{}, nil
}

func (able) Upload(context.Context, providers.Media) (providers.Handle, error) {
	return providers.Handle{}, nil
}

func (able) Resolve(context.Context, string) (providers.Handle, error) {
	return providers.Handle{}, nil
}

func (able) Stage(context.Context, providers.Message, providers.Handle) (providers.Handle, bool, error) {
	return providers.Handle{}, false, nil
}

func (able) Edit(context.Context, providers.Receipt, providers.Message) error { return nil }

func (able) Delete(context.Context, providers.Receipt) error { return nil }

func (able) Check(context.Context) (providers.Account, error) { return providers.Account{}, nil }

func (able) Refresh(context.Context, providers.Credential) (providers.Credential, error) {
	return providers.Credential{}, nil
}

func (able) NeedsRefresh(providers.Credential, time.Time) bool { return false }

func (able) Limits(context.Context) (providers.Limits, error) { return providers.Limits{}, nil }

var everything = []providers.Ability{
	providers.CanFind, providers.CanKey, providers.CanReply, providers.CanUpload, providers.CanResolve, providers.CanStage,
	providers.CanEdit, providers.CanDelete, providers.CanCheck, providers.CanRefresh, providers.CanLimit,
}

func TestAbilitiesAreWhatIsImplementedLessWhatIsDisabled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p       providers.Publisher
		disable []providers.Ability
		want    []providers.Ability
	}{
		"publishes only":      {plain{}, nil, nil},
		"all":                 {able{}, nil, everything},
		"one disabled":        {able{}, []providers.Ability{providers.CanFind}, everything[1:]},
		"all disabled":        {able{}, everything, nil},
		"what is not there":   {plain{}, []providers.Ability{providers.CanFind, "fly"}, nil},
		"what does not exist": {able{}, []providers.Ability{"fly"}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := providers.Abilities(c.p, c.disable...)
			if diff := cmp.Diff(c.want, got.Names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Publish == nil {
				t.Error("it cannot publish")
			}
		})
	}
	for _, a := range everything {
		for _, left := range providers.Abilities(able{}, a).Names() {
			if left == a {
				t.Errorf("%q is disabled and there", a)
			}
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	c := providers.Credential{
		Version: 1, Provider: "x", Login: "l", Seq: 3, Scopes: []string{"read"}, Recipients: []string{"age1"},
		Secrets: map[string]string{"token": "t"}, Expires: time.Unix(1, 0),
	}
	d := c.Clone()
	if diff := cmp.Diff(c, d); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	d.Scopes[0], d.Recipients[0], d.Secrets["token"], d.Secrets["more"] = "a", "b", "c", "d"
	want := providers.Credential{
		Version: 1, Provider: "x", Login: "l", Seq: 3, Scopes: []string{"read"}, Recipients: []string{"age1"},
		Secrets: map[string]string{"token": "t"}, Expires: time.Unix(1, 0),
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("the original has changed:\n%s", diff)
	}
	if (providers.Credential{}).Clone().Secrets == nil {
		t.Error("a copy's secrets cannot be written to")
	}
}

func TestMediaKeyTellsAltTextsApart(t *testing.T) {
	t.Parallel()
	a := providers.Media{SHA256: "x", Alt: "one", MIME: "image/png", Path: "p"}
	b := a
	b.Path = "q"
	if providers.MediaKey(a) != providers.MediaKey(b) {
		t.Error("the path makes a difference")
	}
	b.Alt = "two"
	if providers.MediaKey(a) == providers.MediaKey(b) {
		t.Error("the alt text makes none")
	}
	if !a.Image() || a.Video() || !(providers.Media{MIME: "video/mp4"}).Video() {
		t.Error("images and videos are confused")
	}
}
