package canon_test

import (
	"testing"

	"github.com/broadside-pub/broadside/providers/internal/canon"
)

func TestRewriteFollowsRFC8785(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"sorted, no spaces":        {` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		"UTF-16 order":             {`{"😀":1,"￼":2}`, `{"😀":1,"￼":2}`},
		"no HTML escapes":          {`"\u003ca\u003e \u0026 \u2028"`, "\"<a> & \u2028\""},
		"control characters":       {`"\u0000\u001f\u0008\t\n\f\r\u007f"`, "\"\\u0000\\u001f\\b\\t\\n\\f\\r\u007f\""},
		"quotes and slashes":       {`"\/ \\ \""`, `"/ \\ \""`},
		"floats":                   {`[1.0,1e3,4.50,2e-3,1e-7,1E21,-0.0,-0,1e-10]`, `[1,1000,4.5,0.002,1e-7,1e+21,0,0,1e-10]`},
		"integers":                 {`[9007199254740992,-5]`, `[9007199254740992,-5]`},
		"duplicate keys, last one": {`{"a":1,"a":2}`, `{"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Rewrite([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !canon.Is(got) {
				t.Error("what was written does not count as canonical")
			}
		})
	}
}

func TestRewriteRefusesWhatHasNoCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{`, `1 2`, `9007199254740993`, `1e400`, `nan`} {
		if got, err := canon.Rewrite([]byte(in)); err == nil {
			t.Errorf("%q became %s", in, got)
		}
	}
}

func TestIsRefusesOtherForms(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"b":1,"a":2}`, ` 1`, "1\n", `1.0`, `"\u0041"`, `{"a":1,"a":1}`} {
		if canon.Is([]byte(in)) {
			t.Errorf("%q counts as canonical", in)
		}
	}
}

func FuzzRewriteIsStable(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x"]}`, `"\ud83d\ude00"`, `[1e-7,123456789012]`, `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := canon.Rewrite(b)
		if err != nil {
			return
		}
		if !canon.Is(once) {
			t.Fatalf("%q became %q, which does not count as canonical", b, once)
		}
	})
}
