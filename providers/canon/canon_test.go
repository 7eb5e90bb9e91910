package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers/canon"
)

// The doubles and their texts are those of RFC 8785, appendix B.
func TestNumberPrintsAsECMAScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		if got := string(canon.AppendNumber(nil, math.Float64frombits(c.bits))); got != c.want {
			t.Errorf("%016x: got %s, want %s", c.bits, got, c.want)
		}
	}
}

func TestTransformGivesTheCanonicalForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		// RFC 8785, section 3.2.2
		"sample": {
			`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
				`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		// RFC 8785, section 3.2.3
		"sorting": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"blanks":    {" [ 1 , { \"b\" : 1 ,\t\"a\":[ ] , \"c\" : { } } ]\n", `[1,{"a":[],"b":1,"c":{}}]`},
		"controls":  {`"\b\f\n\r\t\u0000\u001f\u007f"`, "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		"html":      {`"<a>&</a>\u2028"`, "\"<a>&</a>\u2028\""},
		"negative0": {`[-0, -0.0, 0e5]`, `[0,0,0]`},
		"nested":    {`{"b":{"d":1,"c":{"f":2,"e":3}},"a":0}`, `{"a":0,"b":{"c":{"e":3,"f":2},"d":1}}`},
		"prefix":    {`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Transform([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Error(d)
			}
			again, err := canon.Transform(got)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("canonical form of it: %s, %v", again, err)
			}
		})
	}
}

func TestTransformRefusesWhatIsNotOneValue(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"empty": "", "two values": "1 2", "duplicate": `{"a":1,"a":2}`, "escaped duplicate": `{"a":1,"\u0061":2}`,
		"lone high": `"\ud800"`, "lone low": `"\udc00"`, "bad pair": `"\ud800\u0041"`, "invalid utf8": "\"\xff\"",
		"raw control": "\"\n\"", "leading zero": "01", "plus": "+1", "point": "1.", "bare point": ".5", "exponent": "1e",
		"infinite": "1e400", "nan": "NaN", "trailing comma": "[1,]", "comma in object": `{"a":1,}`, "single quotes": "'a'",
		"open array": "[1", "open object": `{"a":1`, "open string": `"a`, "open escape": `"\`, "bad escape": `"\x"`,
		"short u": `"\u12"`, "name": `{a:1}`, "colon": `{"a" 1}`, "comment": "/**/1", "bom": "\ufeff1", "word": "nul",
		"deep": strings.Repeat("[", canon.MaxDepth+2) + strings.Repeat("]", canon.MaxDepth+2),
	} {
		if got, err := canon.Transform([]byte(in)); !errors.Is(err, canon.ErrInvalid) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

func TestMarshalRefusesIntegersThatWouldChange(t *testing.T) {
	t.Parallel()
	if got, err := canon.Marshal(map[string]any{"id": int64(9007199254740993)}); err == nil {
		t.Errorf("2^53+1 became %s", got)
	}
	for _, n := range []any{int64(1<<53 - 1), int64(-(1 << 53)), 1e20, 1.5, uint64(1 << 60)} {
		got, err := canon.Marshal(n)
		if n == uint64(1<<60) {
			// 2^60 is a double, but prints with other digits than it was written with
			if err == nil {
				t.Errorf("2^60 became %s", got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", n, err)
		}
	}
	if _, err := canon.Marshal(math.Inf(1)); err == nil {
		t.Error("infinity passed")
	}
}

func TestHashIsThatOfTheCanonicalForm(t *testing.T) {
	t.Parallel()
	a, err := canon.Hash(map[string]any{"b": 1.0, "a": "<x>"})
	if err != nil {
		t.Fatal(err)
	}
	type ab struct {
		B int    `json:"b"`
		A string `json:"a"`
	}
	b, err := canon.Hash(ab{1, "<x>"})
	if err != nil {
		t.Fatal(err)
	}
	if a != b || a != canon.Sum([]byte(`{"a":"<x>","b":1}`)) {
		t.Errorf("%s and %s", a, b)
	}
}

func TestCompareNamesOrdersByUTF16(t *testing.T) {
	t.Parallel()
	ordered := []string{"", "a", "aa", "b", "\u007f", "\u0080", "ö", "€", "\ud7ff", "😀", "\U0010FFFF", "\ue000", "\ufb33", "\uffff"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := canon.CompareNames(a, b)
			if (i < j) != (got < 0) || (i == j) != (got == 0) {
				t.Errorf("%q against %q: %d", a, b, got)
			}
		}
	}
}

func FuzzTransform(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,2.5,-0,1e21,"\ud83d\ude00\u0001"],"a":null}`, `"\u0000"`, "[[[]]]", `{"a":{"b":{}}}`, "1e-7", "true",
		`{"\ufb33":1,"😀":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := canon.Transform(data)
		if err != nil {
			return
		}
		if !utf8.Valid(got) || !json.Valid(got) {
			t.Fatalf("%q became %q", data, got)
		}
		again, err := canon.Transform(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q became %q and then %q (%v)", data, got, again, err)
		}
		var a, b any
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %q: %v", data, err)
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("another value: %s", d)
		}
	})
}
