package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/report"
)

func TestNoPartOfASecretAddressIsPrinted(t *testing.T) {
	t.Parallel()
	const address = "https://bot:passw0rd-of-bot@hooks.example.com/v1/T0001/abc%2Fdefghijk/lmnopqrstu?z=vwxyz01234&key=a%20b%20c%20d%20e#top"
	var out bytes.Buffer
	mask := report.NewMasker(func(string) string { return "" })
	a := &app{out: mask.Writer(&out), mask: mask}
	a.hide("unrelated-secret", address)
	for _, text := range []string{
		address,
		"https://hooks.example.com/v1/T0001/abc%2Fdefghijk/lmnopqrstu?key=a+b+c+d+e&z=vwxyz01234",
		"POST /v1/T0001/abc%2Fdefghijk/lmnopqrstu?z=vwxyz01234&key=a%20b%20c%20d%20e",
		"/v1/T0001/abc/defghijk/lmnopqrstu", "at lmnopqrstu", `{"z": "vwxyz01234"}`, "a b c d e", "passw0rd-of-bot", "unrelated-secret",
	} {
		out.Reset()
		fmt.Fprintln(a.out, text)
		for _, secret := range []string{"T0001", "defghijk", "lmnopqrstu", "vwxyz01234", "a b c d e", "a+b+c+d+e", "a%20b", "passw0rd", "unrelated"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%q was printed as %q", text, out.String())
			}
		}
	}
	out.Reset()
	fmt.Fprintln(a.out, "https://hooks.example.com/v1 is in broadside.yaml")
	if !strings.Contains(out.String(), "hooks.example.com/v1 is") {
		t.Errorf("what is no secret was hidden: %q", out.String())
	}
	if got := addressParts("abcdefgh/ijklmnop"); got != nil {
		t.Errorf("a token is taken for an address: %q", got)
	}
}
