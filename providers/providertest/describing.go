package providertest

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// describing holds what Info must say, and that it is true.
func describing() []subtest {
	return []subtest{
		{name: "info is complete", run: func(s *session) {
			for _, err := range CheckInfo(s.h.Info) {
				s.t.Error(err)
			}
		}},
		{name: "abilities are those declared", run: func(s *session) {
			declared := slices.Sorted(slices.Values(s.h.Info.Abilities))
			have := slices.Sorted(slices.Values(providers.Abilities(s.pub).Names()))
			if !slices.Equal(declared, have) {
				s.t.Errorf("Info declares %v, the adapter implements %v", declared, have)
			}
		}},
		{name: "New reaches no network", run: func(s *session) {
			s.renew()
			if seen := s.wire.since(0); len(seen) > 0 {
				s.t.Errorf("New sent %s %s", seen[0].Method, seen[0].URL)
			}
		}},
	}
}

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	keyForm  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// CheckInfo returns everything that is missing or wrong in a provider's description, apart from what it does.
func CheckInfo(i providers.Info) []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{i.Name}, args...)...))
	}
	if !nameForm.MatchString(i.Name) {
		bad("the name is not one lower-case noun")
	}
	if i.Title == "" || i.About == "" {
		bad("title and about must be given")
	}
	if i.Encode == nil || i.Seal == nil || i.New == nil {
		errs = append(errs, errors.New(i.Name+": Encode, Seal and New must be given"))
	}
	if (i.Server == providers.ServerOptional) != (i.DefaultServer != "") {
		bad("a default server belongs to ServerOptional, and only there")
	}
	if i.LongestRequest <= 0 {
		bad("LongestRequest must be given")
	}
	if slices.Contains(i.Abilities, providers.CanFind) && i.Settle <= 0 {
		bad("a finder needs Settle")
	}
	if i.Limits.Source == "" {
		bad("the limits do not say where they come from")
	}
	if _, err := time.Parse(time.DateOnly, i.Limits.Date); err != nil {
		bad("the limits' date is not YYYY-MM-DD: %q", i.Limits.Date)
	}
	if (i.Limits.Text > 0) != (i.Limits.Unit != "") {
		bad("the limit of text and its unit belong together")
	}
	names := map[string]bool{}
	for _, set := range []struct {
		kind string
		list []providers.Setting
	}{{"setting", i.Settings}, {"secret", i.Secrets}} {
		for _, f := range set.list {
			if !keyForm.MatchString(f.Name) {
				bad("%s %q: the name is not snake_case", set.kind, f.Name)
			}
			if names[set.kind+f.Name] {
				bad("%s %q is there twice", set.kind, f.Name)
			}
			names[set.kind+f.Name] = true
			if f.Title == "" || f.Help == "" {
				bad("%s %q: title and help must be given", set.kind, f.Name)
			}
			switch f.Type {
			case providers.String, providers.Boolean, providers.Integer, providers.Strings:
			case providers.Object:
				if f.Schema == "" {
					bad("%s %q: an object needs a schema", set.kind, f.Name)
				}
			default:
				bad("%s %q: %q is no type", set.kind, f.Name, f.Type)
			}
		}
	}
	for _, reserved := range []string{"text", "title", "media", "publish_at", "publish_by", "skip"} {
		if names["setting"+reserved] {
			bad("setting %q takes a name that every destination has", reserved)
		}
	}
	return errs
}

// asking holds what only reads.
func asking() []subtest {
	return []subtest{
		{name: "check names the account and only reads", needs: []providers.Ability{providers.CanCheck}, run: func(s *session) {
			a, err := s.able.Check.Check(s.ctx)
			if err != nil {
				s.t.Fatalf("Check: %v", err)
			}
			if a.ID == "" {
				s.t.Error("the account has no id")
			}
			if want := s.net.Config.TargetID; want != "" && a.ID != want {
				s.t.Errorf("the account's id is %q, want %q", a.ID, want)
			}
			s.onlyReads()
		}},
		{name: "check with a dead credential is unauthorized", needs: []providers.Ability{providers.CanCheck}, run: func(s *session) {
			s.wire.arm(0, answer(false, http.StatusUnauthorized, jsonHeader, text(`{"error":"unauthorized"}`)))
			_, err := s.able.Check.Check(s.ctx)
			if e := providers.AsError(err); e == nil || e.Kind != providers.Unauthorized {
				s.t.Errorf("got %v, want an error of kind %s", err, providers.Unauthorized)
			}
		}},
		{name: "limits are the instance's and only read", needs: []providers.Ability{providers.CanLimit}, run: func(s *session) {
			l, err := s.able.Limit.Limits(s.ctx)
			if err != nil {
				s.t.Fatalf("Limits: %v", err)
			}
			if l.Text <= 0 || l.Unit == "" || l.Source == "" {
				s.t.Errorf("limits without text, unit or source: %+v", l)
			}
			s.onlyReads()
		}},
	}
}

func (s *session) onlyReads() {
	s.t.Helper()
	for _, x := range s.wire.since(0) {
		if x.Method != http.MethodGet && x.Method != http.MethodHead {
			s.t.Errorf("a read-only call sent %s %s", x.Method, x.URL)
		}
	}
	s.wantPosts(0)
}
